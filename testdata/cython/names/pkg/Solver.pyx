# cython: language_level=3
# Names that look like something else in a symbol: like lengths, like entry numbers, like the
# module, like what Cython calls its own functions. Nothing here is ever run.


def _5x(x):
    return x


def _1_1(x):
    return x


def _(x):
    return (y for y in (z for z in x))


def __(x):
    def __(y):
        return x + y
    return __


def pkg(x):
    def Solver(y):
        return x + y
    return Solver


def free(x):
    def rows(y):
        def c4_rows(z):
            return x + y + z
        return c4_rows
    return rows


def free_rows(x):
    return x


def generator(x):
    yield x


def generator2(x):
    a = yield x
    yield from generator(a)


def lambda_(x):
    return lambda y: (lambda z: (q for q in (x, y, z)))


def yielding(x):
    return [lambda y: (yield y), lambda z: (yield x)]


class Yielding:
    first = lambda self: (yield self)


class genexpr1:
    def rows(self):
        return list(x for x in "1") + list(x for x in "2")

    def genexpr2(self):
        yield self


class rows4:
    def rows(self):
        async def steps():
            yield self
        return steps

    class _3d:
        def _4(self):
            return lambda: self

    attributes = [lambda: 3 for i in range(3)]


def make(x):
    class Solver:
        @property
        def Solver(self):
            return x

        def __Solver(self):
            return self

    return Solver


cdef int _9rows(int x) except -1:
    return x


cdef class Solver:
    cdef int n

    def __init__(self):
        self.n = _9rows(1)

    def Solver(self):
        return self.n

    cdef int run(self) except -1:
        return 1

    cpdef int _2step(self) except -1:
        return self.run()

    def __iter__(self):
        yield self._2step()

    @property
    def solver(self):
        return 1

    property old_2:
        def __get__(self):
            return lambda: self

    def _rows(self):
        return 1


cdef class _4free:
    def rows(self):
        return 1

    cpdef int _rows(self) except -1:
        return 1

    cdef int _7(self) except -1:
        return 1
