"""Memory of each kind, and how much of each there is by what others say of it: heap_layers.py [numpy]

Threads that have arenas, caches and fastbins of their own, chunks with mappings of their own, mapped files and memory, pools that
are empty. A child that is forked right before the end writes what malloc() and CPython's allocator say to layers.json and
mallocstats.txt; the mappings are those of the process itself.
"""
import ctypes
import json
import mmap
import os
import sys
import threading
import warnings

c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
c.malloc.argtypes = [ctypes.c_size_t]
c.free.argtypes = [ctypes.c_void_p]
c.pthread_self.restype = ctypes.c_void_p
c.pthread_getattr_np.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
c.pthread_attr_getstack.argtypes = [ctypes.c_void_p] * 3
THREADS = 12


def own_stack():
    """[address, bytes] of the stack of the thread that asks."""
    attributes = ctypes.create_string_buffer(256)
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert not c.pthread_getattr_np(c.pthread_self(), attributes)
    assert not c.pthread_attr_getstack(attributes, ctypes.byref(address), ctypes.byref(size))
    return [address.value, size.value]


stacks, kept = [], []
ready, never = threading.Semaphore(0), threading.Event()


def work(number):
    """Half of what it took goes back: to its cache, to fastbins, and to lists of free chunks."""
    mine = [c.malloc(24 + 16 * (i * 7 % 200)) for i in range(3000)]
    large = [c.malloc(60000 + 1000 * number) for i in range(20)]
    for one in mine[::2] + large[::3]:
        c.free(one)
    kept.append([c.malloc(200000 + 5000 * number) for i in range(3)])
    stacks.append(own_stack())
    ready.release()
    never.wait()


if len(sys.argv) > 1:
    import numpy
    arrays = [numpy.ones(shape) for shape in (10, 1000, 100000, 3000000)]
    views = [one[::2] for one in arrays]
for size in (0, 100 << 10, 3 << 20):
    threading.stack_size(size)
    for number in range(THREADS // 3):
        threading.Thread(target=work, args=[number], daemon=True).start()
for _ in range(THREADS):
    ready.acquire()
mapped = mmap.mmap(-1, 5 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
with open(sys.executable, "rb") as file:
    shown = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
texts = [str(i) * 5 for i in range(200000)]
del texts[1000:]


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                                     "uordblks", "fordblks", "keepcost")]


def tell(mappings):
    malloc = getattr(c, "mallinfo2", None)
    if malloc:
        malloc.restype = Mallinfo
        malloc = malloc()
        malloc = {name: getattr(malloc, name) for name, _ in Mallinfo._fields_}
    target = os.open("mallocstats.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(target, 2)
    sys._debugmallocstats()
    with open("truth.json", "w") as file:
        json.dump({"malloc": malloc, "stacks": stacks, "mappings": mappings}, file)


pieces = []
if os.path.exists("/proc/self/maps"):  # Not in a root of another suite.
    with open("/proc/self/maps", "rb", buffering=0) as file:
        while not pieces or pieces[-1]:
            pieces.append(file.read(1 << 16))
warnings.simplefilter("ignore")  # To say that fork() is no good with threads takes memory, in the parent alone.
if os.fork() == 0:
    try:
        tell(b"".join(pieces).decode())
    finally:
        os._exit(0)
os.wait()
os.abort()
