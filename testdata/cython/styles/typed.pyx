# cython: cdivision=True
# Typed code: each form calls its argument, in some way that C makes possible.
cimport cython
from cython.parallel cimport prange
from libc.stdlib cimport malloc, free
from libc.math cimport sqrt
from cpython.object cimport Py_EQ
cimport typed_inline
from typed_inline cimport clamp_with
include "typed_included.pxi"

import array as _array

FORMS = []


def form(function):
    FORMS.append(function)
    return function


cdef struct Pair:
    double x
    int n

ctypedef double (*number_function)(double, object) except? -7
ctypedef fused real:
    float
    double
    int

ctypedef fused thing:
    list
    dict

cpdef enum Kind:
    SMALL = 1
    LARGE = 2


# ---- each way to report an error

cdef int ret_int(object cb) except -1:
    return cb()


cdef int ret_int_maybe(object cb, int start) except? -1:
    cdef int i, total = start
    for i in range(3):
        total += i
    total += <int>cb()
    return total


cdef int ret_int_star(object cb) except *:
    x = cb()
    return x


cdef void ret_void_star(object cb) except *:
    cb()


cdef double ret_double(object cb, double x) except? -1.0:
    cdef double y = x * 2
    y += cb()
    return y


cdef object ret_object(object cb):
    return cb()


cdef list ret_list(object cb):
    cdef list result = []
    result.append(cb())
    return result


cdef str ret_str(object cb):
    return cb()


cdef char *ret_pointer(object cb) except NULL:
    cdef char *p = NULL
    cb()
    return p


cdef bint ret_bint(object cb) except -1:
    return cb()


cdef Pair ret_struct(object cb) except *:
    cdef Pair p
    p.n = 3
    p.x = cb()
    return p


cdef unsigned long long ret_wide(object cb) except? 77:
    return <unsigned long long>cb()


cdef float ret_float_star(object cb) except *:
    return cb()


cdef inline int ret_inline(object cb) except -1:
    cb()
    return 2


cdef inline object ret_inline_object(object cb, int n):
    if n > 2:
        return cb()
    return None


@form
def except_minus(cb):
    return ret_int(cb)


@form
def except_maybe(cb):
    cdef int value = ret_int_maybe(cb, 3)
    return value


@form
def except_star(cb):
    return ret_int_star(cb)


@form
def except_void(cb):
    ret_void_star(cb)


@form
def except_double(cb):
    return ret_double(cb, 2.0)


@form
def except_object(cb):
    return ret_object(cb)


@form
def except_list(cb):
    for x in ret_list(cb):
        print(x)


@form
def except_str(cb):
    return ret_str(cb) + "x"


@form
def except_pointer(cb):
    cdef char *p = ret_pointer(cb)
    return p is NULL


@form
def except_bint(cb):
    if ret_bint(cb):
        return 3


@form
def except_struct(cb):
    cdef Pair pair = ret_struct(cb)
    return pair.x, pair.n


@form
def except_wide(cb):
    return ret_wide(cb)


@form
def except_float(cb):
    return ret_float_star(cb) * 2


@form
def inlined(cb):
    return ret_inline(cb) + 1


@form
def inlined_object(cb):
    return [ret_inline_object(cb, i) for i in range(5)]


@form
def conversion_chain(cb):
    cdef int a = 3
    cdef double b = a + ret_double(cb, a) + ret_int(cb)
    return b


@form
def two_in_a_line(cb):
    return (ret_int_maybe(cb, 1), ret_object(cb))


@form
def nested_arguments(cb):
    return max(
        ret_int_maybe(str, 1) if cb is None else 2,
        ret_int(cb),
    )


# ---- no gil

cdef int nogil_work(int n, void *cb) except -1 nogil:
    cdef int i
    cdef int total = 0
    for i in range(n):
        total += i
    with gil:
        (<object>cb)()
    return total


cdef void nogil_void(void *cb) except * nogil:
    with gil:
        (<object>cb)()


cdef double nogil_deep(int depth, void *cb) except? -1 nogil:
    if depth == 0:
        return nogil_work(3, cb)
    return nogil_deep(depth - 1, cb) * 2


@form
def with_nogil(cb):
    cdef int result
    cdef void *p = <void *>cb
    with nogil:
        result = nogil_work(4, p)
    return result


@form
def with_nogil_void(cb):
    cdef void *p = <void *>cb
    with nogil:
        nogil_void(p)


@form
def gil_in_nogil(cb):
    cdef double x = 2
    with nogil:
        x = sqrt(x)
        with gil:
            cb()
    return x


