cdef inline int inline_function(object callback) except -1:
    callback()  #@ inline_function
    return 1
