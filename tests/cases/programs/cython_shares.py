"""Spends known shares of its time in Python and in Cython, with the GIL and without: cython_shares.py SECONDS SEED"""
import json
import random
import sys
import threading
import time

from shares_kernel import with_gil, without_gil


def in_python(seconds):
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        for number in range(200):
            total += number * number
    return total


def asleep(seconds):
    time.sleep(seconds)


def beside(stop, counted):
    """Another thread: without the GIL, too."""
    while not stop.is_set():
        without_gil(0.02)
        counted.append(1)


def main():
    seconds, draw = float(sys.argv[1]), random.Random(int(sys.argv[2]))
    phases = [in_python, with_gil, without_gil, asleep]
    spent = {phase.__name__: 0.0 for phase in phases}
    stop, counted = threading.Event(), []
    other = threading.Thread(target=beside, args=(stop, counted))
    other.start()
    end = time.monotonic() + seconds
    before = time.monotonic()
    while before < end:
        phase = draw.choices(phases, [3, 3, 3, 1])[0]
        phase(draw.uniform(0.001, 0.006))
        now = time.monotonic()
        spent[phase.__name__] += now - before
        before = now
    stop.set()
    other.join()
    print(json.dumps(spent), flush=True)


main()
