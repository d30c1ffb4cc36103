# Values of every kind in the frames of one stack; truth.json has what repr() says of each.
import array as arrays
import collections
import datetime
import decimal
import enum
import functools
import json
import pathlib
import re
import sys
import types
import uuid
import weakref

import witness

truth = {}


class Plain(object):
    """Attributes in a __dict__."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def method(self):
        return self


class Point(object):
    def __init__(self, x, y):
        self.x = x
        self.y = y


class Slotted(object):
    __slots__ = ("alpha", "beta", "never")

    def __init__(self):
        self.alpha = 1
        self.beta = "two"


class Color(enum.Enum):
    RED = 1
    GREEN = "grün"


class Level(enum.IntEnum):
    LOW = 10


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Rights(enum.Flag):
    READ = 1
    WRITE = 2
    ADMIN = 1 << 50
    BOTH = 3
    ALL = 1 << 50 | 3


class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 4


class Both(enum.IntFlag):
    BOTH = 3


class Text(str):
    pass


class List(list):
    pass


class Number(int):
    pass


class Table(dict):
    pass


class Ordered(collections.OrderedDict):
    pass


class OwnError(ValueError):
    pass


def equal(name, value, text=None):
    """Promises that the analyzer shows the same as repr(), or else just `text`."""
    truth[name] = {"is": repr(value) if text is None else text}
    return value


def begins(name, value, text=None):
    """Promises that what the analyzer shows begins with this; by default repr() without the end."""
    truth[name] = {"begins": repr(value)[:-1] if text is None else text}
    return value


def ordered_text(name, value):
    """As 3.12 and later write it, in the order that iteration has; 32 items."""
    shown = ["%r: %r" % item for item in value.items()]
    rest = u", … %d more" % (len(shown) - 32) if len(shown) > 32 else ""
    truth[name] = {"is": "OrderedDict({%s%s})" % (", ".join(shown[:32]), rest)}


def generator():
    yield 1


def delegating():
    yield from generator()


def runs_itself(itself):
    inside_generator(itself[0])
    yield


async def coroutine():
    await Awaited()


class Awaited(object):
    def __await__(self):
        yield


async def async_generator():
    yield 1


def finish(frame_names):
    witness.promise(values=truth, order=frame_names)
    witness.die()


def numbers():
    none = equal("none", None)
    yes = equal("yes", True)
    no = equal("no", False)
    zero = equal("zero", 0)
    small = equal("small", 7)
    negative = equal("negative", -123456)
    digit = equal("digit", (1 << 30) - 1)
    two_digits = equal("two_digits", 1 << 30)
    three_digits = equal("three_digits", -(1 << 62) - 5)
    large = equal("large", 3 ** 700)
    power = equal("power", 10 ** 1200)
    huge = begins("huge", -(1 << 100000), "<int of 100001 bits, -0x")
    floats = equal("floats", [0.0, -0.0, 1.0, 0.1, -2.5, 1e15, 1e16, 123456789012345680.0, 1e-4, 1e-5,
                              5e-324, 1.7976931348623157e308, 1 / 3, 2.0 ** 70, 100.0, 1.5e300])
    strange = equal("strange", [float("inf"), float("-inf"), float("nan")])
    complexes = equal("complexes", [1j, 1 + 2j, -0.0 + 1j, complex(0.0, -0.0), 1.5 - 2.5j, 3 + 0j,
                                    complex(float("nan"), float("inf")), 1e20 + 1e-7j])
    ellipsis = equal("ellipsis", Ellipsis)
    not_implemented = equal("not_implemented", NotImplemented)
    level = equal("level", Level.LOW)
    texts()


def texts():
    empty = equal("empty", "")
    plain = equal("plain", "plain")
    quotes = equal("quotes", ["it's", 'say "x"', "both ' and \"", "back\\slash"])
    controls = equal("controls", "tab\tnew\nreturn\rnul\0bell\x07del\x7f")
    latin = equal("latin", u"fünf\x80\xa0\xad")
    wide = equal("wide", u"函数 \u2028\u202e\u3000")
    widest = equal("widest", u"\U0001f600 \U000e0001")
    surrogate = equal("surrogate", u"a\ud800\udfffb")
    long_text = equal("long_text", "x" * 5000, "'" + "x" * 400 + u"'… 4600 more")
    data = equal("data", b"bytes \x00\xff'")
    empty_data = equal("empty_data", b"")
    array = equal("array", bytearray(b"array\n"))
    empty_array = equal("empty_array", bytearray())
    derived = equal("derived", Text("derived"), "Text('derived')")
    containers()


def containers():
    empty_tuple = equal("empty_tuple", ())
    one = equal("one", (1,))
    pair = equal("pair", (1, "two"))
    numbered = equal("numbered", list(range(10)))
    many = equal("many", list(range(1000)), "[" + ", ".join(map(str, range(32))) + u", … 968 more]")
    empty_list = equal("empty_list", [])
    nested = equal("nested", [[[[1]]]])
    deep = equal("deep", [[[[[[[[1]]]]]]]], u"[[[[[[…]]]]]]")
    itself = []
    itself.append(itself)
    equal("itself", itself)
    mapping = {"a": 1, 2: (3,), None: "x"}
    mapping["self"] = mapping
    equal("mapping", mapping)
    empty_dict = equal("empty_dict", {})
    removed = {number: str(number) for number in range(20)}
    for number in range(15):
        del removed[number]
    equal("removed", removed)
    large_dict = equal("large_dict", {number: None for number in range(300)},
                       "{" + ", ".join("%d: None" % number for number in range(32)) + u", … 268 more}")
    text_dict = equal("text_dict", {"key %d" % number: number for number in range(20)})
    unique = equal("unique", {5, 6, 7})
    words = equal("words", {"one", "two", "three", "four"})
    words.discard("one")
    equal("words", words)
    empty_set = equal("empty_set", set())
    frozen = equal("frozen", frozenset([1, 2]))
    empty_frozen = equal("empty_frozen", frozenset())
    queue = equal("queue", collections.deque([1, 2, 3], maxlen=5))
    queue_rotated = collections.deque(range(200))
    for number in range(190):
        queue_rotated.popleft()
    queue_rotated.appendleft(-1)
    equal("queue_rotated", queue_rotated)
    empty_queue = equal("empty_queue", collections.deque())
    cut = equal("cut", slice(1, None, 2))
    span = equal("span", range(3, 9))
    span_step = equal("span_step", range(0, -10, -3))
    named = equal("named", collections.namedtuple("Named", "left right")(1, [2]))
    ordered = equal("ordered", collections.OrderedDict([("a", 1)]), "OrderedDict({'a': 1})")
    moved = collections.OrderedDict((letter, ord(letter)) for letter in "abcdef")
    moved.move_to_end("b")
    moved.move_to_end("e", last=False)
    del moved["c"]
    moved["c"] = -1
    moved.pop("d")
    ordered_text("moved", moved)
    longer = collections.OrderedDict((number, [number]) for number in range(5000))
    for number in range(0, 4990, 2):
        longer.move_to_end(number)
    del longer[1], longer[4999]
    ordered_text("longer", longer)
    gone = equal("gone", collections.OrderedDict(), "OrderedDict({})")
    gone["a"] = 1
    del gone["a"]
    inside = collections.OrderedDict([("x", 1), (2, moved)])
    inside["itself"] = inside
    inside.move_to_end("x")
    equal("inside", inside, "OrderedDict({2: %s, 'itself': {...}, 'x': 1})" % truth["moved"]["is"])
    own = Ordered(a=1, b=2)
    own.move_to_end("a")
    equal("own", own, "Ordered({'b': 2, 'a': 1})")
    own_note = Ordered(a=1, b=2)
    own_note.move_to_end("a")
    own_note.note = "n"
    equal("own_note", own_note, "Ordered({'b': 2, 'a': 1}, note='n')")
    ordered_keys = equal("ordered_keys", moved.keys())
    ordered_values = equal("ordered_values", moved.values())
    ordered_items = equal("ordered_items", moved.items(), "odict_items(%s)" % truth["moved"]["is"][12:-1])
    default = equal("default", collections.defaultdict(list, {1: []}))
    callables()


def callables():
    function = equal("function", generator)
    function_inner = equal("function_inner", (lambda: None))
    builtin = equal("builtin", len)
    builtin_method = equal("builtin_method", [].append)
    class_ = equal("class_", Plain)
    class_builtin = equal("class_builtin", [int, dict, ValueError, collections.deque, type])
    module_builtin = equal("module_builtin", sys)
    module_file = equal("module_file", json)
    suspended = []
    for name, made in [("at_yield", generator()), ("in_yield_from", delegating()),
                       ("in_await", coroutine())]:
        made.send(None)
        frame = getattr(made, "gi_frame", None) or made.cr_frame
        suspended.append(made)
        truth[name] = {"is": "%s, suspended at %s:%d>" % (repr(made)[:-1], __file__, frame.f_lineno)}
    at_yield, in_yield_from, in_await = suspended
    not_started = generator()
    truth["not_started"] = {"is": "%s, not started at %s:%d>" % (
        repr(not_started)[:-1], __file__, generator.__code__.co_firstlineno)}
    not_awaited = async_generator()
    truth["not_awaited"] = {"is": "%s, not started at %s:%d>" % (
        repr(not_awaited)[:-1], __file__, async_generator.__code__.co_firstlineno)}
    ended = generator()
    list(ended)
    truth["ended"] = {"is": repr(ended)[:-1] + ", ended>"}
    itself = []
    itself.append(runs_itself(itself))
    next(itself[0])


def inside_generator(runs):
    truth["runs"] = {"is": repr(runs)[:-1] + ", running>"}
    objects()


def objects():
    bare = equal("bare", object())
    nothing = equal("nothing", Plain())
    point = Point(1, [2])
    truth["point"] = {"is": repr(point)[:-1] + ": x=1, y=[2]>"}
    late = Plain(a=1)
    late.b = "two"
    truth["late"] = {"is": repr(late)[:-1] + ": a=1, b='two'>"}
    crowded = Plain()
    for number in range(40):
        setattr(crowded, "attribute_%d" % number, number)
    truth["crowded"] = {"begins": repr(crowded)[:-1] + ": attribute_0=0, attribute_1=1, "}
    deleted = Point(1, 2)
    del deleted.x
    truth["deleted"] = {"is": repr(deleted)[:-1] + ": y=2>"}
    through = Point(1, None)
    through.y = through
    truth["through"] = {"is": repr(through)[:-1] + ": x=1, y=" + repr(through) + ">"}
    with_dict = Point(1, 2)
    vars(with_dict)["z"] = 3
    truth["with_dict"] = {"is": repr(with_dict)[:-1] + ": x=1, y=2, z=3>"}
    slotted = Slotted()
    truth["slotted"] = {"is": repr(slotted)[:-1] + ": alpha=1, beta='two'>"}
    bound = Plain().method
    truth["bound"] = {"is": repr(bound)}
    member = equal("member", Color.GREEN)
    members = equal("members", list(Color))
    error = equal("error", ValueError("bad", 2))
    own_error = equal("own_error", OwnError())
    key_error = equal("key_error", KeyError("key"))
    day = equal("day", datetime.date(2024, 2, 29))
    moment = equal("moment", datetime.datetime(2024, 2, 29, 13, 5, 7, 123456))
    moment_short = equal("moment_short", datetime.datetime(1, 1, 1))
    moment_utc = equal("moment_utc", datetime.datetime(2024, 2, 29, 13, 5, tzinfo=datetime.timezone.utc))
    moment_zone = equal("moment_zone", datetime.datetime(
        2024, 2, 29, 13, 5, 1, fold=1,
        tzinfo=datetime.timezone(datetime.timedelta(hours=-5), "EST")),
        "datetime.datetime(2024, 2, 29, 13, 5, 1, fold=1, tzinfo=datetime.timezone("
        "datetime.timedelta(days=-1, seconds=68400), 'EST'))")  # 3.6 leaves the names out
    clock = equal("clock", datetime.time(13, 5, 7))
    clock_micro = equal("clock_micro", datetime.time(0, 0, 0, 5))
    delta = equal("delta", datetime.timedelta(days=-1, seconds=5, microseconds=7),
                  "datetime.timedelta(days=-1, seconds=5, microseconds=7)")
    delta_zero = equal("delta_zero", datetime.timedelta(0))
    part = equal("part", functools.partial(int, base=2))
    library()


def library():
    decimals = equal("decimals", [decimal.Decimal(text) for text in (
        "1.5", "-0", "0", "123", "-123.4500", "1E+5", "1E-6", "1E-7", "0.0000001", "0E-7", "0E+3", "Infinity",
        "-Infinity", "NaN", "sNaN", "1234567890123456789012345.678901234567890123456789", "10000000000000000000",
        "9999999999999999999", "1E+999999", "12E-5", "1.000000000000000000000000000000000000001")])
    identity = equal("identity", uuid.UUID("00345678-1234-5678-9234-567812345678"))
    made = [[], [""], ["."], ["/"], ["//"], ["///a"], ["//a/b"], ["a"], ["a/./b/"], ["/usr", "lib"], ["a", "/b", "c"],
            ["a", "", "b//c"], ["/", "x"], ["..", "a", "..", ".b"], [u"fünf/函数", u"\U0001f600'"], [u"\udcff"]]
    paths = [pathlib.PurePosixPath(*parts) for parts in made]
    truth["paths"] = {"is": repr([pathlib.PurePosixPath(*parts) for parts in made])}
    paths_asked = equal("paths_asked", [pathlib.PosixPath(*parts) for parts in made[:8]])
    paths_split = [pathlib.PosixPath(*parts) for parts in made[8:]]
    truth["paths_split"] = {"is": repr([pathlib.PosixPath(*parts) for parts in made[8:]])}
    for path in paths_split:
        path.name
    paths_joined = [path / "x" for path in paths_split]
    truth["paths_joined"] = {"is": repr([path / "x" for path in paths_split])}
    long_path = equal("long_path", pathlib.PurePosixPath("x" * 401), "PurePosixPath('" + "x" * 400 + u"'\u2026 1 more)")
    patterns = equal("patterns", [
        re.compile("a+"), re.compile(u"'\\d\u51fd"), re.compile(b"\\x00", re.I), re.compile("", re.X | re.M | re.S | re.I),
        re.compile("(?a)b", re.I), re.compile(b"l", re.L)])
    proxy = equal("proxy", types.MappingProxyType({"key": 1, "more": [2]}))
    class_proxy = begins("class_proxy", vars(Color), "mappingproxy({'")
    viewed = {"a": 1, "b": [2]}
    keys = equal("keys", viewed.keys())
    values = equal("values", viewed.values())
    items = equal("items", viewed.items(), "dict_items({'a': 1, 'b': [2]})")
    kept = Plain()
    reference = equal("reference", weakref.ref(kept))
    dead = equal("dead", weakref.ref(Plain()))
    view = equal("view", memoryview(b"abc"), "<memoryview B (3,): 97, 98, 99>")
    numbers_view = memoryview(arrays.array("d", [1.5, 2.5, 3.5, 4.5])).cast("B").cast("d", (2, 2))
    equal("numbers_view", numbers_view, "<memoryview d (2, 2): 1.5, 2.5, 3.5, 4.5>")
    turned_view = equal("turned_view", memoryview(arrays.array("h", [1, -2, 3, -4]))[::-2], "<memoryview h (2,): -4, -2>")
    long_view = equal("long_view", memoryview(bytes(1000)), "<memoryview B (1000,): " + "0, " * 16 + u"… 984 more>")
    released = memoryview(b"abc")
    released.release()
    equal("released", released)
    flag = equal("flag", Access.READ)
    flags = equal("flags", Access.READ | Access.WRITE)
    flags_none = equal("flags_none", Access(0))
    flags_wide = equal("flags_wide", [Rights.ALL, Rights.READ | Rights.ADMIN, Rights.ADMIN, Rights(1 << 50 | 1)])
    flags_number = equal("flags_number", [Bits.LOW | Bits.HIGH, Bits(8), Bits(13), Bits(0), Bits.HIGH])
    flags_partly = equal("flags_partly", [Bits(2), Bits(3), Both(1), Both(7)])
    if sys.version_info >= (3, 7):
        import dataclasses
        data_object = equal("data_object", dataclasses.make_dataclass("Data", ["x", "y"])(1, [2]))
    if sys.version_info >= (3, 10):
        data_slots = equal("data_slots", dataclasses.make_dataclass("Slim", ["x", "y"], slots=True)(1, [2]))
    counted = equal("counted", collections.Counter("aab"))
    noted = Text("noted")
    noted.note = [1]
    equal("noted", noted, "Text('noted', note=[1])")
    listed = List([1, 2])
    listed.itself = listed
    equal("listed", listed, "List([1, 2], itself=[...])")
    small_number = Number(5)
    small_number.unit = "m"
    equal("small_number", small_number, "Number(5, unit='m')")
    table = Table(a=1)
    table.title = "t"
    equal("table", table, "Table({'a': 1}, title='t')")
    arguments(1, 2, 3, 4, key="word", extra="more", other="still")


def arguments(first, second=2, *rest, key, default="given", **more):
    local = "later"
    first_seen = first
    del first_seen

    def inner():
        return second, key, local

    try:
        outer_cell = local

        def nested(argument):
            nested_local = outer_cell
            finish(["first", "second", "rest", "key", "default", "more", "local", "outer_cell"])
            return argument, inner

        nested(arguments)
    finally:
        inner()


numbers()
