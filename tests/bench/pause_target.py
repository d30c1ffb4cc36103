# Threads that wait below some Python frames, and a native loop that keeps the largest gap of its
# own clock. Arguments: libgap.so, the file that the gap is kept in, threads, frames, recursion.
import ctypes
import mmap
import sys
import threading

library, path = sys.argv[1:3]
count, frames, recursion = map(int, sys.argv[3:])
sys.setrecursionlimit(10**6)
never = threading.Event()
there = threading.Semaphore(0)


def work(n):
    if n:
        work(n - 1)
    else:
        there.release()
        never.wait()


def recurse(n):
    if n:
        recurse(n - 1)
    else:
        there.release()
        never.wait()


for i in range(count):
    threading.Thread(target=work, args=(frames,), daemon=True).start()
if recursion:
    threading.stack_size(512 << 20)
    threading.Thread(target=recurse, args=(recursion,), daemon=True).start()
for _ in range(count + bool(recursion)):
    there.acquire()
file = open(path, "r+b")
memory = mmap.mmap(file.fileno(), 8)
print("ready", flush=True)
ctypes.CDLL(library).gap_watch(ctypes.byref(ctypes.c_double.from_buffer(memory)))
