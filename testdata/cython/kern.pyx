# cython: language_level=3
# Every kind of Cython function on one stack. "#@ NAME" marks the line a frame of NAME is at.
# Made into C by: cython3 kern.pyx, or cython3 --line-directives kern.pyx


cdef int dereference(int *place) nogil:
    return place[0] + 1  #@ dereference


cpdef int finish(int value) except -1:
    cdef int *nothing = NULL
    value += 1
    return dereference(nothing) + value  #@ finish


cdef int ask(object callback, int value) except -1:
    return callback(
        value)


cdef int relax(void *callback, int value) nogil except -1:
    cdef int result = value
    with gil:
        result += ask(<object>callback, value)  #@ relax
    return result


cdef class Solver:
    cdef object callback

    def __init__(self, callback):
        self.callback = callback

    cdef int visit(self, int value) except -1:
        if value:
            return relax(<void *>self.callback, value) + 1  #@ Solver.visit
        return 0

    def steps(self, count):
        for value in range(count):
            yield self.visit(value)  #@ Solver.steps

    def solve(self, count, *rest, **named):
        total = sum(self.steps(count))  #@ Solver.solve
        return total

    def __getitem__(self, count):
        return self.solve(count, 1, 2, three=3)  #@ Solver.__getitem__

    @property
    def answer(self):
        return self[3]  #@ Solver.answer


def fit(callback):
    def inner(solver):
        return (lambda: solver.answer)()  #@ fit.inner fit.inner.<lambda>
    return inner(Solver(callback))  #@ fit
