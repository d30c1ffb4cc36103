# distutils: language = c++
# cython: language_level=3
from libcpp.vector cimport vector
from cython.parallel cimport prange

ctypedef fused cpp_number:
    int
    double

cdef cppclass CppK:
    int v
    __init__():
        this.v = 1
    int get():
        return this.v


cdef int vec_cdef(int n) except -1:
    cdef vector[int] v
    v.push_back(n)
    return <int>v.size()


cdef cpp_number fused_cpp(cpp_number a):
    return a + 1


cdef class Holder:
    cdef CppK *k

    def __cinit__(self):
        self.k = new CppK()

    def __dealloc__(self):
        del self.k

    def get(self):
        return self.k.get()

    def gen(self):
        yield self.get()


def use(n):
    return vec_cdef(n) + fused_cpp(<int>n)


def gen(n):
    for i in range(n):
        yield use(i)


def lam(x):
    return lambda y: x + y


def par(int n):
    cdef int i, total = 0
    for i in prange(n, nogil=True):
        total += i
    return total
