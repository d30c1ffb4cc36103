# Objects of classes with a __repr__ of their own, whose text only the program's code knows; and of such as only look so.
import array
import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import http
import pathlib
import signal
import types
import typing
import uuid

import witness

objects = []


def add(name, value):
    objects.append((name, value))


def derive(base, *arguments):
    made = type("Own" + base.__name__, (base,), {"__repr__": lambda self: "OWN"})
    add("own " + base.__name__, made(*arguments))


Pair = collections.namedtuple("Pair", "a b")
for kind, given in [
        (int, (5,)), (float, (1.5,)), (str, ("x",)), (bytes, (b"x",)), (bytearray, (b"x",)), (tuple, ((1,),)), (list, ([1],)),
        (dict, ({1: 2},)), (set, ([1],)), (frozenset, ([1],)), (collections.deque, ([1],)), (collections.OrderedDict, ({1: 2},)),
        (collections.defaultdict, (list, {1: 2})), (Exception, ("x",)), (OSError, (2, "x")), (datetime.date, (2020, 1, 1)),
        (datetime.datetime, (2020, 1, 1)), (datetime.time, (1,)), (datetime.timedelta, (1,)), (decimal.Decimal, ("1",)),
        (uuid.UUID, ("00345678-1234-5678-9234-567812345678",)), (pathlib.PurePosixPath, ("/x",)), (functools.partial, (int,)),
        (types.SimpleNamespace, ()), (array.array, ("i", [1])), (staticmethod, (len,)), (super, (int, 5)), (Pair, (1, 2))]:
    derive(kind, *given)


class Mixed(object):
    def __repr__(self):
        return "OWN"


class Choice(enum.Enum):
    A = 1

    def __repr__(self):
        return "OWN"


class MixedChoice(Mixed, enum.Enum):
    A = 1


class Flags(enum.IntFlag):
    A = 1
    B = 2

    def __repr__(self):
        return "OWN"


class MixedSet(Mixed, set):
    pass


class Tuple(Pair):
    def __repr__(self):
        return "OWN"


@dataclasses.dataclass
class Data:
    x: int

    def __repr__(self):
        return "OWN"


@dataclasses.dataclass(repr=False)
class Silent:
    x: int


add("own choice", Choice.A)
add("own mixed choice", MixedChoice.A)
add("own flags", Flags.A | Flags.B)
add("own mixed set", MixedSet([1]))
add("own named tuple", Tuple(1, 2))
add("own data", Data(1))
add("own silent data", Silent(1))


# ---- known ----

@dataclasses.dataclass
class Hidden:
    x: int
    hidden: int = dataclasses.field(default=3, repr=False)
    y: int = 4


@dataclasses.dataclass
class Child(Hidden):
    z: int = 9

    def __post_init__(self):
        self.other = 1


class PlainChild(Hidden):
    pass


class Named(typing.NamedTuple):
    a: int
    b: str


class NamedChild(Named):
    pass


class Error(ValueError):
    pass


class OwnSet(set):
    pass


class Color(enum.Enum):
    RED = 1


class Time(datetime.datetime):
    pass


for number, value in enumerate([
        Hidden(1), Child(1), PlainChild(1), Named(1, "x"), NamedChild(1, "x"), Error("x"), OwnSet([1]), Color.RED, Color, signal.SIGINT,
        Time(2020, 1, 1), http.HTTPStatus.OK, type("Names", (types.SimpleNamespace,), {})(a=1)]):
    add("known %d" % number, value)


def hold(at, said):
    name, value = objects[at]
    said[name] = repr(value)
    if at + 1 < len(objects):
        return hold(at + 1, said)
    witness.promise(said=said)
    witness.die()


# list.sort() takes the items away while it sorts.
sorted_now = [3, 1, 2]
sorted_now.sort(key=lambda number: hold(0, {}))
