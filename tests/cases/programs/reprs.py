# -*- coding: utf-8 -*-
# Objects of all kinds of built-in types, one in each frame of a deep stack; truth.json has what repr() says of each.
from __future__ import print_function

import array
import collections
import functools
import io
import itertools
import operator
import os
import re
import struct
import sys
import threading
import time
import weakref

import witness

sys.setrecursionlimit(5000)
PYTHON3 = sys.version_info[0] >= 3
objects = []


def add(name, value):
    objects.append((name, value))


def add_by(source, **names):
    """What not every version has."""
    try:
        value = eval(source, dict(globals(), **names))
    except (AttributeError, ImportError, NameError, TypeError, SyntaxError, ValueError):
        return
    add(source, value)


class Base(object):
    def method(self):
        return self

    @classmethod
    def of_class(cls):
        return cls

    @staticmethod
    def static():
        return None



class Child(Base):
    __slots__ = ("slot",)

    def method(self):
        return super(Child, self)


class Number(int):
    def __add__(self, other):
        return self


def function(argument):
    cell = argument

    def inner():
        return cell
    return inner


def generator():
    yield sys._getframe()


thing = Child()
number = Number(7)
made = generator()
frame = next(made)
path = os.path.join(witness.FOLDER, "a file")
with open(path, "w") as file:
    file.write("text")

# ---- code ----
add("code", function.__code__)
add("code of a lambda", (lambda: 0).__code__)
add("code of the module", sys._getframe().f_code)
add("frame of a generator", frame)
add("traceback", None)
try:
    raise ValueError
except ValueError:
    objects[-1] = ("traceback", sys.exc_info()[2])
    if not PYTHON3:
        sys.exc_clear()
add("cell", function(1).__closure__[0])
add("cell with text", function("x").__closure__[0])
add_by("types.CellType()", types=__import__("types"))

# ---- methods, descriptors ----
add("super", thing.method())
add("super of a class", super(Child, Child))
add("super of nothing", super(Child))
add("bound method", thing.method)
add("bound method of a class", Child.of_class)
add("bound method of a builtin", type(thing.method)(len, "x") if PYTHON3 else thing.method)
add("static", Child.static)
add("unbound method", Child.method)
add("builtin function", len)
add("builtin of a module", time.time)
add("builtin method of a list", [].append)
add("builtin method of a dict", {}.get)
add("builtin method of a class", dict.fromkeys)
add("builtin method of a file", sys.stdout.readlines)
add("builtin method of stringio", io.BytesIO().getvalue)
add("builtin method of a derived class", number.bit_length)
add("builtin method of an object", thing.__reduce__)
add("builtin method of a module's type", collections.deque().append)
add("method-wrapper", (5).__add__)
add("method-wrapper of a list", [].__len__)
add("method-wrapper of a class", thing.__str__)
add("method-wrapper of a type", Child.__call__)
add("method-wrapper of a function", function.__call__)
add("slot wrapper", int.__add__)
add("slot wrapper of object", object.__init__)
add("slot wrapper of a module's", collections.deque.__len__)
add("method descriptor", list.append)
add("method descriptor of a str", "".__class__.join)
add("classmethod descriptor", dict.__dict__["fromkeys"])
add("getset descriptor", type.__dict__["__dict__"])
add("getset descriptor of a class", Base.__dict__["__dict__"])
add("getset descriptor of a function", type(function).__dict__["__code__"])
add("member descriptor", Child.__dict__["slot"])
add("member descriptor of a slice", slice.__dict__["start"])
add("member descriptor of a module's", collections.deque.__dict__.get("maxlen"))
add("staticmethod", Base.__dict__["static"])
add("classmethod", Base.__dict__["of_class"])
add("property", property(function))
add("class", Child)
add("class of a metaclass", type("Meta", (type,), {})("OfMeta", (), {}))

# ---- iterators ----
for name, value in [("list", iter([1])), ("tuple", iter((1,))), ("dict", iter({})), ("set", iter(set())),
                    ("str", iter("x")), ("range", iter(range(3))), ("reversed", reversed([1])), ("zip", zip([1], [2])),
                    ("map", map(len, [])), ("filter", filter(None, [])), ("enumerate", enumerate([])),
                    ("callable", iter(int, 1)), ("bytearray", iter(bytearray(b"x"))), ("items", iter({}.items())),
                    ("deque", iter(collections.deque()))]:
    add("iterator of a " + name, value)
for source in ["chain([1])", "count()", "count(5)", "count(5, 2)", "count(1.5)", "count(5, 1)", "count(-3, -1)", "count(10 ** 30)",
               "count('x' and 2.5, 0.5)", "repeat('x')", "repeat('x', 3)", "repeat(0, 0)", "cycle('ab')", "islice([], 1)", "tee([])[0]",
               "groupby([])", "product('ab')", "permutations('ab')", "starmap(len, [])", "accumulate([])", "zip_longest([])",
               "pairwise('abc')"]:
    add_by(source, **vars(itertools))

