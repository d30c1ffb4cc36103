# cython: language_level=3, binding=True
# Each function calls stop() where run.py lets it die: what is between must be one frame a call.
cimport openmp
from cython.parallel cimport prange
from inlined cimport inline_function
from libc.stdlib cimport abort

ctypedef fused number:
    int
    double

stop = None


def parallel_block(int count):
    cdef int i
    for i in prange(count, nogil=True, num_threads=2):
        if openmp.omp_get_thread_num() == 0:
            abort()  #@ parallel_block


def fused_def(number value):
    stop()  #@ fused_def
    return value


cpdef fused_cpdef(number value):
    stop()  #@ fused_cpdef
    return value


cpdef plain_cpdef(int value):
    stop()  #@ plain_cpdef
    return value


cdef int recursive(int depth) except -1:
    if depth:
        return recursive(depth - 1) + 1
    stop()
    return 0


def recursion(int depth):
    return recursive(depth)  #@ recursion


def generator(int count):
    for i in range(count):
        stop()  #@ generator
        yield i


def delegating(int count):
    yield from generator(count)  #@ delegating


def later(int count):
    for i in range(count):
        if i:
            stop()  #@ later
        yield i


def hands_on(int count):
    yield from later(count)  #@ hands_on


def hands_on_more(int count):
    yield -1
    yield from hands_on(count)  #@ hands_on_more


def expression(int count):
    return sum(stop() for i in range(count))  #@ expression expression.<genexpr>


cdef public int public_function(int value) except -1:
    stop()  #@ public_function
    return value


def calls_public(int value):
    return public_function(value)  #@ calls_public


def calls_inline(callback):
    return inline_function(callback)  #@ calls_inline


async def coroutine(int count):
    stop()  #@ coroutine


async def pausing(pause):
    await pause
    stop()  #@ pausing


async def awaiting(pause):
    async with pause:
        await pause
        return await pausing(pause)  #@ awaiting


async def awaiting_any(thing):
    first = await thing  #@ awaiting_any
    return first


cdef class Base:
    cdef int size

    def __cinit__(self, size=0, *rest, dies=None):
        self.size = size
        if dies == "cinit":
            stop()  #@ Base.__cinit__

    def __init__(self, size=0, dies=None):
        if dies == "init":
            stop()  #@ Base.__init__

    def __getitem__(self, key):
        stop()  #@ Base.__getitem__
        return key

    def __setitem__(self, key, value):
        stop()  #@ Base.__setitem__

    def __len__(self):
        stop()  #@ Base.__len__
        return self.size

    def __add__(self, other):
        stop()  #@ Base.__add__
        return self

    def __call__(self, value):
        return self.method(value)  #@ Base.__call__

    def __iter__(self):
        return self

    def __next__(self):
        stop()  #@ Base.__next__

    def __getattr__(self, name):
        stop()  #@ Base.__getattr__

    def __richcmp__(self, other, int how):
        stop()  #@ Base.__richcmp__

    @property
    def value(self):
        stop()  #@ Base.value
        return self.size

    cpdef method(self, int value):
        stop()  #@ Base.method
        return value

    def __dealloc__(self):
        if self.size == 7:
            stop()  #@ Base.__dealloc__


cdef class Derived(Base):
    cpdef method(self, int value):
        return Base.method(self, value)  #@ Derived.method


class Plain:
    def method(self):
        return (lambda: stop())()  #@ Plain.method Plain.method.<lambda>

    def namesake(self):
        yield stop()  #@ Plain.namesake


def namesake():
    for value in Plain().namesake():  #@ namesake
        return value


cdef class Early:
    """gcc splits find() behind its first lines, and puts the parts together again."""
    cdef dict kept
    cdef object names

    def __init__(self, kept, names):
        self.kept = kept
        self.names = names

    cdef object find(self, long key):
        if key == 0:
            return None
        found = self.kept.get(key)
        if found is not None:
            return found
        return self.make(self.names[key])  #@ Early.find

    cdef object make(self, object name):
        return stop()  #@ Early.make


def early(Early early, long key):
    return early.find(key)  #@ early
