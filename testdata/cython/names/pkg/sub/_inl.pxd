cdef inline int inl_sq(int a):
    return a * a
