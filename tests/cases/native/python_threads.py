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
time.sleep(0.3)
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
