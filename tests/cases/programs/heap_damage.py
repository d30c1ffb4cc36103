"""Damages its own heap in one way and dies: heap_damage.py KIND. truth.json says what was damaged, and where."""
import ctypes
import gc
import json
import os
import sys

LIBC = ctypes.CDLL(None)
LIBC.malloc_usable_size.restype = ctypes.c_size_t
LIBC.malloc_usable_size.argtypes = [ctypes.c_void_p]
PATTERN = 0x4141414141414141


class Thing(object):
    def __init__(self, number):
        self.number = number


held = {"things": [Thing(number) for number in range(100)],
        "texts": ["text number %d, of some length" % number for number in range(100)],
        "lists": [[number] for number in range(100)],
        "rare": [b"%d" % number + b"x" * 440 for number in range(20)],
        "buffers": [bytearray(2000) for _ in range(20)]}


def write(address, value):
    ctypes.memmove(address, ctypes.byref(ctypes.c_uint64(value)), 8)


def drop(address):
    ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(address))


def buffer_of(array):
    return ctypes.addressof((ctypes.c_char * len(array)).from_buffer(array))


def chosen(kind):
    """(address of what is damaged, what does it)."""
    if kind == "decref":
        shared = held["lists"][50]
        held["again"] = shared
        address = id(shared)
        return address, lambda: drop(address)
    if kind == "freed":
        address = id(held["things"][50])
        return address, lambda: drop(address)
    if kind == "freed_text":
        address = id(held["texts"][50])
        return address, lambda: drop(address)
    if kind == "overwritten":
        address = id(held["texts"][50])
        return address, lambda: ctypes.memset(address - 8, 0x41, 24)
    if kind == "gc_link":
        address = id(held["lists"][50])
        return address, lambda: write(address - 16, PATTERN & ~7)
    if kind == "chunk":
        address = buffer_of(held["buffers"][10])
        end = address + LIBC.malloc_usable_size(address)
        return end, lambda: write(end, PATTERN)
    if kind == "free_block":
        address = id(held["rare"].pop(10))
        return address, lambda: write(address, PATTERN)
    return 0, lambda: None


def main():
    gc.disable()
    kind = sys.argv[1]
    # All that the last steps need is there before.
    abort, keep = os.abort, []
    keep.append(write), keep.append(drop)
    address, damage = chosen(kind)
    with open("truth.json", "w") as file:
        json.dump({"kind": kind, "address": hex(address), "things": hex(id(held["things"])), "texts": hex(id(held["texts"])),
                   "lists": hex(id(held["lists"]))}, file)
    damage()
    abort()


main()
