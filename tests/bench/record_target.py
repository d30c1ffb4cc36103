"""A program to be recorded: record_target.py COUNTERS WORKING WAITING DEPTH"""
import hashlib
import json
import mmap
import os
import sys
import threading

COUNTERS, WORKING, WAITING, DEPTH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
sys.setrecursionlimit(DEPTH + 500)
threading.stack_size(64 << 20)
FILE = open(COUNTERS, "r+b")
CELLS = memoryview(mmap.mmap(FILE.fileno(), 8 * 256)).cast("Q")
BLOB = os.urandom(65536)
DOCUMENT = {"a": list(range(200)), "b": {str(number): number for number in range(100)}}
CLOSED = threading.Lock()


def count():
    return sum(number * number % 7 for number in range(2000))


def digest():
    return hashlib.sha256(BLOB).digest()


def dump():
    return json.dumps(DOCUMENT)


def order():
    return sorted(range(5000), key=lambda number: -number)


def work(index):
    while True:
        for function in (count, digest, dump, order):
            function()
        CELLS[index] += 1


def wait(_index):
    CLOSED.acquire()


def descend(depth, function, index):
    return descend(depth - 1, function, index) if depth else function(index)


CLOSED.acquire()
for number in range(WORKING - 1 + WAITING):
    chosen = work if number < WORKING - 1 else wait
    threading.Thread(target=descend, args=(DEPTH, chosen, number), daemon=True).start()
print("ready", flush=True)
descend(DEPTH, work, WORKING - 1 + WAITING)
