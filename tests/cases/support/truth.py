"""What the interpreter itself said of its stacks (programs/witness.py), ready to compare."""
import re

FRAME = re.compile(r'  File "(.*)", line (\d+|\?\?\?) in (.*)$')
THREAD = re.compile(r"(?:Current thread|Thread) 0x([0-9a-f]+) ")
FAULTHANDLER_FRAMES = 100
FAULTHANDLER_CHARACTERS = 500

# What UTF-8 or a C string cannot hold: a run of it may be shown as U+FFFD or escaped.
UNPRINTABLE = re.compile(r"(?:\\u(?:d[89a-f][0-9a-f]{2}|fffd)|\\x00)+")


def escaped(text):
    """As faulthandler writes names (CPython Python/traceback.c, _Py_DumpASCII)."""
    out = []
    for character in text[:FAULTHANDLER_CHARACTERS]:
        code = ord(character)
        if 32 <= code <= 126:
            out.append(character)
        else:
            out.append("\\x%02x" % code if code <= 0xff else
                       "\\u%04x" % code if code <= 0xffff else "\\U%08x" % code)
    return UNPRINTABLE.sub(r"\\ufffd", "".join(out)) + (
        "..." if len(text) > FAULTHANDLER_CHARACTERS else "")


def parse_faulthandler(text):
    """{thread ident: [(file, line, name), ...]}, without the frame that called faulthandler."""
    stacks: dict = {}
    stack = None
    for line in UNPRINTABLE.sub(r"\\ufffd", text).splitlines():
        found = THREAD.match(line)
        if found:
            stack = stacks.setdefault(int(found.group(1), 16), [])
            continue
        found = FRAME.match(line)
        # "???": faulthandler comes upon 3.13's __init__ shim, and goes no further.
        if found and found.group(2) != "???" and (stack or found.group(3) != "testify"):
            stack.append((found.group(1), int(found.group(2)), found.group(3)))
    return stacks


def stacks(core):
    """{ident: [(file, line, name), ...]} with names escaped as faulthandler does.

    From frame objects where the program asked for them, else from faulthandler.
    """
    said = parse_faulthandler(core.faulthandler_text)
    truth = core.truth
    if "stacks" not in truth:
        return said
    result = {}
    for ident, frames in truth["stacks"].items():
        stack = [key_of(frame) for frame in frames]
        # faulthandler stops at 100 frames, and at 3.13's __init__ shim.
        heard = said[int(ident)][:FAULTHANDLER_FRAMES - 1]
        assert stack[:len(heard)] == heard, "the two witnesses disagree"
        result[int(ident)] = stack
    outer = truth.get("outer")
    if outer:
        stack = result[truth["dying"]]
        lost = [key_of(frame) for frame in outer]
        if stack[-1] != lost[-1]:  # the chain of f_back ends early: 3.9 throw()
            result[truth["dying"]] = stack + lost
    return result


def is_chain_cut(core):
    """Whether the interpreter's own chain lacks its outer frames (3.9, early 3.10 throw())."""
    outer = core.truth.get("outer")
    return bool(outer) and key_of(core.truth["stacks"][str(core.truth["dying"])][-1]) != key_of(outer[-1])


def key_of(frame):
    return escaped(frame["file"]), frame["line"], escaped(frame["name"])


def key_of_json(frame):
    """The same of a frame in our JSON. A name that is not known stays None."""
    return (None if frame["file"] is None else escaped(frame["file"]), frame["line"],
            None if frame["name"] is None else escaped(frame["name"]))


def flat_exception(exception):
    """The exception and its chain in the shape of the truth."""
    return [{
        "type": one["type"], "message": one["message"], "link": one.get("link"),
        "traceback": [[place["name"], place["line"]] for place in one["traceback"]],
        "cut": one["traceback_cut"]} for one in [exception] + exception["chain"]]
