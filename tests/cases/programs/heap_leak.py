"""Leaks what it is told to: LEAKED objects into a cache, beside work that leaves nothing. Says "ready" and waits for a line twice."""
import gc
import sys


class Entry(object):
    def __init__(self, number):
        self.key = "key-%d" % number
        self.data = bytearray(1000)


cache = {}


def serve(first, count, leaks):
    done = 0
    for number in range(first, first + count):
        entry = Entry(number)
        if leaks:
            cache[number] = entry
        done += len(entry.data)
    return done


def main():
    gc.collect()
    serve(0, 500, True)
    gc.collect()
    print("ready")
    sys.stdout.flush()
    sys.stdin.readline()
    serve(500, 1500, True)
    serve(5000, 2000, False)
    gc.collect()
    print("ready")
    sys.stdout.flush()
    sys.stdin.readline()


main()
