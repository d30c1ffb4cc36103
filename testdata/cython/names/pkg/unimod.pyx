# cython: language_level=3
# Identifiers that C can not hold: Cython 3 writes them in punycode.
def überfn(x):
    return x


cdef class Ü:
    cdef int größe(self) except -1:
        return 1

    def m(self):
        return self.größe()

    def 方法(self):
        return lambda: self


def génère(n):
    yield n