@form
def nogil_chain(cb):
    cdef double x
    cdef void *p = <void *>cb
    with nogil:
        x = nogil_deep(0, p)
    return x


cdef int gil_function(void *cb) except -1 with gil:
    (<object>cb)()
    return 0


@form
def function_with_gil(cb):
    cdef void *p = <void *>cb
    with nogil:
        gil_function(p)


@form
def nogil_in_try(cb):
    cdef int r = 0
    cdef void *p = <void *>cb
    try:
        with nogil:
            r = nogil_work(2, p)
    finally:
        r += 1
    return r


@form
def nogil_in_loop(cb):
    cdef int r = 0, i
    cdef void *p = <void *>cb
    for i in range(4):
        if i == 2:
            with nogil:
                r += nogil_work(i, p)
    return r


# ---- recursion

cdef int rec_down(int n, object cb) except -1:
    if n == 0:
        cb()
        return 0
    return 1 + rec_down(n - 1, cb)


@form
def recursion(cb):
    return rec_down(3, cb)


cdef object rec_even(int n, object cb):
    if n == 0:
        return cb()
    return rec_odd(n - 1, cb)


cdef object rec_odd(int n, object cb):
    x = [rec_even(n - 1, cb)]
    return x


@form
def mutual_recursion(cb):
    return rec_even(4, cb)


# ---- pointers to functions

cdef double apply_one(double x, object cb) except? -7:
    return x + cb()


cdef double apply_other(double x, object cb) except? -7:
    return x - 1


cdef double integrate(number_function f, object cb, int n) except? -7:
    cdef double total = 0
    cdef int i
    for i in range(n):
        total += f(i, cb)
    return total


@form
def function_pointer(cb):
    return integrate(apply_one if cb else apply_other, cb, 3)


ctypedef struct Table:
    number_function function
    int n


@form
def function_in_struct(cb):
    cdef Table table
    table.function = apply_one
    table.n = 2
    return table.function(1.0, cb)


# ---- classes

cdef class Base:
    cdef public object cb
    cdef readonly int count
    cdef object hidden

    def __cinit__(self, cb, *args, **kwargs):
        self.count = 1
        if kwargs.get("now"):
            cb()

    def __init__(self, cb, now=False, later=False):
        self.cb = cb
        self.hidden = None
        if later:
            cb()

    cdef int quick(self) except -1:
        self.cb()
        return 1

    cpdef object work(self, int n):
        cdef int i
        for i in range(n):
            self.count += i
        return self.cb()

    cpdef int sized(self, int n=3) except -1:
        return n + self.cb()

    def call_quick(self):
        return self.quick()

    def call_work(self):
        return self.work(3)

    def typed_arguments(self, int a, double b, str name not None, list items=None):
        cdef double total = a * b
        total += len(name)
        self.cb()
        return total

    @staticmethod
    def static(cb):
        return cb()

    @classmethod
    def on_class(cls, cb):
        return cb()

    @staticmethod
    cdef int static_c(object cb) except -1:
        cb()
        return 0

    @property
    def value(self):
        return self.cb()

    @value.setter
    def value(self, x):
        self.cb()

    def __len__(self):
        return self.cb()

    def __getitem__(self, key):
        return self.cb()

    def __setitem__(self, key, value):
        self.cb()

    def __delitem__(self, key):
        self.cb()

    def __contains__(self, item):
        return self.cb()

    def __iter__(self):
        return self

    def __next__(self):
        self.cb()
        raise StopIteration

    def __call__(self, a, *rest, k=1):
        return self.cb()

    def __enter__(self):
        self.cb()
        return self

    def __exit__(self, a, b, c):
        return False

    def __repr__(self):
        return self.cb()

    def __str__(self):
        return self.cb()

    def __hash__(self):
        return self.cb()

    def __bool__(self):
        return self.cb()

    def __getattr__(self, name):
        return self.cb()

    def __add__(self, other):
        if isinstance(self, Base):
            return (<Base>self).cb()
        return (<Base>other).cb()

    def __mul__(self, other):
        return self.cb() if isinstance(self, Base) else other.cb()

    def __pow__(self, other, modulo):
        return self.cb()

    def __iadd__(self, other):
        return self.cb()

    def __neg__(self):
        return self.cb()

    def __int__(self):
        return self.cb()

    def __float__(self):
        return self.cb()

    def __index__(self):
        return self.cb()

    def gen(self, n):
        for i in range(n):
            yield self.cb()

    def inner(self, int factor):
        def scaled(x):
            return x * factor + self.cb()
        return scaled(2)

    def a_lambda(self):
        return (lambda x: self.cb())(3)


