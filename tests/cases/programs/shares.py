"""Spends known shares of its time: in Python, in C (zlib), asleep. Says at the end how much of each.

shares.py SECONDS SEED
"""
import json
import random
import sys
import time
import zlib

DATA = bytes(range(256)) * 256
spent = {"in_python": 0.0, "in_c": 0.0, "asleep": 0.0}


def in_python(seconds):
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        for number in range(200):
            total += number * number
    return total


def in_c(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        zlib.crc32(DATA)


def asleep(seconds):
    time.sleep(seconds)


def main():
    seconds, draw = float(sys.argv[1]), random.Random(int(sys.argv[2]))
    phases = [in_python, in_c, asleep]
    print("ready", flush=True)
    end = time.monotonic() + seconds
    before = time.monotonic()
    while before < end:
        phase = draw.choices(phases, [5, 3, 2])[0]
        phase(draw.uniform(0.001, 0.006))
        now = time.monotonic()
        spent[phase.__name__] += now - before
        before = now
    print(json.dumps(spent), flush=True)


main()
