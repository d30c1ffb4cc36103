"""Works three of each ten milliseconds, and says at the end what share that was: beats.py SECONDS"""
import json
import sys
import time

PERIOD, WORK = 0.010, 0.003


def on_the_beat(end):
    while time.monotonic() < end:
        pass


def main():
    start = time.monotonic()
    spent = 0.0
    for number in range(int(float(sys.argv[1]) / PERIOD)):
        begin = start + number * PERIOD
        time.sleep(max(0.0, begin - time.monotonic()))
        before = time.monotonic()
        on_the_beat(begin + WORK)
        spent += time.monotonic() - before
    print(json.dumps(spent / (time.monotonic() - start)), flush=True)


main()
