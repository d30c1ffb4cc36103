"""Frames whose values are asked for one by one: what each expression is, eval() itself says first."""
import collections
import enum
import sys

import witness

CONSTANT = {"colour": "red", 7: "seven", -3: "minus", "nested": {"list": [1, [2, 3]]}, "été": "warm",
            "it's": 'quo"ted', 2 ** 70: "huge"}
shadowed = "global"
Pair = collections.namedtuple("Pair", "left right")
expected = {}


class Base:
    inherited = "from the base"

    def method(self):
        return self


class Late:
    """A descriptor that sets what it is asked for, as functools.cached_property does."""

    def __init__(self, name):
        self.name = name

    def __get__(self, instance, owner):
        instance.__dict__[self.name] = "made"
        return "made"


class Thing(Base):
    of_class = [1, 2, 3]
    late = Late("late")
    later = Late("later")

    def __init__(self, name):
        self.name = name
        self.rows = [(1, "one"), (2, "two"), (3, "three")]
        self.table = {"key": {"deep": 42}}
        self.__private = "mangled"
        self.other = None
        self.late

    @property
    def computed(self):
        return "by code"

    def look(self, depth):
        expect(sys._getframe(), local=[
            "self.name", "self.rows[0]", "self.rows[-1][1]", "self.table['key']['deep']", "self._Thing__private",
            "self.of_class", "self.inherited", "self.other", "self.late", "depth", "self.rows [ 1 ] . __class__"])
        expected["look"]["self.__private"] = ["local", "'mangled'"]
        return deepest(self, depth)


class Slotted:
    __slots__ = ("first", "second")

    def __init__(self):
        self.first = "in a slot"


class Color(enum.Enum):
    RED = 1


class Names(dict):
    pass


def expect(frame, **scopes):
    """What eval() says in a frame of each expression."""
    names = dict(frame.f_locals)
    found = expected.setdefault(frame.f_code.co_name, {})
    for scope, expressions in scopes.items():
        for one in expressions:
            found[one] = [scope, repr(eval(one.strip(), frame.f_globals, names))]


def deepest(thing, number):
    shadowed = "local"
    pair, slotted, color, names = Pair(10, 20), Slotted(), Color.RED, Names(known="yes")
    problem = ValueError("wrong", 7)
    über = "letters"
    kind = Thing
    empty = None
    del empty
    expect(sys._getframe(), **{
        "local": ["shadowed", "number", "pair.left", "pair[1]", "slotted.first", "color._value_", "color.value", "color.name", "names['known']",
                  "problem.args", "problem.args[1]", "über", "kind.of_class", "kind.inherited", "thing.rows",
                  "  thing.name  "],
        "global": ["CONSTANT['colour']", 'CONSTANT["nested"]["list"][1][0]', "CONSTANT[7]", "CONSTANT[-3]",
                   "CONSTANT['été']", "CONSTANT['it\\'s']", "CONSTANT[%d]" % 2 ** 70, "witness.MORE",
                   "__name__"],
        "builtin": ["NotImplemented", "ValueError"]})
    witness.promise(values=expected)
    witness.die()


def make(thing):
    shared = "by both"
    untold = "seen by nobody else"

    def closure(number):
        expect(sys._getframe(), closure=["shared", "thing.name"], local=["number"], **{"global": ["shadowed"]})
        return shared and thing.look(number - 1)

    expect(sys._getframe(), closure=["shared", "thing.name"], local=["untold"])
    return closure(3)


class Body:
    in_class = "while the class is made"
    expect(sys._getframe(), local=["in_class"], **{"global": ["shadowed"]})
    make(Thing("thing"))
