"""run.py raise|die NAME THREADS: the innermost call of a parallel block raises, or dies.

Raising prints the traceback's entries of the .pyx as JSON, outermost first: [function, line].
"""
import ctypes
import json
import os
import sys
import traceback

import blocks


def fail(*arguments):
    if sys.argv[1] == "die":
        os.abort()
    raise ValueError(arguments)


def main():
    name, threads = sys.argv[2], int(sys.argv[3])
    if name == "without_error":
        end = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
        blocks.without_error(end, 8, threads)
    getattr(blocks, name)(fail, 8, threads)


try:
    main()
except ValueError:
    entries = traceback.extract_tb(sys.exc_info()[2])
    print(json.dumps([[entry.name.split(".")[-1], entry.lineno] for entry in entries
                      if entry.filename.endswith(".pyx")]))
