# Threads that compute, call back through C, run generators, collect, start and end. The only
# argument is how long, in seconds.
import ctypes
import gc
import sys
import threading
import time

END = time.monotonic() + float(sys.argv[1])
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def alive():
    return time.monotonic() < END


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def call_back():
    libc = ctypes.CDLL(None)
    numbers = (ctypes.c_int * 50)(*range(50, 0, -1))

    def compare(a, b):
        return fib(4) * 0 + a[0] - b[0]

    function = COMPARE(compare)
    while alive():
        libc.qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), function)
        sorted(range(50), key=lambda n: fib(3) - n)


def inner(n):
    for i in range(n):
        yield fib(5) + i


def outer(n):
    yield from inner(n)


def generate():
    while alive():
        assert sum(1 for _ in outer(20)) == 20


class Node:
    def __init__(self):
        self.me = self

    def __del__(self):
        fib(3)


def collect():
    while alive():
        for _ in range(50):
            Node()
        gc.collect(0)


def compute():
    while alive():
        fib(12)


def start_and_end():
    while alive():
        threads = [threading.Thread(target=fib, args=(8,), name="short") for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def wait():
    while alive():
        time.sleep(0.001)


for work in (call_back, generate, collect, compute, start_and_end, wait):
    threading.Thread(target=work, name=work.__name__, daemon=True).start()
print("ready", flush=True)
compute()