# ---- modules of functions ----
add("partial", functools.partial(int, base=2))
add("partial of arguments", functools.partial(function, 1, "two"))
add("partial of both", functools.partial(print, 1, sep="-"))
add("partial of nothing", functools.partial(len))
add("partial of a partial", functools.partial(functools.partial(len)))
add_by("functools.cmp_to_key(function)")
add_by("functools.singledispatch(function)")
add("itemgetter", operator.itemgetter(1))
add("itemgetter of two", operator.itemgetter(1, "x"))
add("attrgetter", operator.attrgetter("a.b"))
add("attrgetter of two", operator.attrgetter("a", "b.c"))
add("methodcaller", operator.methodcaller("f"))
add("methodcaller with arguments", operator.methodcaller("f", 1, key="x"))

# ---- collections ----
add("defaultdict", collections.defaultdict(list, {1: []}))
add("defaultdict of nothing", collections.defaultdict(None, {"a": 1}))
add("defaultdict of a function", collections.defaultdict(function))
add("namedtuple", collections.namedtuple("Named", "left right")(1, "x"))
add("deque", collections.deque([1, 2], 3))
add_by("types.SimpleNamespace()", types=__import__("types"))
add_by("types.SimpleNamespace(b=1, a='x')", types=__import__("types"))
add_by("types.MappingProxyType({'a': 1})", types=__import__("types"))
add_by("list[int]")
add_by("dict[str, list[int]]")
add_by("tuple[int, ...]")
add_by("tuple[()]")
add_by("collections.deque[Base]")
add_by("int | str")
add_by("int | None")
add_by("list[int] | Base")
add("array of doubles", array.array("d", [1.5, -2.0]))
add("array of floats", array.array("f", [0.1]))
add("array of ints", array.array("i", [1, -2]))
add("array of bytes", array.array("B", [200]))
add("array of longs", array.array("l", [-5]))
add("array of nothing", array.array("h"))
add("array of characters", array.array("u", u"ab\u00fc"))
add_by("array.array('q', [-2 ** 63])")
add_by("array.array('Q', [2 ** 64 - 1])")
add_by("array.array('c', 'text')")
add("struct", struct.Struct("<i"))

# ---- structs with names ----
for source in ["sys.version_info", "sys.float_info", "sys.hash_info", "sys.thread_info", "sys.int_info",
               "time.gmtime(0)", "os.stat('/')", "os.times()", "os.uname()", "os.statvfs('/')",
               "__import__('resource').getrusage(0)", "__import__('pwd').getpwuid(0)", "sys.flags"]:
    add_by(source)

# ---- files ----
kept = [open(path), open(path, "rb"), open(path, "wb+"), io.open(path, "a", encoding="latin-1"), open(path, "rb", 0)]
add("text file", kept[0])
add("binary file", kept[1])
add("random file", kept[2])
add("appending file", kept[3])
add("raw file", kept[4])
add("buffered writer", kept[3].buffer)
add("stdout", sys.stdout)
add("stderr", sys.stderr)
add("file by number", io.open(os.dup(0), "rb"))
if PYTHON3:
    add("raw of a buffered one", kept[3].buffer.raw)
    add("raw file by number", io.FileIO(0, closefd=False))
    closed = io.open(path, "rb", 0)
    closed.close()
    add("closed raw file", closed)
closed_text = open(path)
closed_text.close()
add("closed text file", closed_text)
add("bytesio", io.BytesIO(b"x"))
add("stringio", io.StringIO(u"x"))

# ---- threads ----
held = threading.Lock()
held.acquire()
rlock_held = threading.RLock()
rlock_held.acquire()
rlock_held.acquire()
add("lock", threading.Lock())
add("lock that is held", held)
if PYTHON3:
    add("rlock", threading.RLock())
    add("rlock that is held", rlock_held)
add("local", threading.local())
add_by("__import__('contextvars').ContextVar('name')")
add_by("__import__('contextvars').ContextVar('name', default=[1])")
add_by("__import__('contextvars').copy_context()")
add_by("__import__('contextvars').ContextVar('name').set(5)")

# ---- others ----
def target():
    pass


add("weakref", weakref.ref(thing))
add("weakref to a function", weakref.ref(target))
add("weakref to a class", weakref.ref(Child))

add("match", re.match("(a+)b", "aaab"))
add("match of bytes", re.search(b"b+", b"aabbcc"))
add("match in the middle", re.compile(u"\u51fd").search(u"x\u51fd"))
add("capsule", getattr(__import__("datetime"), "datetime_CAPI", None))
add("capsule of sockets", getattr(__import__("_socket"), "CAPI", None))
add("notimplemented", NotImplemented)
add("slice", slice(1))
add("module", re)
add("type of none", type(None))
add("exception", ValueError("one"))
add("exceptions", [KeyError(), OSError(2, "No such file"), StopIteration(1)])
add("object", object())


def tasks():
    """From 3.6 on."""
    made = {}
    exec("async def coroutine(): pass\nasync def asynchronous(): yield 1", made)
    coroutine, asynchronous = made["coroutine"](), made["asynchronous"]()
    add("coroutine awaited", coroutine.__await__())
    add("async generator's step", asynchronous.__anext__())
    add("async generator's throw", asynchronous.athrow(ValueError))


if PYTHON3:
    tasks()


def hold(at, said):
    name, value = objects[at]
    said[name] = repr(value)
    if at + 1 < len(objects):
        return hold(at + 1, said)
    witness.promise(said=said)
    witness.die()


hold(0, {})
