def inc_def(a):
    return a


cdef int inc_cdef(int a) except -1:
    return a + 1
