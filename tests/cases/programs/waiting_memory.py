"""
Drops pages that it has registered with userfaultfd(2): whoever reads them waits for a handler that
never comes. The first argument says which: of an object, of a stack, of the command line; "later":
of a stack whose thread works on, once a line was read.
"""
import ctypes
import mmap
import os
import sys
import threading
import time

USERFAULTFD = 323  # arch/x86/entry/syscalls/syscall_64.tbl
UFFDIO_API, UFFDIO_REGISTER = 0xc018aa3f, 0xc020aa00  # include/uapi/linux/userfaultfd.h
MADV_DONTNEED = 4
PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
big = b"x" * 1000000


def drop(start, size):
    handle = libc.syscall(USERFAULTFD, os.O_CLOEXEC)
    if handle < 0:
        print("no userfaultfd: %s" % os.strerror(ctypes.get_errno()), flush=True)
        time.sleep(600)
    api = (ctypes.c_uint64 * 3)(0xaa, 0, 0)
    register = (ctypes.c_uint64 * 4)(start, size, 1, 0)
    for failed in (libc.ioctl(handle, ctypes.c_ulong(UFFDIO_API), api),
                   libc.ioctl(handle, ctypes.c_ulong(UFFDIO_REGISTER), register),
                   libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), MADV_DONTNEED)):
        if failed:
            raise OSError(ctypes.get_errno())


def rest():
    while True:
        time.sleep(0.001 if sys.argv[1] == "later" else 600)


def deep(number):
    if number:
        list(map(deep, [number - 1]))  # Through C, so that the native stack is deep, too.
    else:
        tids.append(threading.get_native_id())
        rest()


def holder():
    kept = big  # noqa: F841: a local variable that a report shows
    tids.append(threading.get_native_id())
    rest()


def words_of(tid, name):
    with open("/proc/self/task/%d/%s" % (tid, name)) as file:
        return file.read().split()


def beat():
    while True:
        before = time.monotonic()
        time.sleep(0.002)
        beats.append(time.monotonic() - before)


tids, beats = [], []
for target in deep, holder:
    threading.Thread(target=target, args=(100,) if target is deep else (), name=target.__name__).start()
    while len(tids) < 1 + (target is holder) or words_of(tids[-1], "syscall")[0] == "running":
        time.sleep(0.001)
if sys.argv[1] == "object":
    drop(id(big) & -PAGE, 16 * PAGE)
elif sys.argv[1] == "later":
    print("running", flush=True)
    sys.stdin.readline()
if sys.argv[1] in ("stack", "later"):
    words: list = []
    while len(words) < 8:  # It may run just now.
        words = words_of(tids[0], "syscall")
    drop((int(words[7], 16) & -PAGE) + 2 * PAGE, 2 * PAGE)
elif sys.argv[1] == "arguments":
    # From arg_start on, proc(5): what /proc/PID/cmdline shows. A page that holds nothing else: below are
    # the stack and auxv, which the program needs itself, above the environment.
    begin, end = (int(word) for word in words_of(os.getpid(), "stat")[47:49])
    begin += -begin % PAGE
    assert begin + PAGE <= end
    drop(begin, PAGE)
threading.Thread(target=beat, name="beat", daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
print("%.3f" % max(beats), flush=True)
os._exit(0)
