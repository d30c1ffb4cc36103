"""Threads that sleep and wake in many ways, some times a second each: sleepers.py DEPTH [numpy]"""
import asyncio
import os
import queue
import select
import socket
import sys
import threading
import time

DEPTH = int(sys.argv[1])
sys.setrecursionlimit(DEPTH * 2 + 1000)
threading.stack_size(64 << 20)


def descend(depth, function):
    return descend(depth - 1, function) if depth else function()


def sleeps():
    while True:
        time.sleep(0.011)


def waits_for_lock():
    lock = threading.Lock()
    lock.acquire()
    while True:
        lock.acquire(timeout=0.013)


def waits_for_queue():
    empty = queue.Queue()
    while True:
        try:
            empty.get(timeout=0.017)
        except queue.Empty:
            pass


def polls():
    one, other = socket.socketpair()
    while True:
        select.select([one, other], [], [], 0.012)


def generates():
    def numbers():
        while True:
            time.sleep(0.014)
            yield 1

    def all_numbers():
        yield from numbers()

    for _ in all_numbers():
        pass


def sorts():
    while True:
        sorted([3, 2, 1], key=lambda number: time.sleep(0.003) or number)


def runs_tasks():
    async def inner(number):
        await asyncio.sleep(0.01 + number / 1000)

    async def outer():
        while True:
            await asyncio.gather(*[inner(number) for number in range(5)])

    asyncio.new_event_loop().run_until_complete(outer())


def computes():
    while True:
        sum(number * number % 7 for number in range(20000))
        time.sleep(0.001)


def uses_numpy():
    import numpy
    values = numpy.random.rand(20000)
    while True:
        numpy.sort(values)
        numpy.vectorize(lambda value: time.sleep(0.0005))(values[:3])


def reads():
    reader, writer = os.pipe()
    threading.Thread(target=writes, args=(writer,), daemon=True).start()
    while True:
        os.read(reader, 1)


def writes(descriptor):
    while True:
        time.sleep(0.019)
        os.write(descriptor, b"x")


FUNCTIONS = [sleeps, waits_for_lock, waits_for_queue, polls, generates, sorts, reads, computes, computes]
if sys.version_info >= (3, 7):
    FUNCTIONS.append(runs_tasks)
if sys.argv[2:]:
    FUNCTIONS.append(uses_numpy)
for chosen in FUNCTIONS:
    threading.Thread(target=descend, args=(DEPTH, chosen), daemon=True).start()
print("ready", flush=True)
descend(DEPTH, sleeps)
