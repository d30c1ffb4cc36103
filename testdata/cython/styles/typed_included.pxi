# Of one line of all files together Cython's tracebacks have one function: what stands here keeps
# clear of the lines of typed_inline.pxd.
#
#
#
#
#
#
#


def included(cb):
    result = []
    result.append(cb())
    return result


cdef object included_c(cb, int n):
    for i in range(n):
        if i == 1:
            cb()
    return n
