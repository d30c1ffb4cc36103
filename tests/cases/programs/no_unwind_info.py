# A C library without unwind tables and frame pointers stands between Python frames.
import ctypes
import os

import witness

CALLBACK = ctypes.CFUNCTYPE(None)
silent = ctypes.CDLL(os.path.join(os.path.dirname(witness.LIBWAYS), "libsilent.so"))


def bottom():
    witness.die()


def middle():
    silent.silent_call(CALLBACK(bottom), ctypes.c_long(3))


def main():
    sorted([1], key=lambda item: middle())


witness.promise(unwind_may_break=True)
main()
