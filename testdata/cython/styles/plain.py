"""Plain Python, compiled as it is: each form calls its argument, in some way."""
import collections
import functools
import itertools

FORMS = []


def form(function):
    FORMS.append(function)
    return function


def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        return result
    return wrapper


def with_options(prefix, *, suffix=""):
    def decorate(function):
        def inner(*args):
            label = prefix + suffix
            return (label,
                    function(*args))
        inner.__name__ = function.__name__
        return inner
    return decorate


# ---- plain calls

@form
def no_arguments(cb):
    return cb()


@form
def through_local(cb):
    action = cb
    result = action()
    return result


def _positional(a, b, cb, c=3):
    total = a + b
    value = cb()
    return total, value, c


@form
def positional(cb):
    return _positional(1, 2, cb)


def _keywords(a, *, cb, b=2, **more):
    more["x"] = a
    return [more, cb(), b]


@form
def keywords(cb):
    return _keywords(1, cb=cb, z=4)


def _stars(*args, **kwargs):
    return args[0]() or kwargs


@form
def stars(cb):
    arguments = (cb, 2)
    options = {"k": 1}
    return _stars(*arguments, **options)


def _default(a, cb=None, size=10):
    if cb is None:
        return a
    for i in range(size):
        if i == 3:
            a += cb()
    return a


@form
def defaults(cb):
    return _default(
        5,
        cb=cb,
    )


def _many(a, b, c, d, e, f, g, h, cb):
    return a + b + c + d + cb() + e + f + g + h


@form
def many_arguments(cb):
    return _many(1, 2, 3, 4, 5, 6, 7, 8, cb)


# ---- closures, lambdas, decorators

@form
def closure(cb):
    count = 0

    def step(n):
        nonlocal count
        count += n
        return cb()

    return step(2)


@form
def closure_in_closure(cb):
    def one(a):
        def two(b):
            def three(c):
                return a, b, c, cb()
            return three(3)
        return two(2)
    return one(1)


@form
def a_lambda(cb):
    call = lambda value: (value, cb())
    return call(3)


@form
def lambda_default(cb):
    call = lambda value=4, f=cb: f()
    return call()


@twice
def _decorated(cb):
    x = 1
    return cb() + x


@form
def decorated(cb):
    return _decorated(cb)


@with_options("a", suffix="b")
def _decorated_options(cb):
    return cb()


@form
def decorated_options(cb):
    return _decorated_options(cb)


@form
def partial(cb):
    return functools.partial(_positional, 1, 2)(cb)


@form
def recursive_closure(cb):
    def walk(n):
        if n == 0:
            return cb()
        for _ in range(1):
            pass
        return _hop(walk, n - 1)
    return walk(2)


def _hop(f, n):
    return f(n)


# ---- comprehensions and generators

@form
def list_comprehension(cb):
    return [cb() for _ in range(3)]


@form
def set_comprehension(cb):
    return {
        cb()
        for i in range(3)
        if i >= 0
    }


@form
def dict_comprehension(cb):
    return {i: cb() for i in (1, 2)}


@form
def nested_comprehension(cb):
    return [[cb() for x in range(2)] for y in range(2)]


@form
def comprehension_condition(cb):
    return [i for i in range(3) if cb()]


@form
def generator_expression(cb):
    return list(cb() for _ in range(2))


@form
def sum_of_generator(cb):
    return sum(
        i * cb()
        for i in range(3)
    )


@form
def any_of_generator(cb):
    return any(cb() for _ in range(2))


def _numbers(cb, n):
    for i in range(n):
        yield i
        if i == 1:
            cb()


@form
def generator(cb):
    total = 0
    for value in _numbers(cb, 5):
        total += value
    return total


@form
def generator_next(cb):
    it = _numbers(cb, 5)
    next(it)
    next(it)
    return next(it)


def _sender(cb):
    got = yield 1
    while got:
        got = yield cb()


@form
def generator_send(cb):
    g = _sender(cb)
    next(g)
    return g.send(True)


def _thrown(cb):
    try:
        yield 1
    except KeyError:
        yield cb()


@form
def generator_throw(cb):
    g = _thrown(cb)
    next(g)
    return g.throw(KeyError("x"))


def _delegate(cb):
    result = yield from _numbers(cb, 4)
    return result


@form
def yield_from(cb):
    return list(_delegate(cb))


