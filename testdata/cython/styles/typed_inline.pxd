cdef inline int clamp_with(object cb, int limit) except -1:
    cdef int x = limit + 1
    cb()
    return x if x < limit else limit


cdef inline object hop(object cb):
    y = cb()
    return y
