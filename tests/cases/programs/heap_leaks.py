"""Leaks in the way that it is told to: KIND. Says "ready" and waits for a line, leaks COUNT objects, and again."""
import ctypes
import functools
import gc
import sys

COUNT = 700
kept = []


class Upload(object):
    def __init__(self, number):
        self.body = b"x" * 300 + b"%d" % number


@functools.lru_cache(maxsize=None)
def cached(number):
    return Upload(number)


def fail(number):
    payload = Upload(number)
    raise ValueError(payload.body)


def leak(kind, number):
    if kind == "list":
        kept.append(Upload(number))
    elif kind == "lru_cache":
        cached(number)
    elif kind == "closure":
        upload = Upload(number)
        kept.append(lambda: upload)
    elif kind == "traceback":
        try:
            fail(number)
        except ValueError as error:
            kept.append(error)
    elif kind == "reference":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(Upload(number)))


def work(kind, first, count):
    for number in range(first, first + count):
        leak(kind, number)
        Upload(number)
    gc.collect()


def wait():
    print("ready")
    sys.stdout.flush()
    sys.stdin.readline()


work(sys.argv[1], 1000, 50)
wait()
work(sys.argv[1], 2000, COUNT)
wait()
