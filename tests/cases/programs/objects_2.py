# -*- coding: utf-8 -*-
# Python 2.7: values of its own kinds, old classes, methods, threads; truth.json has repr()'s word.
from __future__ import print_function

import collections
import datetime
import decimal
import json
import sys
import threading

import witness

truth = {}


class Old:
    """A class that is no type."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def method(self, after):
        return after(self)

    @classmethod
    def by_class(cls, after):
        return after(cls)


class Derived(Old):
    pass


class New(object):
    def __init__(self, x):
        self.x = x

    def method(self, after):
        return after(self)

    @staticmethod
    def static(after):
        return after(None)

    @classmethod
    def by_class(cls, after):
        return after(cls)

    @property
    def attribute(self):
        return self.method(last)


class NewDerived(New):
    pass


class Slotted(object):
    __slots__ = ("alpha", "never")


class Text(str):
    pass


class Number(int):
    pass


def equal(name, value, text=None):
    truth[name] = {"is": repr(value).decode("utf-8") if text is None else text}
    return value


def generator():
    yield 1


def values():
    none = equal("none", None)
    yes = equal("yes", True)
    no = equal("no", False)
    numbers = equal("numbers", [0, 7, -123456, sys.maxint, -sys.maxint - 1])
    longs = equal("longs", [0L, 1L, -5L, 1L << 30, -(1L << 62) - 5, 3L ** 700])
    huge = 1L << 100000
    truth["huge"] = {"begins": "<int of 100001 bits, 0x"}
    floats = equal("floats", [0.0, -0.0, 1.0, 0.1, 1e16, 1e-5, float("inf"), 5e-324])
    complexes = equal("complexes", [1j, 1 + 2j, complex(-0.0, 1.0)])
    ellipsis = equal("ellipsis", Ellipsis)
    strings = equal("strings", ["", "plain", "it's", 'say "x"', "tab\t\n\x00\xff", "gr\xc3\xbcn"])
    texts = equal("texts", [u"", u"plain", u"it's", u"f\xfcnf", u"\u51fd\u6570\u2028", u"\U0001f600",
                            u"a\ud800", u"\x00\t"])
    long_string = equal("long_string", "x" * 5000, "'" + "x" * 400 + u"'… 4600 more")
    array = equal("array", bytearray(b"array\n\xff"))
    text = equal("text", Text("derived"), "Text('derived')")
    number = equal("number", Number(5), "Number(5)")
    containers = equal("containers", [(), (1,), [], [[1L]], {}, {"a": 1}, {1: {2: u"3"}}])
    unique = equal("unique", set([1, 2, 3]))
    discarded = set(["one", "two", "three"])
    discarded.discard("two")
    equal("discarded", discarded)
    empty_set = equal("empty_set", set())
    frozen = equal("frozen", frozenset(["a"]))
    removed = {number: str(number) for number in range(50)}
    for number_ in range(45):
        del removed[number_]
    equal("removed", removed)
    large = equal("large", {number: None for number in range(300)},
                  "{" + ", ".join("%d: None" % number for number in range(32)) + u", … 268 more}")
    queue = collections.deque(range(200), maxlen=200)
    for number_ in range(190):
        queue.popleft()
    queue.appendleft(-1)
    equal("queue", queue)
    cut = equal("cut", slice(1, None, 2))
    spans = equal("spans", [xrange(3), xrange(3, 9), xrange(0, -10, -3)])
    named = equal("named", collections.namedtuple("Named", "left right")(1, [2]))
    function = equal("function", generator)
    builtin = equal("builtin", len)
    builtin_method = equal("builtin_method", [].append)
    types = equal("types", [int, long, str, unicode, dict, ValueError, New, collections.deque, type],
                  u"[<type 'int'>, <type 'long'>, <type 'str'>, <type 'unicode'>, <type 'dict'>, "
                  u"<type 'ValueError'>, <class '__main__.New'>, <type 'collections.deque'>, <type 'type'>]")
    modules = equal("modules", [sys, json])
    running = equal("running", generator())
    truth["running"] = {"begins": repr(running)[:-1] + ", not started at "}
    old_class = equal("old_class", Old)
    old = Old(a=1)
    truth["old"] = {"is": repr(old)[:-1] + ": a=1>"}
    bare = equal("bare", Old())
    point = New(1)
    truth["point"] = {"is": repr(point)[:-1] + ": x=1>"}
    nothing = equal("nothing", object())
    slotted = Slotted()
    slotted.alpha = u"two"
    truth["slotted"] = {"is": repr(slotted)[:-1] + ": alpha=u'two'>"}
    bound_old = equal("bound_old", Derived().method)
    methods = equal("methods", [New.method, Old.method])
    error = equal("error", ValueError("bad", 2))
    day = equal("day", datetime.date(2024, 2, 29))
    moment = equal("moment", datetime.datetime(2024, 2, 29, 13, 5, 7, 123456))
    clock = equal("clock", datetime.time(13, 5, 7))
    delta = equal("delta", datetime.timedelta(days=-1, seconds=5),
                  "datetime.timedelta(days=-1, seconds=5)")
    decimal_ = decimal.Decimal("1.5")
    truth["decimal_"] = {"begins": "<decimal.Decimal object at 0x"}
    arguments(1, 2, 3, 4, extra="more")


def arguments(first, second=2, *rest, **more):
    local = "later"

    def inner():
        return second, local

    witness.promise(order=["first", "second", "rest", "more", "local"])
    return Derived().method(lambda old: Old.by_class(lambda cls: methods(inner)))


def methods(after):
    return NewDerived(1).method(lambda new: NewDerived.by_class(lambda cls: New.static(named)))


def named(ignored):
    scope = {"after": after_named}
    exec(compile("def inside():\n    after()\n\n\ninside()\n", "dossier/\xc3\xa9t\xc3\xa9.py", "exec"), scope)


def after_named():
    return NewDerived(2).attribute


def last(new):
    witness.promise(values=truth)
    witness.die(deep=True)


thread = threading.Thread(target=values, name="that of 2.7")
thread.start()
thread.join()
