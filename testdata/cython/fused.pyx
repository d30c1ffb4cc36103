# cython: language_level=3
# Every kind of fused function inside each other; tests/cases/cython/test_cython_fused.py dies in it.
ctypedef fused number:
    int
    double

ctypedef fused other:
    long
    float


cdef number scale(number x, object callback) except *:
    callback()
    return x


cpdef number cp_scale(number x, object callback) except *:
    callback()
    return x




def mixed(number x, other y, callback):
    callback()
    return x + y




cdef class Cls:
    cpdef number meth(self, number x, object callback) except *:
        callback()
        return x


def plain(callback):
    callback()


CALLS = [
    lambda callback: scale[double](1.5, callback),
    lambda callback: scale[int](1, callback),
    lambda callback: cp_scale(2.5, callback),
    lambda callback: cp_scale(2, callback),
    lambda callback: mixed(1.5, <float>2.5, callback),
    lambda callback: mixed(1, <long>2, callback),
    lambda callback: Cls().meth(3.5, callback),
    plain,
]