cdef class Derived(Base):
    cdef int quick(self) except -1:
        x = 2
        return Base.quick(self)

    cpdef object work(self, int n):
        y = Base.work(self, n + 1)
        return y


@cython.final
cdef class Final:
    cdef object cb

    def __init__(self, cb):
        self.cb = cb

    cdef object act(self):
        return self.cb()

    cpdef act_too(self):
        return self.act()

    def __eq__(self, other):
        return self.cb()

    def __lt__(self, other):
        return self.cb()


cdef class Rich:
    cdef object cb

    def __cinit__(self, cb):
        self.cb = cb

    def __richcmp__(self, other, int op):
        if op == Py_EQ:
            return False
        return self.cb()


@cython.freelist(4)
cdef class Listed:
    cdef object cb

    def __cinit__(self, cb):
        self.cb = cb
        cb()


cdef class Attributes:
    cdef object cb

    def __cinit__(self, cb):
        self.cb = cb

    def __getattribute__(self, name):
        return self.cb()

    def __setattr__(self, name, value):
        self.cb()

    def __delattr__(self, name):
        self.cb()


cdef class Descriptor:
    def __get__(self, instance, owner):
        return instance.cb()

    def __set__(self, instance, value):
        instance.cb()


class Holder:
    described = Descriptor()

    def __init__(self, cb):
        self.cb = cb


class Python(Base):
    """A Python class below a C class."""
    def work(self, n):
        z = super().work(n)
        return z


cdef class Node:
    cdef Node child
    cdef object cb

    def __init__(self, cb, depth):
        self.cb = cb
        if depth:
            self.child = Node(cb, depth - 1)

    cdef object rec_visit(self):
        if self.child is None:
            return self.cb()
        return self.child.rec_visit()

    cdef double weigh(self, double x) except -1:
        cdef double total = x
        if self.child is not None:
            total += self.child.weight_of(x)
        return total

    cdef double weight_of(self, double x) except -1:
        self.cb()
        return x


FORMS += [Base.static, Base.on_class, Listed]


@form
def static_c(cb):
    return Base.static_c(cb)


@form
def cinit(cb):
    return Base(cb, now=True)


@form
def init(cb):
    return Base(cb, later=True)


@form
def cdef_method(cb):
    cdef Base b = Base(cb)
    return b.quick()


@form
def cdef_method_derived(cb):
    cdef Base b = Derived(cb)
    return b.quick()


@form
def cpdef_from_c(cb):
    cdef Base b = Base(cb)
    return b.work(3)


@form
def cpdef_from_python(cb):
    b = Base(cb)
    return b.work(3)


@form
def cpdef_derived(cb):
    cdef Base b = Derived(cb)
    return b.work(3)


@form
def cpdef_python_override(cb):
    cdef Base b = Python(cb)
    return b.work(2)


@form
def cpdef_optional(cb):
    cdef Base b = Base(cb)
    return b.sized()


@form
def cpdef_optional_python(cb):
    b = Base(cb)
    return b.sized(4)


@form
def through_method(cb):
    return Base(cb).call_quick()


@form
def through_cpdef(cb):
    return Derived(cb).call_work()


@form
def typed_arguments(cb):
    return Base(cb).typed_arguments(1, 2.0, "three", items=[])


@form
def final_class(cb):
    cdef Final f = Final(cb)
    return f.act_too()


@form
def visitor(cb):
    cdef Node n = Node(cb, 2)
    return n.rec_visit()


@form
def inlined_method(cb):
    cdef Node n = Node(cb, 1)
    return n.weigh(2.0)


@form
def c_property(cb):
    return Base(cb).value


@form
def c_property_set(cb):
    Base(cb).value = 2


@form
def c_len(cb):
    return len(Base(cb))


@form
def c_len_typed(cb):
    cdef Base b = Base(cb)
    if len(b) > 3:
        return 1


@form
def c_getitem(cb):
    return Base(cb)["x"]


@form
def c_getitem_int(cb):
    cdef Base b = Base(cb)
    return b[2]


@form
def c_setitem(cb):
    Base(cb)[1] = 3


@form
def c_delitem(cb):
    b = Base(cb)
    del b[1]


@form
def c_contains(cb):
    return 1 in Base(cb)


@form
def c_iterate(cb):
    for x in Base(cb):
        print(x)


@form
def c_next(cb):
    return next(Base(cb))


@form
def c_list(cb):
    return list(Base(cb))


@form
def c_call(cb):
    return Base(cb)(1, 2, k=3)


@form
def c_with(cb):
    with Base(cb) as b:
        return b


