# Scalars, dtypes and arrays of numpy, one in each frame of a deep stack; truth.json has what repr() says of each.
import sys
import warnings

import witness

import numpy

warnings.simplefilter("ignore")
sys.setrecursionlimit(5000)
objects = []


def add(name, value, text=None):
    objects.append((name, value, text))


def add_array(name, array, dtype, items):
    """Arrays are shown in a way of their own."""
    add("array " + name, array, "<numpy.ndarray %s %s%s>" % (dtype, array.shape, ": " + ", ".join(items) if items else ""))


for kind in ("bool_", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "longlong", "ulonglong", "intc",
             "uintc", "float16", "float32", "float64", "longdouble"):
    for number in (0, 1, 100):
        add("%s %s" % (kind, number), getattr(numpy, kind)(number))
for kind in ("float16", "float32", "float64", "longdouble"):
    for number in (0.1, -1.5, 1e-5, 1e-4, 9e-5, 999.5, 1000.0, 1001.0, 65504.0, 3.14159265358979, float("inf"), float("nan"), -0.0,
                   6e-8, 1024.5, 1 / 3):
        add("%s %s" % (kind, number), getattr(numpy, kind)(number))
    if kind != "float16":
        for number in (999999.0, 1e6, 1e7, 123456.789, 8388608.0, 1e15, 1e16, 1e300 if kind != "float32" else 1e30):
            add("%s %s" % (kind, number), getattr(numpy, kind)(number))
add("third", numpy.longdouble(1) / 3)
for kind in ("complex64", "complex128", "clongdouble"):
    for number in (1 + 2j, 1 - 2j, 0.1j, 1.5 + 0j, complex(-0.0, 1), complex("nan+infj"), 0j, 1e20 + 1e-7j):
        add("%s %s" % (kind, number), getattr(numpy, kind)(number))
add("str", numpy.str_(u"x\u00fc"))
add("bytes", numpy.bytes_(b"x\0y"))
for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "3D", "10ms"):
    for number in (0, 1, -1, 12345, -1000000007, 2 ** 40):
        add("datetime64 %s %s" % (unit, number), numpy.datetime64(number, unit))
        add("timedelta64 %s %s" % (unit, number), numpy.timedelta64(number, unit))
add("no time", numpy.datetime64("NaT"))
add("no time in seconds", numpy.datetime64("NaT", "s"))
add("no difference", numpy.timedelta64("NaT"))
add("no difference in seconds", numpy.timedelta64("NaT", "s"))
add("difference without a unit", numpy.timedelta64(5))
add("void", numpy.void(b"\x00\x01x"))
add("record", numpy.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])[0])

for kind in ["f8", "f4", "f2", "i8", ">i4", "<u2", "?", "b", "B", "U2", "S3", ">U4", "O", "V8", "M8[ns]", "m8[3s]", "M8", ">M8[D]",
             "c8", "c16", "g", "G", "q", "Q", "S", "U", "V", [("a", "i4"), ("b", "f8")],
             [("a", "i4"), ("name", "U5"), ("o", "O"), ("t", "M8[s]"), ("q", "?"), ("z", "S2"), ("i1", "i1")],
             {"names": ["a", "b"], "formats": ["i4", "f8"], "offsets": [0, 16], "itemsize": 32}]:
    add("dtype %s" % (kind,), numpy.dtype(kind))
add("dtype that is aligned", numpy.dtype([("a", "i1"), ("b", "f8")], align=True))

