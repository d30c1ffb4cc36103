"""Objects of each kind that keeps memory beside its own, in several sizes, and what the allocators gave for each.

tracemalloc is the witness: each object is made by code of a file name of its own, so that all blocks that were given meanwhile, and
are still there, are known with their sizes, whoever has asked for them. To truth.json: {name: [[objects made with it], [[domain,
bytes] of each block]]}, an object as [address, sys.getsizeof()].
"""
import array
import collections
import ctypes
import gc
import io
import json
import os
import re
import sys
import tracemalloc
import weakref
from xml.etree import ElementTree

try:
    import numpy
except ImportError:
    numpy = None

SIZES = 0, 1, 3, 7, 8, 17, 60, 65, 513, 3000, 40000
# Made before: none of their own is given for the items of what is made.
NUMBERS = [1000 + number for number in range(SIZES[-1])]
TEXTS = [sys.intern("name%d" % number) for number in range(SIZES[-1])]
PAIRS = list(zip(TEXTS, NUMBERS))
SHARED = dict.fromkeys(TEXTS)
BEFORE = {id(one) for one in NUMBERS + TEXTS + PAIRS}
BYTES_OF_BYTEARRAY = 56  # From 3.15 on they are an object (Include/cpython/bytearrayobject.h, ob_bytes_object).
utf8 = ctypes.pythonapi.PyUnicode_AsUTF8
utf8.argtypes = [ctypes.py_object]
utf8.restype = ctypes.c_void_p


class Plain(object):
    def __init__(self, count=3):
        for number in range(count):
            setattr(self, TEXTS[number], number)


class Slotted(object):
    __slots__ = "first", "second"


class OwnList(list):
    pass


class OwnDict(dict):
    pass


class OwnText(str):
    pass


class OwnBytes(bytearray):
    pass


class OwnDeque(collections.deque):
    __slots__ = ()


def grown(count):
    result = []
    for _ in NUMBERS[:count]:
        result.append(None)
    return result


def shrunk(count):
    result = [None] * (4 * count + 10)
    del result[count:]
    return result


