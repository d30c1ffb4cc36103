# cython: language_level=3
"""Phases for cython_shares.py: with the GIL, and without."""
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec


cdef double now() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + t.tv_nsec * 1e-9


cdef double churn(double start, long rounds) noexcept nogil:
    cdef long i
    cdef double total = start
    for i in range(rounds):
        total = total * 0.999 + i
    return total


def with_gil(double seconds):
    cdef double end = now() + seconds, total = 0
    while now() < end:
        total = churn(total, 2000)
    return total


def without_gil(double seconds):
    cdef double end = now() + seconds, total = 0
    with nogil:
        while now() < end:
            total = churn(total, 2000)
    return total
