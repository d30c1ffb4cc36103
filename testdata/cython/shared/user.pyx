# cython: language_level=3
stop = None

cdef class Store:
    cdef double values[4]
    cdef Py_ssize_t shape[1]

    def __getbuffer__(self, Py_buffer *view, int flags):
        stop()
        self.shape[0] = 4
        view.buf = self.values
        view.obj = self
        view.len = 32
        view.itemsize = 8
        view.format = b"d"
        view.ndim = 1
        view.shape = self.shape
        view.strides = NULL
        view.readonly = 0

def total(store):
    cdef double[:] items = store
    return items[0]

def reader(store):
    cdef double[:] items = store
    return sum(x for x in items)