def emptied(count):
    result = dict(PAIRS[:count])
    for name in TEXTS[:count // 2]:
        del result[name]
    return result


def one_by_one(count):
    result = set()
    for number in NUMBERS[:count]:
        result.add(number)
    return result


def cached(text):
    utf8(text)
    return text


def with_dict(one):
    vars(one)["more"] = None
    return one


def turned(count):
    result = collections.deque(NUMBERS[:count])
    for _ in NUMBERS[:count]:
        result.append(result.popleft())
    return result


def extended(count):
    result = bytearray()
    for _ in NUMBERS[:count]:
        result.append(1)
    return result


def consumed(count):
    result = bytearray(count)
    del result[:count // 2]
    return result


def tree(count):
    result = ElementTree.Element("x")
    for _ in range(4 if count else 0):  # Room for children that are not there yet has what was there before.
        result.append(LEAF)
    return result


def typed(count):
    result = array.array("d")
    for _ in NUMBERS[:count]:
        result.append(1)
    return result


LEAF = ElementTree.Element("leaf")
VALUES = {
    "list": "[None] * {0}", "list of items": "list(NUMBERS[:{0}])", "grown list": "grown({0})", "shrunk list": "shrunk({0})",
    "OwnList": "OwnList(NUMBERS[:{0}])", "tuple": "tuple(NUMBERS[:{0} + 1])",
    "dict": "dict(PAIRS[:{0}])", "dict of numbers": "dict.fromkeys(NUMBERS[:{0}])", "copied dict": "dict(SHARED)",
    "emptied dict": "emptied({0})", "OwnDict": "OwnDict(PAIRS[:{0}])",
    "defaultdict": "collections.defaultdict(None, PAIRS[:{0}])", "Counter": "collections.Counter(NUMBERS[:{0}])",
    "OrderedDict": "collections.OrderedDict(PAIRS[:{0}])",
    "set": "set(NUMBERS[:{0}])", "grown set": "one_by_one({0})", "frozenset": "frozenset(NUMBERS[:{0} + 1])",
    "str": "X * ({0} + 2)", "latin": "chr(233) * ({0} + 2)", "wide": "chr(8364) * ({0} + 2)", "widest": "chr(128512) * ({0} + 2)",
    "utf-8 of latin": "cached(chr(233) * ({0} + 2))", "utf-8 of wide": "cached(chr(8364) * ({0} + 2))",
    "utf-8 of widest": "cached(chr(128512) * ({0} + 2))", "OwnText": "OwnText('y' * {0})",
    "utf-8 of OwnText": "cached(OwnText(chr(233) * {0}))",
    "bytes": "B * ({0} + 2)", "bytearray": "bytearray({0})", "grown bytearray": "extended({0})",
    "consumed bytearray": "consumed({0})", "OwnBytes": "OwnBytes({0})",
    "deque": "collections.deque(NUMBERS[:{0}])", "turned deque": "turned({0})", "OwnDeque": "OwnDeque(NUMBERS[:{0}])",
    "array": "array.array('i', NUMBERS[:{0}])", "grown array": "typed({0})",
    "int": "ONE << (8 * {0} + 40)", "memoryview": "memoryview(SOME)", "tree": "tree({0})", "BytesIO": "io.BytesIO(B * ({0} + 2))",
    "instance": "Plain(min({0}, 25))", "large instance": "Plain(min({0}, 250))",
    "instance with a dict": "with_dict(Plain(min({0}, 25)))",
    "slots": "Slotted()", "class": "type('Made', (), SPACE)",
}
if numpy:
    VALUES.update({
        "numpy": "numpy.zeros({0} + 1)", "numpy bytes": "numpy.ones({0} + 1, 'u1')", "numpy of objects": "numpy.full({0} + 1, None)",
        "numpy of 3": "numpy.ones((2, {0} + 1, 3), 'i2')", "numpy in another order": "numpy.ones(({0} + 1, 5), order='F')",
        "view": "MATRIX[::2]", "numpy of texts": "numpy.full({0} + 1, 'abc')"})
    MATRIX = numpy.ones((4, 5))
SOME = b"x" * 1000
# No constants, which the compiler works out.
X, B, ONE = "x", b"x", 1
SPACE = {"__slots__": ()}
made = {}
names = []


def find_parts(one, name):
    """It and what was made with it."""
    found, todo = {}, [one]
    while todo:
        next_one = todo.pop()
        if id(next_one) in found or id(next_one) in BEFORE:
            continue
        trace = tracemalloc.get_object_traceback(next_one)
        if next_one is one or (trace and any(frame.filename == name for frame in trace)):
            found[id(next_one)] = next_one
            todo.extend(gc.get_referents(next_one))
            if isinstance(next_one, type):
                todo.extend(weakref.getweakrefs(next_one))
            elif isinstance(next_one, io.BytesIO):
                todo.append(next_one.getvalue())  # That very object; up to 3.11 the collector is not told of it.
            elif isinstance(next_one, bytearray) and sys.version_info >= (3, 15):
                todo.append(ctypes.py_object.from_address(id(next_one) + BYTES_OF_BYTEARRAY).value)
            elif numpy and isinstance(next_one, numpy.ndarray):
                todo.append(next_one.dtype)
    return list(found.values())


def main():
    tracemalloc.start(3)
    for kind, expression in sorted(VALUES.items()):
        for size in SIZES if "{" in expression else SIZES[-1:]:
            for turn in range(2):
                name = "<%s %d %d>" % (kind, size, turn)
                code = compile(expression.format(size), name, "eval")
                gc.freeze()
                gc.collect()  # This empties the free lists.
                made[name] = eval(code, globals())
                names.append(name)
    for helper in grown, shrunk, emptied, one_by_one, turned, extended, consumed, tree, typed, Plain:
        helper(1)  # Up to 3.10 code keeps a frame, which counts to who used it last.
    with_dict(cached(OwnText("z")))
    collections.Counter([1])
    taken = tracemalloc.take_snapshot()
    blocks = {name: [] for name in names}
    for domain, size, frames, *_ in taken.traces._traces:
        for name in {frame[0] for frame in frames if frame[0] in blocks}:
            blocks[name].append([domain, size])
    # Among the classes derived from its base its address is the key, in one digit or two.
    derived = blocks["<class %d 1>" % SIZES[-1]]
    derived.remove([0, 32] if [0, 32] in derived else [0, 28])
    found = {name: [[(hex(id(part)), sys.getsizeof(part)) for part in find_parts(made[name], name)], blocks[name]]
             for name in names if not name.endswith(" 0>")}
    with open("truth.json", "w") as file:
        json.dump(found, file)


drained = [[collections.deque(range(64)) for _ in range(100)], [dict(a=1) for _ in range(200)], [[1] for _ in range(200)]]
gc.disable()
main()
os.abort()
