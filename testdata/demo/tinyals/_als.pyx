# The inner loops, in Cython.
cdef extern from "solver.h":
    ctypedef int (*solver_row)(void *context, int row)
    int solver_each_row(int rows, solver_row visit, void *context) nogil
    void solver_axpy(int size, double factor, const double *x, double *y) nogil


cdef class Rows:
    cdef list ratings
    cdef int factors
    cdef object done

    def __init__(self, ratings, factors, done):
        self.ratings = list(ratings)
        self.factors = factors
        self.done = done

    cdef double norm(self, int row):
        cdef double total = 0
        for value in self.ratings[row]:
            total += value * value
        return total


cdef int solve_row(void *context, int row) with gil:
    cdef Rows rows = <Rows>context
    if rows.norm(row) > 0:
        rows.done(row)
    return 0


def least_squares(ratings, factors, done):
    """Solves every row; done(row) is called after each one."""
    cdef Rows rows = Rows(ratings, factors, done)
    cdef int count = len(ratings), failed
    with nogil:
        failed = solver_each_row(count, <solver_row>solve_row, <void *>rows)
    return failed


cdef void axpy(int size, double factor, double *x, double *y) nogil:
    solver_axpy(size, factor, x, y)


cdef class Workspace:
    cdef unsigned char[:] memory

    def __init__(self, memory):
        self.memory = memory

    def scale(self, double factor, int row):
        cdef double *y = NULL
        cdef int size = 8
        if self.memory is not None:
            y = <double *>&self.memory[0]
            size = self.memory.shape[0] // sizeof(double)
        axpy(size, factor, y, y)
        return row
