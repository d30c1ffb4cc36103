"""A crash below a ctypes callback, with a thread in sleep and one waiting for a lock."""
import ctypes
import os
import sys
import threading
import time

way = sys.argv[1]
lock = threading.Lock()
lock.acquire()
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
threading.Thread(target=lock.acquire, daemon=True).start()


def others_wait():
    states = []
    for number in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/stat" % number) as file:
            states.append(file.read().rpartition(")")[2].split()[0])
    return states.count("S") == 2


end, seen = time.monotonic() + 60, 0
while seen < 5:
    assert time.monotonic() < end, "the other threads do not wait"
    time.sleep(0.01)
    seen = seen + 1 if others_wait() else 0
function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def compare(left, right):
    if way == "abort":
        os.abort()
    elif way == "segv":
        ctypes.string_at(0)
    print("ready", flush=True)
    time.sleep(1000)
    return 0


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    numbers = (ctypes.c_int * 4)(4, 3, 2, 1)
    ctypes.CDLL(None).qsort(numbers, 4, 4, function(compare))


recurse(5)
