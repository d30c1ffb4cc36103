# cython: language_level=3, boundscheck=False, wraparound=False
# Parallel blocks in which something calls Python. "#@ NAME" marks the line of the call.
from cython.parallel import parallel, prange
from libc.stdlib cimport free, malloc


cdef double halve(double value) noexcept nogil:
    return value / 2


def in_loop(function, int count, int threads):
    cdef int i
    cdef double total = 0
    numbers = [count]
    for i in prange(count, nogil=True, num_threads=threads, schedule="static"):
        total += halve(i)
        with gil:
            function(i)  #@ in_loop
        total += halve(i)
    return total + len(numbers)


def in_block(function, int count, int threads):
    cdef int i
    cdef double *space
    cdef double total = 0
    numbers = list(range(count))
    with nogil, parallel(num_threads=threads):
        space = <double *>malloc(count * sizeof(double))
        try:
            for i in prange(count, schedule="dynamic"):
                space[i] = halve(i)
                with gil:
                    numbers[i] = function(i)  #@ in_block
                    numbers[i] += 1
        finally:
            free(space)
    return sum(numbers)


cdef int ask(object function, int value) except -1 with gil:
    function(value)  #@ ask
    return 0


def through_helper(function, int count, int threads):
    cdef int i
    for i in prange(count, nogil=True, num_threads=threads):
        ask(function, i)  #@ through_helper
    return count


cdef inline void strike(void (*call)(int) noexcept nogil, int value) noexcept nogil:
    call(value)  #@ strike


def without_error(long wanted, int count, int threads):
    cdef int i
    cdef double total = 0
    cdef void (*call)(int) noexcept nogil
    values = [0] * count  #@ before
    call = <void (*)(int) noexcept nogil><void *>wanted
    for i in prange(count, nogil=True, num_threads=threads):
        strike(call, i)  #@ without_error
    values[0] = str(total)  #@ behind
    return values
