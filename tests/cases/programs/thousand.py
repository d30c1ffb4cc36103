"""thousand.py COUNT: so many threads, nearly all alike; writes which of them are odd, as JSON, and then "ready"."""
import json
import sys
import threading
import time

count = int(sys.argv[1])
gate = threading.Event()
lock = threading.Lock()
lock.acquire()
started = threading.Semaphore(0)


def worker(number):
    started.release()
    if number % 100 == 7:
        odd()
    elif number == count // 2:
        again(30)
    else:
        alike()


def alike():
    gate.wait()


def odd():
    lock.acquire()


def again(times):
    if times:
        again(times - 1)
    time.sleep(1000)


threading.stack_size(1 << 18)
for number in range(count):
    threading.Thread(target=worker, args=(number,), daemon=True, name="w%d" % number).start()
for number in range(count):
    started.acquire()
print("ready", flush=True)
time.sleep(1000)
