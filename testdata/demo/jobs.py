"""Jobs that die of two causes: `jobs.py import DEPTH` and `jobs.py export 0`."""
import ctypes
import sys


def parse(depth):
    return parse(depth - 1) if depth else ctypes.string_at(0)


def import_rows(depth):
    return parse(depth)


def export_rows(_):
    return ctypes.memset(16, 0, 64)


{"import": import_rows, "export": export_rows}[sys.argv[1]](int(sys.argv[2]))
