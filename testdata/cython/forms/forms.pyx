# cython: language_level=3
# Every way in which Cython code calls and is called. Each form calls `next`, the following form,
# so that one stack holds them all: see run.py.

import functools

FORMS = []


def form(function):
    FORMS.append(function)
    return function


# ---- functions ----

@form
def plain_def(next):
    return next()


@form
def with_arguments(next, int a=1, double b=2.0, *rest, c=None, **named):
    local = [a, b, c]
    local.append(next())
    return local


cdef object c_object(next):
    return next()


@form
def through_c_object(next):
    return c_object(next)


cdef int c_int(next, int n) except -1:
    cdef int total = 0
    for i in range(n):
        total += 1
        next()
    return total


@form
def through_c_int(next):
    cdef int got = c_int(next, 1)
    return got


cdef int c_maybe(next) except? -1:
    next()
    return 3


@form
def through_c_maybe(next):
    return c_maybe(next) + 1


cdef double c_double(next) except? -1.0:
    next()
    return 1.5


@form
def through_c_double(next):
    return c_double(next) * 2


cdef void c_void(next) except *:
    next()


@form
def through_c_void(next):
    c_void(next)
    return 0


cdef inline object c_inline(next):
    """Inlined wherever the compiler inlines at all."""
    return next()


cdef inline int c_inline_twice(next) except -1:
    c_inline(next)
    return 0


@form
def through_inline(next):
    return c_inline_twice(next)


cpdef both_ways(next):
    return next()


FORMS.append(both_ways)


@form
def both_ways_from_c(next):
    return both_ways(next)


ctypedef object (*taker)(object)


@form
def through_pointer(next):
    cdef taker function = c_object
    return function(next)


ctypedef fused number:
    int
    double


cdef object fused_c(number value, next):
    return next()


@form
def through_fused_c(next):
    return fused_c(<double>2.5, next)


cpdef fused_both(number value, next):
    return next()


@form
def through_fused_both(next):
    return fused_both(1.5, next)


def fused_def(number value, next):
    return next()


@form
def through_fused_def(next):
    call = fused_def
    return call(7, next)


# ---- scopes ----

@form
def with_closure(next):
    def inner():
        return next()
    return inner()


@form
def with_deep_closure(next):
    def middle(value):
        def innermost():
            return next(), value
        return innermost()
    return middle(1)


@form
def with_lambda(next):
    call = lambda: next()
    return call()


@form
def with_generator(next):
    def numbers():
        yield 1
        yield next()
    for _ in numbers():
        pass
    return 0


def module_generator(next):
    yield next()


@form
def from_generator(next):
    return list(module_generator(next))


def delegating(next):
    yield from module_generator(next)


@form
def from_delegating(next):
    for _ in delegating(next):
        pass


@form
def with_genexpr(next):
    return sum(
        next() for _ in range(1))


@form
def with_comprehension(next):
    return [next() for _ in range(1)]


async def coroutine(next):
    return next()


async def awaiting(next):
    return await coroutine(next)


@form
def run_coroutine(next):
    try:
        awaiting(next).send(None)
    except StopIteration:
        pass


# ---- classes ----

cdef class Extension:
    cdef object next

    def __init__(self, next):
        self.next = next

    def method(self):
        return self.next()

    cdef object c_method(self):
        return self.next()

    cpdef both_method(self, int value):
        return self.next()

    @property
    def prop(self):
        return self.next()

    @prop.setter
    def prop(self, value):
        self.next()

    @staticmethod
    def static(next):
        return next()

    @classmethod
    def of_class(cls, next):
        return next()

    def __getitem__(self, index):
        return self.next()

    def __setitem__(self, index, value):
        self.next()

    def __len__(self):
        self.next()
        return 1

    def __contains__(self, value):
        return self.next() is None

    def __call__(self, *arguments):
        return self.next()

    def __add__(self, other):
        return (<Extension>self).next()

    def __eq__(self, other):
        return self.next() is None

    def __bool__(self):
        self.next()
        return True

    def __iter__(self):
        return self

    def __next__(self):
        self.next()
        raise StopIteration

    def __getattr__(self, name):
        return self.next()

    def __repr__(self):
        return str(self.next())

    def __hash__(self):
        self.next()
        return 1

    def __enter__(self):
        return self.next()

    def __exit__(self, *exception):
        return False

    def stepping(self):
        yield self.next()


