"""The JSON document of a trace, taken in as it comes: a recursion has millions of frames.

Each frame stands on a line of its own, and begins with its location in the code, which many frames share.
"""
import json

_FRAME, _OWN = b'{"kind":', b',"pc":'
_decode = json.JSONDecoder().raw_decode


class Record:
    """A frame, as a dict has it."""
    __slots__ = ("location", "own")

    def __init__(self, location, own):
        self.location, self.own = location, own

    def __getitem__(self, name):
        return self.own[name] if name in self.own else self.location[name]

    def get(self, name, otherwise=None):
        return self.own.get(name, self.location.get(name, otherwise))


class Native:
    """What most frames have of their own; they are many."""
    __slots__ = ("location", "pc", "sp", "hidden", "trust")
    OWN = {"pc", "sp", "hidden", "trust"}

    def __init__(self, location, own):
        self.location = location
        self.pc, self.sp, self.hidden, self.trust = own["pc"], own["sp"], own["hidden"], own["trust"]

    def __getitem__(self, name):
        return getattr(self, name) if name in self.OWN else self.location[name]

    def get(self, name, otherwise=None):
        return getattr(self, name) if name in self.OWN else self.location.get(name, otherwise)


class Reader:
    """Takes the document piece by piece; threads[].frames are lists of records."""

    def __init__(self):
        self.rest = b""
        self.skeleton = []  # the document without its frames
        self.frames = []    # one list for each thread
        self.locations = {}

    def feed(self, piece):
        lines = (self.rest + piece).split(b"\n")
        self.rest = lines.pop()
        for line in lines:
            self.take(line)

    def take(self, line):
        at = line.find(_OWN) if line.startswith(_FRAME) else -1
        if at < 0:
            self.skeleton.append(line)
            if line.endswith(b'"frames":['):  # which list it is stands in its place
                self.skeleton.append(b"%d" % len(self.frames))
                self.frames.append([])
            return
        start = line[:at]
        location = self.locations.get(start)
        if location is None:
            location = self.locations[start] = json.loads(start.decode("utf-8", "relocation") + "}")
        text = "{" + line[at + 1:].decode("utf-8", "relocation")
        own, end = _decode(text)
        self.frames[-1].append((Native if len(own) == len(Native.OWN) else Record)(location, own))
        self.skeleton.append(text[end:].lstrip(",").encode())

    def document(self):
        self.take(self.rest)
        document = json.loads(b"".join(self.skeleton).decode("utf-8", "relocation"))
        for thread in document["threads"]:
            if thread["frames"][:1] and isinstance(thread["frames"][0], int):
                thread["frames"] = self.frames[thread["frames"][0]]
        return document


def parse(text):
    reader = Reader()
    reader.feed(text.encode())
    return reader.document()