def _delegate_list(cb):
    yield from map(lambda i: cb(), [1, 2])


@form
def yield_from_map(cb):
    return [x for x in _delegate_list(cb)]


@form
def inner_generator(cb):
    def produce():
        yield 1
        yield cb()
    first, second = produce()
    return second


# ---- async

class _Ticket:
    def __init__(self, cb):
        self.cb = cb

    def __await__(self):
        self.cb()
        yield 1


class _Gate:
    def __init__(self, cb, late):
        self.cb, self.late = cb, late

    async def __aenter__(self):
        if not self.late:
            self.cb()
        return self

    async def __aexit__(self, *info):
        if self.late:
            self.cb()


class _Ticker:
    def __init__(self, cb):
        self.cb = cb
        self.n = 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        self.n += 1
        if self.n == 2:
            self.cb()
        return self.n


def _drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return stop.value


async def _simple(cb):
    return cb()


async def _outer(cb):
    x = await _simple(cb)
    return x


@form
def coroutine(cb):
    return _drive(_simple(cb))


@form
def await_coroutine(cb):
    return _drive(_outer(cb))


async def _await_object(cb):
    await _Ticket(cb)


@form
def await_object(cb):
    return _drive(_await_object(cb))


async def _with_gate(cb, late):
    async with _Gate(cb, late) as gate:
        gate.x = 1
    return 2


@form
def async_with_enter(cb):
    return _drive(_with_gate(cb, False))


@form
def async_with_exit(cb):
    return _drive(_with_gate(cb, True))


async def _for_ticker(cb):
    async for n in _Ticker(cb):
        if n > 5:
            break


@form
def async_for(cb):
    return _drive(_for_ticker(cb))


async def _agen(cb):
    yield 1
    cb()
    yield 2


async def _consume(cb):
    total = 0
    async for n in _agen(cb):
        total += n
    return total


@form
def async_generator(cb):
    return _drive(_consume(cb))


async def _async_comprehension(cb):
    return [n async for n in _agen(cb)]


@form
def async_comprehension(cb):
    return _drive(_async_comprehension(cb))




# ---- statements

@form
def try_except_other(cb):
    try:
        return cb()
    except KeyError:
        return None


@form
def try_finally(cb):
    seen = []
    try:
        seen.append(1)
        cb()
    finally:
        seen.append(2)
    return seen


@form
def in_finally(cb):
    x = 1
    try:
        x = 2
    finally:
        cb()
    return x


@form
def in_except(cb):
    try:
        {}["missing"]
    except KeyError as error:
        cb()


@form
def in_else(cb):
    try:
        x = 1
    except KeyError:
        x = 2
    else:
        x = cb()
    return x


@form
def nested_try(cb):
    try:
        try:
            cb()
        except (KeyError, IndexError):
            pass
    except AttributeError:
        pass
    else:
        return 1


@form
def try_in_loop(cb):
    for i in range(3):
        try:
            if i == 1:
                cb()
            continue
        except KeyError:
            break
        finally:
            i += 1


class Manager:
    def __init__(self, cb, when):
        self.cb = cb
        self.when = when

    def __enter__(self):
        if self.when == "enter":
            self.cb()
        return self

    def __exit__(self, kind, value, traceback):
        if self.when == "exit":
            self.cb()
        return False


@form
def with_enter(cb):
    with Manager(cb, "enter") as manager:
        return manager



@form
def with_exit(cb):
    with Manager(cb, "exit"):
        x = 1
    return x


@form
def with_two(cb):
    with Manager(cb, None) as a, Manager(cb, "enter") as b:
        return a, b


@form
def assertion(cb):
    assert cb(), "never"


@form
def assertion_message(cb):
    assert not FORMS, cb()


@form
def while_condition(cb):
    n = 0
    while cb() > n:
        n += 1
    return n


@form
def if_condition(cb):
    if cb():
        return 1
    elif FORMS:
        return 2
    return 3


@form
def elif_condition(cb):
    n = len(FORMS)
    if n == 0:
        return 1
    elif cb() == n:
        return 2
    return 3


@form
def for_in(cb):
    for x in cb():
        print(x)


@form
def ternary(cb):
    n = len(FORMS)
    return (1 if n == 0
            else cb())


@form
def and_or(cb):
    n = len(FORMS)
    return n and (0 or
                  cb())


@form
def walk_chain(cb):
    return 1 < len(FORMS) < cb() < 10


