"""Two threads on one processor: the main one always has work; the other one works, and rests. What that one says at the end:
how much of each.

one_processor.py SECONDS SEED
"""
import hashlib
import json
import os
import random
import sys
import threading
import time

BLOCK = bytes(1 << 19)
spent = {"at_work": 0.0, "at_rest": 0.0}


def at_work(draw):
    hashlib.sha256(BLOCK * draw.randint(1, 3))


def at_rest(draw):
    time.sleep(draw.uniform(0.001, 0.004))


def second(seconds, draw):
    end = time.monotonic() + seconds
    before = time.monotonic()
    while before < end:
        for phase in (at_work, at_rest):
            phase(draw)
            now = time.monotonic()
            spent[phase.__name__] += now - before
            before = now


def main():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    block = BLOCK * 16
    thread = threading.Thread(target=second, args=(float(sys.argv[1]), random.Random(int(sys.argv[2]))))
    print("ready", flush=True)
    thread.start()
    while thread.is_alive():
        hashlib.sha256(block)
    print(json.dumps(spent), flush=True)


main()
