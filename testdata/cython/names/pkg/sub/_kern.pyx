# cython: language_level=3
# Every kind of function that Cython has its own symbol form for.
# tests/accuracy/cython_names.py compiles it; nothing here is ever run.
cimport cython
from cython.parallel cimport prange, parallel
from pkg.sub._inl cimport inl_sq

include "inc.pxi"

ctypedef fused number:
    float
    double

ctypedef fused integer:
    int
    long


def plain_def(a, b=2):
    return a + b


cdef int plain_cdef(int a) except -1:
    if a > 10:
        raise ValueError(a)
    return inl_sq(a)


cpdef int plain_cpdef(int a, int b=3) except -1:
    return plain_cdef(a) + inc_cdef(b)


cdef int free_nogil(int a) nogil:
    return a * 2


def least_squares_cg(a):
    return free_nogil(a)


def _check_node_ndarray(a):
    return [a]


def find_node_split(x):
    return x


def free_list(x):
    return x


def node_(x):
    return x


def fused_def(number a, integer b):
    return a + b


cdef number fused_cdef(number a, integer b) except *:
    return <number>(a + b)


cpdef fused_cpdef(number a):
    return fused_cdef(a, <int>1)


def gen_fn(n):
    for i in range(n):
        yield i


async def coro_fn(n):
    await n
    return n


async def agen_fn(n):
    yield n


def genexprs(n):
    a = sum(i for i in n)
    b = sum(i + 1 for i in n)
    return a, b, list(j * 2 for j in n if j)


def outer(a):
    def inner(b):
        def inner2(c):
            return a + b + c
        return inner2(b)

    def inner_gen():
        yield a
        yield from (k for k in range(a))
    return inner, inner_gen


def lambdas(x):
    f = lambda y: y + x
    g = lambda: x
    return f, g


module_lambda = lambda z: z + 1
module_genexpr = sum(i for i in range(3))


def if_class(flag):
    class Local:
        def lm(self):
            return lambda: flag
    return Local


class PyCls:
    def __init__(self):
        self.a = 1

    def meth(self, a):
        return a

    @property
    def prop(self):
        return self.a

    @prop.setter
    def prop(self, value):
        self.a = value

    @staticmethod
    def stat(x):
        return x

    @classmethod
    def cmeth(cls):
        return cls

    def gen_meth(self):
        yield self

    async def coro_meth(self):
        async with self as s:
            async for i in s:
                yield i

    def __private(self):
        return 1

    class Nested:
        def nmeth(self):
            return 2


cdef class CCls:
    cdef public int pubattr
    cdef readonly object roattr
    cdef int x

    def __cinit__(self, *args, **kwargs):
        self.x = 1

    def __init__(self):
        self.pubattr = 2

    def __dealloc__(self):
        self.x = 0

    def __len__(self):
        return self.x

    def __getitem__(self, i):
        return i

    def __setitem__(self, i, v):
        self.roattr = v

    def __delitem__(self, i):
        self.roattr = None

    def __contains__(self, i):
        return i == self.x

    def __add__(self, other):
        return other

    def __pow__(self, other, mod):
        return other

    def __iadd__(self, other):
        return self

    def __neg__(self):
        return self

    def __bool__(self):
        return self.x != 0

    def __richcmp__(self, other, int op):
        return op == 2

    def __hash__(self):
        return 4

    def __repr__(self):
        return "CCls"

    def __str__(self):
        return "CCls"

    def __call__(self, a, b=1):
        return a

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration

    def __getattr__(self, name):
        raise AttributeError(name)

    def __setattr__(self, name, value):
        raise AttributeError(name)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        raise BufferError()

    def __releasebuffer__(self, Py_buffer *buffer):
        pass

    @property
    def prop(self):
        return self.x

    @prop.setter
    def prop(self, value):
        self.x = value

    @prop.deleter
    def prop(self):
        self.x = 0

    property oldprop:
        def __get__(self):
            return self.x

    def method(self, a):
        def closure_in_method():
            return self, a
        return closure_in_method

    def gen_method(self):
        yield self.x

    def genexpr_method(self):
        return any(self.x for i in range(3))

    cdef int cmethod(self) except -1:
        return self.x

    cpdef int cpmethod(self) except -1:
        return self.cmethod()

    def fused_meth(self, number a):
        return a

    @staticmethod
    def smeth(a):
        return a

    @staticmethod
    cdef int scmeth(int a):
        return a

    def __priv(self):
        return 1

    def _7free_name(self):
        return 1

    async def coro_method(self):
        await self


cdef class CSub(CCls):
    cpdef int cpmethod(self) except -1:
        return 5

    def __get__(self, instance, owner):
        return owner


cdef class Outer_123abc:
    def __under_(self):
        return 1

    def __private(self):
        return 1

    def _4x_y(self):
        return 1


cdef class Pub:
    cdef public object attr


def _1lead(x):
    return x


def takes_view(double[:, :] view, double[::1] line):
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(view.shape[0]):
        total += view[i, 0] * line[i]
    return total, view.T


def prange_fn(double[::1] line):
    cdef Py_ssize_t i
    cdef double total = 0
    for i in prange(line.shape[0], nogil=True):
        total += line[i]
    return total


cdef double prange_cdef(double *data, Py_ssize_t n) nogil:
    cdef Py_ssize_t i
    cdef double total = 0
    for i in prange(n):
        total += data[i]
    return total


def call_prange():
    cdef double a[4]
    a[0] = a[1] = a[2] = a[3] = 1
    return prange_cdef(a, 4)


cdef int callback(void *p) except -1 with gil:
    print("*/ closes a comment /*")
    return 0


def try_it(a):
    try:
        with a as b:
            return b()
    except (KeyError, ValueError) as e:
        raise RuntimeError(e)
    finally:
        a.close()


def default_args(a, b=[], *, c={}):
    return a, b, c