@form
def c_repr(cb):
    return repr(Base(cb))


@form
def c_str(cb):
    return str(Base(cb))


@form
def c_hash(cb):
    return {Base(cb): 1}


@form
def c_bool(cb):
    b = Base(cb)
    if not b:
        return 1


@form
def c_getattr(cb):
    return Base(cb).missing


@form
def c_add(cb):
    return Base(cb) + 1


@form
def c_mul(cb):
    return Base(cb) * 3


@form
def c_pow(cb):
    return Base(cb) ** 2


@form
def c_iadd(cb):
    b = Base(cb)
    b += 1
    return b


@form
def c_neg(cb):
    return -Base(cb)


@form
def c_int(cb):
    return int(Base(cb))


@form
def c_to_double(cb):
    cdef double x = Base(cb)
    return x


@form
def c_to_int(cb):
    cdef int x = Base(cb)
    return x


@form
def c_eq(cb):
    return Final(cb) == 1


@form
def c_lt(cb):
    return Final(cb) < 1


@form
def c_richcmp(cb):
    return Rich(cb) >= 3


@form
def c_getattribute(cb):
    return Attributes(cb).x


@form
def c_setattr(cb):
    Attributes(cb).x = 1


@form
def c_delattr(cb):
    a = Attributes(cb)
    del a.x


@form
def c_descriptor(cb):
    return Holder(cb).described


@form
def c_descriptor_set(cb):
    Holder(cb).described = 2


@form
def c_generator(cb):
    for x in Base(cb).gen(3):
        print(x)


@form
def c_inner(cb):
    return Base(cb).inner(3)


@form
def c_lambda(cb):
    return Base(cb).a_lambda()


# ---- callbacks of C

cdef int compare_raise(const void *a, const void *b) except -2 with gil:
    return (<object>(<void **>a)[0])()


ctypedef int (*comparison)(const void *, const void *) except -2

cdef int call_pointer(comparison f, void *p) except -2:
    cdef void *items[2]
    items[0] = p
    items[1] = p
    return f(items, items)


@form
def c_callback(cb):
    return call_pointer(compare_raise, <void *>cb)


# ---- memory

@form
def memoryview_argument(cb):
    return _with_view(_array.array("d", [1, 2, 3]), cb)


def _with_view(double[:] view, cb):
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(view.shape[0]):
        total += view[i]
        if i == 1:
            total += cb()
    return total


cdef double sum_view(double[:] view, object cb) except? -1:
    cdef Py_ssize_t i
    cdef double total = 0
    for i in range(view.shape[0]):
        total += view[i]
    return total + cb()


@form
def memoryview_c(cb):
    cdef double[:] view = _array.array("d", [1, 2, 3])
    return sum_view(view[1:], cb)


@form
def memoryview_store(cb):
    cdef double[:] view = _array.array("d", [1, 2, 3])
    view[1] = cb()


@form
def memoryview_index(cb):
    cdef double[::1] view = _array.array("d", [1, 2, 3])
    return view[<Py_ssize_t>cb()]


@form
def allocated(cb):
    cdef int *p = <int *>malloc(10 * sizeof(int))
    if p is NULL:
        raise MemoryError
    try:
        p[0] = cb()
        return p[0]
    finally:
        free(p)


@form
def c_array(cb):
    cdef int values[4]
    values[2] = cb()
    return values[2]


@form
def bytes_pointer(cb):
    cdef bytes data = cb()
    cdef const char *p = data
    return p[0]


# ---- fused

cdef real fused_c(real x, object cb) except *:
    cdef real y = x + x
    cb()
    return y


def fused_def(real x, cb):
    cdef real y = x * 2
    y += cb()
    return y


cpdef real fused_cp(real x, cb) except *:
    return x + <real>cb()


def fused_view(real[:] view, thing container, cb):
    container = container
    return view[0] + cb()


@form
def fused_cdef(cb):
    return fused_c[double](2.0, cb)


@form
def fused_cdef_int(cb):
    return fused_c(<int>3, cb)


@form
def fused_python(cb):
    return fused_def(2.5, cb)


@form
def fused_index(cb):
    return fused_def["int"](2, cb)


@form
def fused_cpdef(cb):
    return fused_cp[float](2.5, cb)


@form
def fused_memoryview(cb):
    return fused_view(_array.array("f", [1, 2]), {}, cb)


# ---- more modules and files

@form
def from_include(cb):
    return included(cb)


@form
def from_include_c(cb):
    return included_c(cb, 3)


@form
def from_pxd(cb):
    return clamp_with(cb, 3)


