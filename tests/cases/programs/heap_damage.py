"""Damages its own heap in one way and dies: heap_damage.py KIND [collect|allocate]. It dies by abort(), or of what it
damaged. truth.json says what was damaged, where, and who holds it."""
import collections
import ctypes
import gc
import json
import os
import sys

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = LIBC.malloc_usable_size.restype = ctypes.c_size_t
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.free.argtypes = LIBC.malloc_usable_size.argtypes = [ctypes.c_void_p]
PYTHON = ctypes.pythonapi
PYTHON.PyObject_Free.argtypes = PYTHON.PyMem_Free.argtypes = [ctypes.c_void_p]
PYTHON.PyObject_Malloc.restype = PYTHON.PyMem_Malloc.restype = ctypes.c_size_t
PYTHON.PyObject_Malloc.argtypes = PYTHON.PyMem_Malloc.argtypes = [ctypes.c_size_t]
PATTERN = 0x4141414141414141
PAGE = 4096
# Objects/obmalloc.c: a pool begins where its memory is aligned to its size, with its count and its free list.
POOL = 16384 if sys.version_info >= (3, 10) else 4096
POOL_HEADER = 48
HEAD = 16


class Thing(object):
    def __init__(self, number, other=None):
        self.number = number
        self.other = other


class Slotted(object):
    __slots__ = ("kept", )


def text_number(number):
    return "text number %d, of some length" % number


def make_closure(kept):
    return lambda: kept


held = {"things": [Thing(number) for number in range(100)],
        "texts": [text_number(number) for number in range(100)],
        "lists": [[number] for number in range(100)],
        "tables": [dict.fromkeys([text_number(number)]) for number in range(20)],
        "tuple": tuple([number] for number in range(20)),
        "deque": collections.deque([[number] for number in range(100)]),
        "set": set("member %d of a set, long enough" % number for number in range(20)),
        "keys": {"key %d of a dict, long enough" % number: [number] for number in range(20)},
        "slotted": Slotted(),
        "instance": Thing(0, Thing(1)),
        "closure": make_closure([0]),
        "rare": [b"%d" % number + b"x" * 440 for number in range(20)],
        "buffers": [bytearray(2000) for _ in range(20)],
        "mapped": bytearray(4 << 20),
        "last": []}
held["slotted"].kept = [0]


def write(address, value):
    ctypes.memmove(address, ctypes.byref(ctypes.c_uint64(value)), 8)


def write_half(address, value):
    ctypes.memmove(address, ctypes.byref(ctypes.c_uint32(value)), 4)


def word_at(address):
    return ctypes.c_uint64.from_address(address).value


def drop(address):
    PYTHON.Py_DecRef(ctypes.c_void_p(address))


def buffer_of(array):
    """What malloc() gave for it: its items, in 3.15 the bytes object in which they are."""
    address = ctypes.addressof((ctypes.c_char * len(array)).from_buffer(array))
    return address - (bytes.__basicsize__ - 1 if sys.version_info >= (3, 15) else 0)


def again(thing):
    """A second reference to it, of which one is then taken back too often."""
    held["again"] = thing
    return id(thing), lambda: drop(id(thing))


def freed(thing, holder):
    """The only reference to it is taken back, and stays where it is."""
    address = id(thing)
    return address, lambda: drop(address), holder


def overrun_small():
    """A pool is full of blocks one after the other: what is written behind one ends in the next one's header."""
    texts = [text_number(number) + "!" * 4 for number in range(1000, 2000)]
    held["neighbours"] = texts
    addresses = {id(text) for text in texts}
    block = 96 if sys.version_info < (3, 12) else 80
    address = next(id(text) for text in texts if id(text) - block in addresses)
    return address, lambda: ctypes.memset(address - 24, 0x41, 40), texts


def reused():
    """The block of a freed list is that of another: both who hold it think that it is theirs."""
    address = id(held["lists"][50])

    def damage():
        drop(address)
        held["taker"] = [[] for _ in range(20000)]
    return address, damage, held["lists"]


def twice_freed():
    """A free list of a pool that leads back to itself."""
    address = [PYTHON.PyObject_Malloc(440) for _ in range(30)][15]

    def damage():
        PYTHON.PyObject_Free(address)
        PYTHON.PyObject_Free(address)
    return address, damage


def pool_header():
    """What a write before the first block of a pool meets: the count of its blocks."""
    pool = id(held["rare"][10]) & ~(POOL - 1)
    return pool, lambda: write_half(pool, 3)


def freed_chunk(offset, size=1500, value=PATTERN):
    """A chunk of malloc() is written to after it was freed."""
    chunks = [LIBC.malloc(size) for _ in range(12)]
    address = chunks[5]

    def damage():
        LIBC.free(address)
        write(address + offset, value)
    return address + offset, damage


def freed_cached():
    chunks = [LIBC.malloc(700) for _ in range(4)]

    def damage():
        LIBC.free(chunks[0])
        LIBC.free(chunks[2])
        write(chunks[2], PATTERN)
    return chunks[2], damage


def chunk_end(what):
    address = buffer_of(what)
    return address + LIBC.malloc_usable_size(address)


def overrun_chunk():
    end = chunk_end(held["buffers"][10])
    return end, lambda: write(end, PATTERN)


