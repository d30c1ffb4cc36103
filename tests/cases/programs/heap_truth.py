"""Objects of many kinds. A child that is forked right before the end writes what there is to truth.json: it has the same
memory. heap_truth.py [NUMBER of sessions]"""
import array
import collections
import ctypes
import gc
import json
import os
import sys

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 500


class Session(object):
    def __init__(self, number):
        self.number = number
        self.buffer = bytearray(100 + number % 900)
        self.rows = [str(number), number * 1000003, (number, str(number * 7))]


class Slotted(object):
    __slots__ = ("first", "second")

    def __init__(self):
        self.first = [1]
        self.second = {}


class OwnDict(dict):
    pass


class OwnList(list):
    def __init__(self):
        super().__init__([1.5, 2.5])
        self.extra = "x"


class OwnText(str):
    pass


class OwnNumber(int):
    pass


class Asked(object):
    """Whose attributes were asked for as a dict: from 3.13 on that has its values in the instance."""

    def __init__(self, number):
        self.number = number
        self.text = str(number)
        vars(self)["more"] = number


class Point(collections.namedtuple("Point", "x y")):
    __slots__ = ()


asked = [Asked(number) for number in range(100)]
live = [Session(number) for number in range(COUNT)]
kinds = {
    "slots": [Slotted() for _ in range(50)], "points": [Point(i, i * .5) for i in range(50)],
    "dicts": [OwnDict(a=i) for i in range(20)], "lists": [OwnList() for _ in range(20)],
    "texts": [OwnText("abc%d" % i) for i in range(20)], "numbers": [OwnNumber(i * 10 ** 12) for i in range(20)],
    "sets": [set(range(i)) for i in range(40)], "frozen": frozenset("abc"), "deque": collections.deque(range(1000)),
    "ordered": collections.OrderedDict((str(i), i) for i in range(100)), "array": array.array("d", range(500)),
    "large": 10 ** 500, "wide": [u"\u20ac%d" % i for i in range(50)], "latin": [u"\xe9%d" % i for i in range(50)],
    "bytes": [bytes(i) for i in range(600)], "default": collections.defaultdict(list, {i: [i] for i in range(30)}),
    "generators": [(x for x in [1, 2]) for _ in range(10)], "view": memoryview(bytearray(100)), "long": "x" * 100000,
    "taken_out": {i: str(i) for i in range(1000)},
}
for number in range(0, 1000, 2):
    del kinds["taken_out"][number]
for generator in kinds["generators"]:
    next(generator)
kinds["wide"][0].encode()


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                                     "uordblks", "fordblks", "keepcost")]


def ask_malloc():
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if not function:
        return None
    function.restype = Mallinfo
    info = function()
    return {name: getattr(info, name) for name, _ in Mallinfo._fields_}


def count_objects():
    """{type: [objects, sum of sys.getsizeof()]} of all that the collector knows, and what that leads to; and the dicts alone."""
    seen = {}
    found = {}
    dicts = {}
    todo = list(gc.get_objects())
    own = {id(seen), id(found), id(todo), id(dicts), id(sys._getframe())}
    while todo:
        one = todo.pop()
        if id(one) in seen or id(one) in own:
            continue
        seen[id(one)] = one
        todo.extend(gc.get_referents(one))
        todo.append(type(one))
    for one in seen.values():
        kind = type(one)
        name = kind.__qualname__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)
        entry = found.setdefault(name, [0, 0])
        entry[0] += 1
        try:
            entry[1] += sys.getsizeof(one)
            if kind is dict:
                dicts["0x%x" % id(one)] = sys.getsizeof(one)
        except (TypeError, ValueError):
            pass
    return found, dicts


def tell():
    malloc = ask_malloc()
    gc.disable()
    target = os.open("mallocstats.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(target, 2)
    sys._debugmallocstats()
    with open("truth.json", "w") as file:
        objects, dicts = count_objects()
        json.dump({"objects": objects, "dicts": dicts, "malloc": malloc}, file)


gc.collect()
if os.fork() == 0:
    try:
        tell()
    finally:
        os._exit(0)
os.wait()
os.abort()