@form
def from_pxd_object(cb):
    return typed_inline.hop(cb)


# ---- statements with C types

@form
def c_loop(cb):
    cdef int i, j, n = 5
    cdef double total = 0
    for i in range(n):
        for j from 0 <= j < i:
            total += i * j
            if i == 3 and j == 2:
                total += cb()
    return total


@form
def c_while(cb):
    cdef int n = 0
    while n < 10:
        n += 1
        if n == 5:
            n = cb()
    return n


@form
def c_switch(cb):
    cdef int kind = len(FORMS)
    if kind == 1:
        return 1
    elif kind == 2:
        return 2
    elif kind > 3:
        return cb()
    else:
        return 4


@form
def c_try(cb):
    cdef int x = 0
    try:
        x = 1
        x += ret_int(cb)
    except ValueError:
        x = 2
    return x


@form
def c_try_raise(cb):
    cdef int x = 0
    try:
        x = ret_int(int)
        try:
            x = 3
        finally:
            x += ret_int(cb)
    except TypeError:
        x = 2
    return x


@form
def c_assert(cb):
    cdef int x = 3
    assert x == ret_int(cb), "no"


@form
def c_tuple(cb):
    cdef (int, double) pair
    pair = (1, ret_double(cb, 2))
    return pair


@form
def c_list_comprehension(cb):
    cdef int i
    return [ret_int(cb) for i in range(3)]


@form
def c_closure(cb):
    cdef int factor = 4
    cdef double other = 2

    def multiply(int x):
        return x * factor * other + cb()
    return multiply(3)


@form
def c_genexpr(cb):
    cdef int i
    cdef int limit = 3
    return sum(
        cb() for i in range(limit))


@form
def c_dict(cb):
    cdef dict d = {}
    d[ret_int_maybe(str, 2) if cb is None else 1] = cb()
    return d


@form
def c_string(cb):
    cdef str s = "a"
    s += cb()
    return s


@form
def c_unicode_char(cb):
    cdef Py_UCS4 c = cb()
    return c


@form
def c_cast_check(cb):
    return <list?>cb()


@form
def c_del(cb):
    cdef dict d = {1: Final(cb)}
    x = d[1]
    del d[1]
    return x == 2


def _int_argument(int n, cb):
    return n


class _Index:
    def __init__(self, cb):
        self.cb = cb

    def __index__(self):
        return self.cb()

    def __int__(self):
        return self.cb()

    def __float__(self):
        return self.cb()


@form
def convert_argument(cb):
    return _int_argument(_Index(cb), cb)


def _two_arguments(int n,
                   double x,
                   cb):
    return n


@form
def convert_second_argument(cb):
    return _two_arguments(1,
                          _Index(cb), cb)


cdef public int public_function(object cb) except -1:
    cb()
    return 3


cdef api int api_function(object cb) except -1:
    return public_function(cb) + 1


@form
def public_and_api(cb):
    return api_function(cb)


cdef class Numbers:
    """Everything about one small thing."""
    cdef double total
    cdef list parts

    def __init__(self):
        self.total = 0
        self.parts = []

    cdef inline void add(self, double x) noexcept:
        self.total += x

    cdef int add_all(self, items, object cb) except -1:
        cdef double x
        for x in items:
            self.add(x)
            if x > 1:
                self.parts.append(cb())
        return 0

    def extend(self, items, cb):
        self.add_all(items, cb)
        return self


@form
def small_class(cb):
    return Numbers().extend([1.0, 2.0, 3.0], cb)


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.cfunc
def pure_cfunc(cb, n: cython.int) -> cython.int:
    m: cython.int = n + 1
    m += cb()
    return m


@form
def pure_mode(cb):
    return pure_cfunc(cb, 3)


@cython.ccall
def pure_ccall(cb):
    return cb()


@form
def pure_mode_ccall(cb):
    return pure_ccall(cb)


@cython.embedsignature(True)
@cython.nonecheck(True)
@cython.overflowcheck(True)
def _checked(int a, int b, Base c):
    cdef int d = a * b
    d = d + a
    return c.quick() + d


@form
def checked(cb):
    return _checked(1, 2, Base(cb))


async def _agen(cb):
    yield 1
    yield cb()


async def _drain(cb):
    async for x in _agen(cb):
        pass


@form
def c_async(cb):
    try:
        _drain(cb).send(None)
    except StopIteration:
        pass


@form
def in_parallel(cb):
    cdef int i
    cdef int n = 1
    cdef int total = 0
    for i in prange(n, nogil=True, num_threads=1):
        with gil:
            cb()
    return total