@form
def raise_from(cb):
    raise cb()


@form
def f_string(cb):
    n = 3
    return f"a {n} b {cb()!r:>10} c"


@form
def percent(cb):
    return "%s %s" % (1, cb())


@form
def unpacking(cb):
    a, (b, *c) = cb()
    return a, b, c


@form
def star_in_list(cb):
    return [1, *cb(), 2]


@form
def dict_display(cb):
    return {
        "a": 1,
        "b": cb(),
        **{"c": 2},
    }


@form
def multi_line_call(cb):
    return _positional(
        1,
        2,
        cb,
        c=4
    )


@form
def multi_line_argument(cb):
    return max(
        1,
        cb(),
        3,
    )


@form
def method_chain(cb):
    return (
        Items(cb)
        .append(1)
        .run()
    )


@form
def local_class(cb):
    class Local:
        kind = "local"

        def go(self):
            return cb()

    return Local().go()


@form
def local_class_body(cb):
    class Local:
        value = cb()

    return Local


@form
def local_import(cb):
    import bisect
    return bisect.bisect_left([1, 2], Compared(cb))


@form
def delete_item(cb):
    items = Items(cb)
    del items["x"]


@form
def delete_attribute(cb):
    attributes = Attributes(cb)
    del attributes.x


@form
def delete_slice(cb):
    items = Items(cb)
    del items[1:2]


@form
def lookup_globals(cb):
    global _counter
    _counter = 1
    return _counter + cb()


# ---- implicit calls of special methods

class Items:
    def __init__(self, cb):
        self.cb = cb
        self.list = []

    def append(self, x):
        self.list.append(x)
        return self

    def run(self):
        return self.cb()

    def __len__(self):
        return self.cb()

    def __contains__(self, item):
        return self.cb()

    def __iter__(self):
        yield 0
        yield self.cb()

    def __getitem__(self, key):
        return self.cb()

    def __setitem__(self, key, value):
        self.cb()

    def __delitem__(self, key):
        self.cb()

    def __call__(self, *args, **kwargs):
        return self.cb()

    def __bool__(self):
        return self.cb()

    def __reversed__(self):
        return self.cb()


class Number:
    def __init__(self, cb):
        self.cb = cb

    def __add__(self, other):
        return self.cb()

    def __radd__(self, other):
        return self.cb()

    def __iadd__(self, other):
        return self.cb()

    def __sub__(self, other):
        return self.cb()

    def __mul__(self, other):
        return self.cb()

    def __matmul__(self, other):
        return self.cb()

    def __truediv__(self, other):
        return self.cb()

    def __floordiv__(self, other):
        return self.cb()

    def __mod__(self, other):
        return self.cb()

    def __pow__(self, other):
        return self.cb()

    def __lshift__(self, other):
        return self.cb()

    def __and__(self, other):
        return self.cb()

    def __xor__(self, other):
        return self.cb()

    def __neg__(self):
        return self.cb()

    def __invert__(self):
        return self.cb()

    def __abs__(self):
        return self.cb()

    def __int__(self):
        return self.cb()

    def __float__(self):
        return self.cb()

    def __index__(self):
        return self.cb()

    def __divmod__(self, other):
        return self.cb()

    def __round__(self, n=None):
        return self.cb()


class Compared:
    def __init__(self, cb):
        self.cb = cb

    def __eq__(self, other):
        return self.cb()

    def __lt__(self, other):
        return self.cb()

    def __gt__(self, other):
        return self.cb()

    def __hash__(self):
        return self.cb()


class Attributes:
    shared = 1

    def __init__(self, cb):
        object.__setattr__(self, "cb", cb)

    def __getattr__(self, name):
        return self.cb()

    def __setattr__(self, name, value):
        self.cb()

    def __delattr__(self, name):
        self.cb()

    def __repr__(self):
        return self.cb()

    def __str__(self):
        return self.cb()

    def __format__(self, spec):
        return self.cb()

    def __dir__(self):
        return self.cb()


class Descriptor:
    def __get__(self, instance, owner):
        return instance.cb()

    def __set__(self, instance, value):
        instance.cb()

    def __set_name__(self, owner, name):
        self.name = name


