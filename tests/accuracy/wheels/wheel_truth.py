"""What is known of a frame without pystack-core: from symbols and strings, and from sources."""
import functools
import os
import re
import subprocess
from pathlib import Path


class Module:
    """An extension: its bytes, its functions' symbols, and whose code it holds."""

    def __init__(self, path):
        self.bytes = Path(path).read_bytes()
        self.symbols = set()
        listed = subprocess.run(["nm", "--defined-only", path], text=True, capture_output=True,
                                check=False).stdout
        for line in listed.splitlines():
            kind, _, symbol = line.partition(" ")[2].partition(" ")
            if kind in "tT":
                self.symbols.add(symbol)
        self.cython = b"cython_runtime" in self.bytes
        self.mypyc = any(symbol.startswith("CPyDef_") for symbol in self.symbols) or (
            b"__mypyc" in self.bytes and b"PyTraceBack_Here" in self.bytes)
        self.named = any(symbol.startswith(("__pyx_p", "__pyx_f", "_ZL", "CPyDef_"))
                         for symbol in self.symbols)


@functools.lru_cache(None)
def module_of(path):
    try:
        return Module(path)
    except OSError:
        return None


def leaf_of(function):
    return re.sub(r" ?\[.*\]$", "", function).split(".")[-1]


SPECIAL = {"<lambda>": b"lambda", "<genexpr>": b"genexpr", "<module>": b"PyInit_",
           "<generator>": b"generator"}


def name_is_true(frame, module):
    """The linker's name ends in the function's; without one, the file holds the name's text."""
    leaf = leaf_of(frame["function"])
    if leaf in SPECIAL:
        return SPECIAL[leaf] in module.bytes
    symbol = frame["symbol"]
    if (not symbol or frame["inlined"]) and leaf.startswith("__") and "." in frame["function"]:
        # A slot has a number, no name; its type has one.
        return frame["function"].split(".")[-2].encode() in module.bytes
    if not symbol or frame["inlined"]:
        # Also of a symbol: '_' and digits come in front of it, not a NUL.
        return leaf.split("/")[0].split(" ")[0].encode() in module.bytes
    plain = re.sub(r"(\.(constprop|isra|part|cold|lto_priv|_omp_fn|localalias)(\.\d+)?)+$", "", symbol)
    if "__pyx_gb_" in plain:
        return "generator" in plain
    if re.match(r"(_ZL\d+)?__pyx_(tp|sq|mp|nb|bf|am|getprop|setprop)_", plain):
        return True
    if plain.startswith("_Z"):
        return leaf in plain
    return plain.endswith(leaf.lstrip("_")) or leaf.strip("_") in plain


FUNCTION = re.compile(
    r"^\s*(?:async\s+)?(?:def|cdef|cpdef|property|class)\b(?P<rest>.*)$")


@functools.lru_cache(None)
def functions_of(path):
    """(indent, first line, last line, name) of each function in a .pyx file."""
    text = Path(path).read_text(errors="replace").split("\n")
    found, code = [], []
    quotes = None
    for number, line in enumerate(text, 1):
        inside = quotes
        for mark in re.findall(r'"""|\'\'\'', line):
            quotes = None if quotes == mark else quotes or mark
        stripped = line.strip()
        if inside or not stripped or stripped.startswith("#"):
            continue
        code.append((len(line) - len(line.lstrip()), number, stripped))
    for index, (indent, number, stripped) in enumerate(code):
        match = FUNCTION.match(stripped)
        head = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)?\(", match.group("rest")) if match else None
        if not head:
            continue
        last, depth = number, 0
        for other, at, body in code[index:]:
            if at > number and other <= indent and depth <= 0 and not body.startswith(")"):
                break
            depth += body.count("(") + body.count("[") - body.count(")") - body.count("]")
            last = at
        found.append((number, last, head.group(1)))
    return found


def line_is_true(frame):
    """Whether the line is inside a function of that name; None when that can not be told."""
    path = frame["file"]
    if not path or not path.startswith("/") or not os.path.exists(path):
        return None
    leaf = leaf_of(frame["function"])
    if leaf.startswith("<") or "/" in leaf or " " in leaf:
        return None
    names = {leaf}
    if leaf in ("__get__", "__set__"):
        names.add(frame["function"].split(".")[-2])
    functions = functions_of(path)
    if not names & {name for _, _, name in functions}:
        return None
    # Decorators and arguments count as part of it.
    return any(name in names and first - 3 <= frame["line"] <= last + 1
               for first, last, name in functions)