def overrun_chunk_by_one():
    """A text's last zero lands one byte behind the chunk: the size of the next one loses its lowest byte."""
    end = chunk_end(held["buffers"][10])
    value = word_at(end) & ~0xff
    return end, lambda: write(end, value)


def underrun_chunk():
    start = buffer_of(held["buffers"][10])
    return start - 8, lambda: write(start - 8, PATTERN)


def mapped_chunk():
    start = buffer_of(held["mapped"])
    start -= start % PAGE and start % 16
    return start - 8, lambda: write(start - 8, PATTERN)


def dict_keys():
    table = held["tables"][10]
    address = id(table) + 32
    return address, lambda: write(address, PATTERN), table


def dict_keys_header():
    """The header of a dict's keys says how large it is: nothing that fits there."""
    table = held["tables"][10]
    keys = word_at(id(table) + 32)
    return id(table) + 32, lambda: write(keys + 8, PATTERN), table


def list_count():
    one = held["lists"][50]
    return id(one) + 16, lambda: write(id(one) + 16, PATTERN), one


def list_items():
    one = held["lists"][50]
    return id(one) + 24, lambda: write(id(one) + 24, PATTERN), one


def wild_item():
    """An item that was overwritten by text."""
    items = word_at(id(held["lists"][50]) + 24)
    return PATTERN, lambda: write(items, PATTERN), held["lists"][50]


def guard_behind():
    """With PYTHONMALLOC=debug: one byte too many."""
    address = PYTHON.PyMem_Malloc(100)
    return address + 100, lambda: ctypes.memset(address + 100, 0x41, 1)


def guard_before():
    address = PYTHON.PyMem_Malloc(100)
    return address - 1, lambda: ctypes.memset(address - 1, 0x41, 1)


def type_of(value):
    address = id(held["things"][50])
    return lambda: (address, lambda: write(address + 8, value), held["things"])


KINDS = {
    "decref": lambda: again(held["lists"][50]),
    "decref_instance": lambda: again(held["things"][50]),
    "decref_text": lambda: again(held["texts"][50]),
    "freed": lambda: freed(held["things"][50], held["things"]),
    "freed_text": lambda: freed(held["texts"][50], held["texts"]),
    "freed_attribute": lambda: freed(held["instance"].other, held["instance"] if sys.version_info >= (3, 11) else
                                     held["instance"].__dict__),
    "freed_slot": lambda: freed(held["slotted"].kept, held["slotted"]),
    "freed_tuple_item": lambda: freed(held["tuple"][10], held["tuple"]),
    "freed_deque_item": lambda: freed(held["deque"][50], held["deque"]),
    "freed_value": lambda: freed(held["keys"]["key 7 of a dict, long enough"], held["keys"]),
    "freed_key": lambda: freed(list(held["keys"])[7], held["keys"]),
    "freed_member": lambda: freed(sorted(held["set"])[7], held["set"]),
    "freed_cell": lambda: freed(held["closure"].__closure__[0].cell_contents, held["closure"].__closure__[0]),
    "reused": reused,
    "overwritten": lambda: (id(held["texts"][50]), lambda: ctypes.memset(id(held["texts"][50]) - 8, 0x41, 24), held["texts"]),
    "overrun_small": overrun_small,
    "type_wild": type_of(PATTERN),
    "type_zero": type_of(0),
    "count_zero": lambda: (id(held["things"][50]), lambda: write(id(held["things"][50]), 0), held["things"]),
    "gc_next": lambda: (id(held["lists"][50]), lambda: write(id(held["lists"][50]) - HEAD, PATTERN & ~7)),
    "gc_previous": lambda: (id(held["lists"][50]), lambda: write(id(held["lists"][50]) - 8, PATTERN & ~7)),
    "gc_untracked": lambda: (id(held["lists"][50]), lambda: write(id(held["lists"][50]) - HEAD, 0)),
    "free_block": lambda: (lambda address: (address, lambda: write(address, PATTERN)))(id(held["rare"].pop(10))),
    "twice_freed": twice_freed,
    "pool_header": pool_header,
    "chunk": overrun_chunk,
    "chunk_by_one": overrun_chunk_by_one,
    "chunk_before": underrun_chunk,
    "chunk_mapped": mapped_chunk,
    "freed_cached": freed_cached,
    "freed_chunk_next": lambda: freed_chunk(0),
    "freed_chunk_previous": lambda: freed_chunk(8),
    "dict_keys": dict_keys,
    "dict_keys_header": dict_keys_header,
    "list_count": list_count,
    "list_items": list_items,
    "wild_item": wild_item,
    "guard_behind": guard_behind,
    "guard_before": guard_before,
    "none": lambda: (0, lambda: None),
}


def main():
    gc.disable()
    kind = sys.argv[1]
    # All that the last steps need is there before.
    abort, keep = os.abort, [write, drop]
    planted = KINDS[kind]()
    address, damage, holder = planted if len(planted) == 3 else planted + (None,)
    with open("truth.json", "w") as file:
        json.dump({"kind": kind, "address": hex(address), "holder": hex(id(holder)) if holder is not None else None}, file)
    damage()
    if sys.argv[2:] == ["collect"]:
        gc.collect()
    elif sys.argv[2:] == ["allocate"]:
        for number in range(100000):
            held["last"].append(b"%d" % number + b"x" * 440)
    keep.clear()
    abort()


main()