cdef class Derived(Extension):
    cpdef both_method(self, int value):
        return Extension.both_method(self, value)

    cdef object c_method(self):
        return Extension.c_method(self)


cdef class Beginning:
    def __cinit__(self, next):
        next()


cdef class Begun:
    def __init__(self, next):
        next()


class Ordinary:
    def __init__(self, next):
        self.next = next

    def method(self):
        return self.next()

    @property
    def prop(self):
        return self.next()

    def __private(self):
        return self.next()

    def public(self):
        return self.__private()


@form
def call_method(next):
    return Extension(next).method()


@form
def call_c_method(next):
    cdef Extension thing = Extension(next)
    return thing.c_method()


@form
def call_derived(next):
    cdef Extension thing = Derived(next)
    return thing.c_method()


@form
def call_both_method(next):
    cdef Extension thing = Extension(next)
    return thing.both_method(3)


@form
def call_derived_both(next):
    return Derived(next).both_method(4)


@form
def get_property(next):
    return Extension(next).prop


@form
def set_property(next):
    thing = Extension(next)
    thing.prop = 5


@form
def call_static(next):
    return Extension.static(next)


@form
def call_of_class(next):
    return Extension.of_class(next)


@form
def get_item(next):
    return Extension(next)["key"]


@form
def set_item(next):
    Extension(next)["key"] = 1


@form
def get_length(next):
    return len(Extension(next))


@form
def look_inside(next):
    return 3 in Extension(next)


@form
def call_instance(next):
    return Extension(next)(1, 2)


@form
def add(next):
    return Extension(next) + 1


@form
def compare(next):
    return Extension(next) == 1


@form
def truth(next):
    if Extension(next):
        return 1
    return 2


@form
def iterate(next):
    for _ in Extension(next):
        pass


@form
def get_attribute(next):
    return Extension(next).missing


@form
def get_text(next):
    return "<%r>" % (Extension(next),)


@form
def get_hash(next):
    return {Extension(next): 1}


@form
def enter(next):
    with Extension(next):
        return 1


@form
def step(next):
    return [value for value in Extension(next).stepping()]


@form
def begin(next):
    return Beginning(next)


@form
def begun(next):
    return Begun(next)


@form
def call_ordinary(next):
    return Ordinary(next).method()


@form
def get_ordinary_property(next):
    return Ordinary(next).prop


@form
def call_private(next):
    return Ordinary(next).public()


# ---- statements ----

@form
def in_try(next):
    try:
        return next()
    except KeyError:
        return 1


@form
def in_handler(next):
    try:
        raise KeyError(1)
    except KeyError:
        return next()


@form
def in_finally(next):
    try:
        value = 1
    finally:
        next()
    return value


@form
def under_finally(next):
    value = 0
    try:
        value = next()
    finally:
        value += 1
    return value


@form
def on_several_lines(next):
    return functools.partial(
        plain_def,
        next,
    )()


@form
def with_star(next):
    arguments = (1, 2)
    return with_arguments(next, *arguments, **{"d": 4})


@form
def with_keywords(next):
    return with_arguments(next, c=5)


@form
def through_map(next):
    call = lambda _: next()
    return list(map(call, [1]))


@form
def through_sort(next):
    call = lambda _: next()
    return sorted([1, 2], key=call)


@form
def in_condition(next):
    cdef int n = 3
    if n > 2 and next() is None:
        n = 4
    return n


@form
def in_arithmetic(next):
    cdef double total = 0
    for i in range(3):
        total += <double>(next() or 0) * i
    return total


cdef int free_of_python(void *next) except -1 nogil:
    with gil:
        (<object>next)()
    return 0


@form
def without_the_lock(next):
    cdef int got
    with nogil:
        got = free_of_python(<void *>next)
    return got


@form
def with_buffer(next):
    cdef unsigned char[:] view = bytearray(b"123")
    value = view[1]
    return next(), value


cdef object c_with_buffer(unsigned char[:] view, next):
    view[0] = 2
    return next()


@form
def through_buffer(next):
    return c_with_buffer(bytearray(b"123"), next)


@form
def in_string(next):
    return f"{next()}-{1}"


@form
def in_assertion(next):
    assert next() is None, "no"


@form
def long_function(next):
    a = [1, 2, 3]
    b = {"x": a}
    c = a[0] + len(b)
    d = str(c) + "1"
    e = int(d)
    b["y"] = e
    next()
    f = b.get("y")
    g = f + 2
    a.append(g)
    return a