INNER = [("x", "f8"), ("y", "i2")]
for name, kind in [("in another", [("a", "i4"), ("b", INNER)]), ("with subarrays", [("v", "f4", (3,)), ("m", "i2", (2, 2))]),
                   ("that is a subarray", ("f4", (3,))), ("of arrays of records", [("r", INNER, (2,)), ("s", [("t", [("u", "U2")])])]),
                   ("with a gap and a subarray", {"names": ["a", "v"], "formats": ["i4", ("f4", (3,))], "offsets": [0, 8]}),
                   ("with a gap inside", [("a", {"names": ["b"], "formats": ["i4"], "offsets": [4]}), ("c", "O", (2,))]),
                   ("of a subarray of records", (INNER, (2, 3)))]:
    add("dtype " + name, numpy.dtype(kind))
    if isinstance(kind, list) and "gap" not in name:
        # 1.x shows records as it shows arrays: "1.", and columns of equal width.
        value = numpy.array([tuple(numpy.ones(1, dtype=kind)[0])], dtype=kind)[0]
        add("record " + name, value, None if numpy.__version__ >= "2" else repr(value).replace(".", ".0"))
add("dtype aligned with another in it", numpy.dtype([("a", "i1"), ("b", INNER), ("c", "i1", (3,))], align=True))
if numpy.__version__ >= "2":
    add("aligned record", numpy.zeros(1, dtype=numpy.dtype([("a", "i1"), ("b", "f8")], align=True))[0])
    from numpy.dtypes import StringDType
    for kind in (StringDType(), StringDType(na_object=None), StringDType(na_object=numpy.nan, coerce=False), StringDType(na_object="x")):
        add("dtype %r" % kind, kind)
        texts = ["short", "", u"\u51fd" * 5, "m" * 16, "long" * 80] + ([kind.na_object] if hasattr(kind, "na_object") else [])
        add_array("of %r" % kind, numpy.array(texts, dtype=kind), repr(kind), [repr(text) for text in texts])

add_array("of records in records", numpy.ones(2, dtype=[("a", "i4"), ("b", INNER)]), "[('a', '<i4'), ('b', [('x', '<f8'), ('y', '<i2')])]",
          ["(1, (1.0, 1))"] * 2)
add_array("of records with arrays", numpy.arange(8, dtype="i2").view([("m", "i2", (2, 2))]), "[('m', '<i2', (2, 2))]",
          ["([[0, 1], [2, 3]],)", "([[4, 5], [6, 7]],)"])
add_array("of str", numpy.array(["ab", "c", u"\u51fd"]), "<U2", ["'ab'", "'c'", u"'\u51fd'"])
add_array("of bytes", numpy.array([b"ab", b"c"]), "|S2", ["b'ab'", "b'c'"])
add_array("of one str", numpy.array("abc"), "<U3", ["'abc'"])
add_array("turned", numpy.array([["a", "b"], ["c", "d"]]).T, "<U1", ["'a'", "'c'", "'b'", "'d'"])
add_array("big-endian", numpy.array(["ab", "c"], dtype=">U2"), ">U2", ["'ab'", "'c'"])
add_array("of moments", numpy.array(["2024-01-01", "NaT"], dtype="M8[D]"), "datetime64[D]", ["'2024-01-01'", "'NaT'"])
add_array("of differences", numpy.array([1, 2], dtype="m8[s]"), "timedelta64[s]", ["1", "2"])
add_array("of records", numpy.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")]), "[('a', '<i4'), ('b', '<f8')]",
          ["(1, 2.5)", "(3, 4.5)"])
add_array("of records with text", numpy.array([(1, b"x", "y")], dtype=[("a", ">i4"), ("b", "S2"), ("c", "U2")]),
          "[('a', '>i4'), ('b', 'S2'), ('c', '<U2')]", ["(1, b'x', 'y')"])
add_array("of long doubles", numpy.array([1.5, -2], dtype="g"), "float128", ["1.5", "-2.0"])
add_array("of halves", numpy.array([0.1, 1.5], dtype="f2"), "float16", ["0.1", "1.5"])
add_array("of bools", numpy.array([True, False]), "bool", ["True", "False"])
add_array("of nothing", numpy.zeros((0,), dtype="U3"), "<U3", [])


def hold(at, said):
    name, value, text = objects[at]
    said[name] = repr(value) if text is None else text
    if at + 1 < len(objects):
        return hold(at + 1, said)
    witness.promise(said=said)
    witness.die()


hold(0, {})
