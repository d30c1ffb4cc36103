# Python 2.7 at work: recursion, calls from C, generators, short threads, one that waits.
from __future__ import print_function

import sys
import threading
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def compute():
    while True:
        fib(12)


def sort():
    while True:
        sorted(range(50), key=lambda n: fib(3) - n)


def numbers(n):
    for i in range(n):
        yield fib(4) + i


def generate():
    while True:
        sum(numbers(20))


def wait():
    threading.Event().wait()


def start_and_end():
    while True:
        thread = threading.Thread(target=fib, args=(6,))
        thread.start()
        thread.join()


for work in (compute, sort, generate, wait, start_and_end):
    thread = threading.Thread(target=work, name=work.__name__)
    thread.daemon = True
    thread.start()
print("ready")
sys.stdout.flush()
while True:
    time.sleep(0.01)