class Properties:
    described = Descriptor()

    def __init__(self, cb):
        self.cb = cb

    @property
    def value(self):
        return self.cb()

    @value.setter
    def value(self, new):
        self.cb()

    @value.deleter
    def value(self):
        self.cb()

    @staticmethod
    def static(cb):
        return cb()

    @classmethod
    def on_class(cls, cb):
        return cb()

    def __private(self):
        return self.cb()

    def call_private(self):
        return self.__private()

    def outer_method(self):
        def inner():
            return self.cb()
        return inner()

    def generator_method(self):
        yield self.cb()

    async def async_method(self):
        return self.cb()

    lambda_method = lambda self: self.cb()

    class Nested:
        def __init__(self, cb):
            self.result = cb()


class Base:
    def __init__(self, cb):
        self.cb = cb
        cb()

    def method(self):
        return self.cb()


class Derived(Base):
    def __init__(self, cb, more=1):
        self.more = more
        super().__init__(cb)


class Quiet(Base):
    def __init__(self, cb):
        self.cb = cb

    def method(self):
        value = super().method()
        return value


class New:
    def __new__(cls, cb):
        cb()
        return object.__new__(cls)


class Meta(type):
    def __call__(cls, cb):
        return cb()

    def __new__(mcs, name, bases, namespace, cb=None):
        if cb:
            cb()
        return type.__new__(mcs, name, bases, namespace)

    def __init__(cls, name, bases, namespace, cb=None):
        type.__init__(cls, name, bases, namespace)


class Made(metaclass=Meta):
    pass


class Subclassed:
    def __init_subclass__(cls, cb=None, **kwargs):
        if cb:
            cb()


class Cached:
    def __init__(self, cb):
        self.cb = cb

    @functools.lru_cache(None)
    def cached(self):
        return self.cb()


FORMS += [
    Properties.static,
    Properties.on_class,
    Properties.Nested,
    Base,
    Derived,
    New,
]


@form
def meta_call(cb):
    return Made(cb)


@form
def meta_new(cb):
    class Built(metaclass=Meta, cb=cb):
        x = 1
    return Built


@form
def super_method(cb):
    return Quiet(cb).method()


@form
def lru_cached(cb):
    return Cached(cb).cached()



@form
def len_(cb):
    return len(Items(cb))


@form
def in_(cb):
    return 3 in Items(cb)


@form
def iterate(cb):
    return [x for x in Items(cb)]


@form
def subscript(cb):
    items = Items(cb)
    return items["key"]


@form
def subscript_int(cb):
    return Items(cb)[0]


@form
def subscript_slice(cb):
    return Items(cb)[1:2]


@form
def store(cb):
    items = Items(cb)
    items[1] = 2


@form
def store_slice(cb):
    items = Items(cb)
    items[1:3] = [2]


@form
def augmented_item(cb):
    items = {"n": Number(cb)}
    items["n"] += 1


@form
def call_object(cb):
    return Items(cb)(1, a=2)


@form
def truth(cb):
    if not Items(cb):
        return 1


@form
def reversed_(cb):
    return reversed(Items(cb))


@form
def add(cb):
    return Number(cb) + 1


@form
def add_reflected(cb):
    return 1 + Number(cb)


@form
def add_in_place(cb):
    n = Number(cb)
    n += 1
    return n


@form
def arithmetic(cb):
    n = Number(cb)
    m = 2
    return m, n - 1


@form
def multiply(cb):
    return Number(cb) * 2


@form
def matrix(cb):
    return Number(cb) @ 2


@form
def divide(cb):
    return Number(cb) / 2


@form
def floor_divide(cb):
    return Number(cb) // 2


@form
def modulo(cb):
    return Number(cb) % 2


@form
def power(cb):
    return Number(cb) ** 2


@form
def shift(cb):
    return Number(cb) << 2


@form
def bit_and(cb):
    return Number(cb) & 2


@form
def bit_xor(cb):
    return Number(cb) ^ 2


@form
def negative(cb):
    return -Number(cb)


@form
def invert(cb):
    return ~Number(cb)


@form
def absolute(cb):
    return abs(Number(cb))


@form
def to_int(cb):
    return int(Number(cb))


@form
def to_float(cb):
    return float(Number(cb))


@form
def as_index(cb):
    return [1, 2, 3][Number(cb)]


@form
def divmod_(cb):
    return divmod(Number(cb), 3)


@form
def round_(cb):
    return round(Number(cb))


@form
def equal(cb):
    return Compared(cb) == 1


@form
def equal_if(cb):
    if Compared(cb) == 1:
        return 3


