# Python and C call each other: sorted key, map, reduce, re.sub, __hash__, qsort by ctypes, own C code.
import ctypes
import ctypes.util
import functools
import re

import witness

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
CALLBACK = ctypes.CFUNCTYPE(None)


class Key:
    def __hash__(self):
        witness.ways().ways_call(CALLBACK(bottom))
        return 1


def bottom():
    witness.die()


def compare(left, right):
    {Key(): 1}
    return 0


def by_qsort(match):
    values = (ctypes.c_int * 4)(4, 3, 2, 1)
    libc = ctypes.CDLL(None)
    libc.qsort(values, 4, ctypes.sizeof(ctypes.c_int), COMPARE(compare))
    return "x"


def by_sub(total, item):
    return re.sub("a", by_qsort, "banana")


def by_reduce(item):
    return functools.reduce(by_sub, [1, 2])


def by_map(item):
    return list(map(by_reduce, [item]))


def main():
    return sorted([2, 1], key=by_map)


main()
