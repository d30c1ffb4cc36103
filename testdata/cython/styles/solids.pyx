# C++: each form calls its argument, between objects that have to be destroyed.
from libcpp.vector cimport vector
from libcpp.string cimport string
from libcpp.map cimport map as cpp_map
from libcpp.pair cimport pair
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp cimport bool as cbool
from cython.operator cimport dereference as deref, preincrement as inc

cdef extern from "solids.hpp" namespace "shapes" nogil:
    cdef cppclass Shape:
        Shape(double) except +
        double area() except +
    double may_throw(double) except +ValueError

FORMS = []


def form(f):
    FORMS.append(f)
    return f


cdef class Wrapped:
    """Owns a C++ object."""
    cdef Shape *shape
    cdef unique_ptr[Shape] owned
    cdef vector[double] values
    cdef object cb

    def __cinit__(self, double size, cb, *rest):
        self.shape = new Shape(size)
        self.cb = cb
        for x in rest:
            self.values.push_back(x())

    def __dealloc__(self):
        del self.shape

    cdef double run(self) except? -1:
        return self.shape.area() + self.cb()

    def area(self):
        return self.run()

    cdef int each(self) except -1:
        cdef double v
        for v in self.values:
            self.cb()
        return 0

    def go(self, *values):
        cdef double x
        for x in values:
            self.values.push_back(x)
        self.each()

    @property
    def first(self):
        return self.values[0] + self.cb()

    def __getitem__(self, int index):
        if index < 0:
            raise IndexError
        return self.cb()

    def __iter__(self):
        cdef size_t i
        for i in range(self.values.size()):
            yield self.values[i]
        yield self.cb()


cdef cppclass Counter:
    int count
    __init__():
        this.count = 3
    int step(object cb) except -1:
        this.count += 1
        cb()
        return this.count



cdef int vector_sum(vector[int] values, object cb) except -1:
    cdef int v, total = 0
    for v in values:
        total += v
        if v == 2:
            cb()
    return total


cdef vector[int] make_vector(object cb) except *:
    cdef vector[int] result
    result.push_back(1)
    result.push_back(cb())
    return result


cdef string make_string(object cb) except *:
    cdef string s = b"abc"
    s += <string>cb()
    return s


@form
def area(cb):
    return Wrapped(2.0, cb).area()


@form
def cinit(cb):
    return Wrapped(2.0, cb, cb)


@form
def each(cb):
    w = Wrapped(1.0, cb)
    w.go(1, 2, 3)


@form
def first(cb):
    w = Wrapped(1.0, cb, float)
    return w.first


@form
def getitem(cb):
    return Wrapped(1.0, cb)[2]


@form
def iterate(cb):
    return [x for x in Wrapped(1.0, cb, float, float)]


@form
def counter(cb):
    cdef Counter c
    return c.step(cb)


@form
def vector_argument(cb):
    return vector_sum([1, 2, 3], cb)


@form
def vector_result(cb):
    cdef vector[int] v = make_vector(cb)
    return v.size()


@form
def vector_to_python(cb):
    return make_vector(cb)


@form
def string_result(cb):
    return make_string(cb)


class Unruly:
    def __init__(self, cb):
        self.cb = cb

    def __iter__(self):
        yield 1
        yield self.cb()

    def __int__(self):
        return self.cb()

    def __index__(self):
        return self.cb()

    def items(self):
        return self.cb()


@form
def from_iterable(cb):
    cdef vector[int] v = Unruly(cb)
    return v.size()


@form
def from_mapping(cb):
    d = {1: Unruly(cb)}
    cdef cpp_map[int, int] m = d
    return m.size()


@form
def from_pair(cb):
    cdef pair[int, int] p = (1, Unruly(cb))
    return p.first


@form
def push_back(cb):
    cdef vector[int] v
    v.push_back(1)
    v.push_back(<int>cb())
    return v


@form
def map_item(cb):
    cdef cpp_map[string, int] m
    m[b"a"] = 1
    m[b"b"] = cb()
    return m


@form
def map_iterate(cb):
    cdef cpp_map[int, int] m
    m[1] = 2
    m[3] = 4
    it = m.begin()
    while it != m.end():
        if deref(it).first == 3:
            cb()
        inc(it)


@form
def in_try_cpp(cb):
    cdef double x = 0
    try:
        x = may_throw(1.0)
        x += cb()
    except ValueError:
        x = -1
    return x


@form
def after_cpp_error(cb):
    cdef double x = 0
    try:
        x = may_throw(-1.0)
    except ValueError:
        x = cb()
    return x


@form
def finally_cpp(cb):
    cdef vector[double] v
    try:
        v.push_back(may_throw(2.0))
    finally:
        v.push_back(cb())
    return v


@form
def nogil_cpp(cb):
    cdef double x
    cdef Shape *s = new Shape(3.0)
    try:
        with nogil:
            x = s.area()
            x += may_throw(x)
            with gil:
                x += cb()
    finally:
        del s
    return x



@form
def shared(cb):
    cdef shared_ptr[Shape] p = shared_ptr[Shape](new Shape(2.0))
    return p.get().area() + cb()


@form
def local_objects(cb):
    cdef Shape *s = new Shape(4)
    cdef string name = b"name"
    cdef vector[string] names
    names.push_back(name)
    try:
        result = (names, cb())
    finally:
        del s
    return result


@form
def string_argument(cb):
    return takes_string(b"abc", cb)


def takes_string(string s, cb):
    cdef string t = s + s
    return t, cb()


def takes_vector(vector[double] v, cbool flag, cb):
    cdef double x = 0
    for x in v:
        if flag:
            x += cb()
    return x


@form
def vector_python_argument(cb):
    return takes_vector([1, 2], True, cb)


@form
def convert_python_argument(cb):
    return takes_vector(Unruly(cb), True, cb)


@form
def generator_cpp(cb):
    def produce(int n):
        cdef vector[int] v
        v.push_back(n)
        yield v.size()
        yield cb()
    return list(produce(3))


@form
def closure_cpp(cb):
    cdef double scale = 2

    def scaled(double x):
        return may_throw(x) * scale + cb()
    return scaled(3)


@form
def comprehension_cpp(cb):
    cdef vector[int] v = [1, 2, 3]
    return [cb() for i in v]