@form
def less(cb):
    return Compared(cb) < 1


@form
def hash_(cb):
    return hash(Compared(cb))


@form
def dict_key(cb):
    return {Compared(cb): 1}


@form
def dict_lookup(cb):
    d = {1: 2}
    return d[Compared(cb)]


@form
def set_add(cb):
    s = set()
    s.add(Compared(cb))


@form
def in_list(cb):
    return Compared(cb) in [1, 2]


@form
def get_attribute(cb):
    return Attributes(cb).missing


@form
def set_attribute(cb):
    Attributes(cb).x = 1


@form
def getattr_builtin(cb):
    return getattr(Attributes(cb), "missing", None)


@form
def repr_(cb):
    return repr(Attributes(cb))


@form
def str_(cb):
    return str(Attributes(cb))


@form
def format_(cb):
    return format(Attributes(cb), "x")


@form
def f_string_object(cb):
    return f"{Attributes(cb):x}"


@form
def percent_object(cb):
    return "%r" % Attributes(cb)


@form
def print_(cb):
    print(Attributes(cb))


@form
def property_get(cb):
    return Properties(cb).value


@form
def property_set(cb):
    Properties(cb).value = 3


@form
def property_delete(cb):
    p = Properties(cb)
    del p.value


@form
def descriptor_get(cb):
    return Properties(cb).described


@form
def descriptor_set(cb):
    Properties(cb).described = 4


@form
def private_method(cb):
    return Properties(cb).call_private()


@form
def outer_method(cb):
    return Properties(cb).outer_method()


@form
def lambda_method(cb):
    return Properties(cb).lambda_method()


@form
def generator_method(cb):
    for x in Properties(cb).generator_method():
        return x


@form
def async_method(cb):
    return _drive(Properties(cb).async_method())


@form
def sorted_key(cb):
    return sorted([3, 1, 2], key=lambda x: cb())


@form
def sort_key_function(cb):
    def key(item):
        return cb()
    items = [2, 1]
    items.sort(key=key)


@form
def sort_compare(cb):
    return sorted([Compared(cb), Compared(cb)])


@form
def cmp_to_key(cb):
    return sorted([1, 2], key=functools.cmp_to_key(lambda a, b: cb()))


@form
def map_(cb):
    return list(map(lambda x: cb(), [1, 2]))


@form
def filter_(cb):
    return [x for x in filter(lambda x: cb(), [1, 2])]


@form
def reduce_(cb):
    return functools.reduce(lambda a, b: cb(), [1, 2, 3])


@form
def max_key(cb):
    return max([1, 2], key=lambda x: cb())


@form
def group_by(cb):
    for key, group in itertools.groupby([1, 2], lambda x: cb()):
        return key



@form
def default_dict(cb):
    d = collections.defaultdict(cb)
    return d["missing"]


@form
def iter_sentinel(cb):
    return list(iter(cb, 3))


@form
def zip_unpack(cb):
    for a, b in zip([1, 2], Items(cb)):
        pass


@form
def enumerate_(cb):
    for i, x in enumerate(Items(cb)):
        if i > 5:
            break


@form
def tuple_from_generator(cb):
    return tuple(cb() for x in range(1))


@form
def join_generator(cb):
    return ",".join(cb() for x in range(1))


@form
def dict_methods(cb):
    d = {1: 2}
    return d.get(Compared(cb), 3)


@form
def dict_setdefault(cb):
    d = {}
    return d.setdefault("k", cb())


@form
def list_append(cb):
    result = []
    result.append(cb())
    return result


@form
def string_method(cb):
    return "abc".replace("a", cb())


@form
def isinstance_(cb):
    return isinstance(cb(), int)


@form
def builtin_sum(cb):
    return sum(Items(cb))


@form
def exec_code(cb):
    exec("f()", {"f": cb})


@form
def eval_code(cb):
    return eval("f()", {"f": cb})


@form
def big_body(cb):
    a = {}
    for i in range(4):
        a[i] = str(i)
    b = [x + "a" for x in a.values()]
    c = tuple(b)
    if len(c) == 4:
        d = {k: v for k, v in zip(c, b)}
        e = sorted(d)
        for name in e:
            if name == e[-1]:
                try:
                    a[name] = d[name].upper()
                    cb()
                except KeyError:
                    a[name] = 3
                else:
                    continue
    return a, b, c


_counter = 0
