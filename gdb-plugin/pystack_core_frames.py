"""What the debuggers' commands say of a trace: its frames one by one, its threads in a line each.

Works on the JSON document and the text of one trace and knows neither gdb nor lldb. A frame's text is
what the report has for it, so that every command shows it alike.
"""
import os
import re

_BLOCK = re.compile(r"^  (?:\x1b\[[\d;]*m)*(#\d+|--)")
_STATES = [("crashed", "crashed"), ("holds-gil", "holds the GIL"), ("waits-for-gil", "waiting for the GIL"),
           ("collecting-garbage", "collecting garbage"), ("finalizing", "finalizing"),
           ("no-python", "no Python state")]
DOT = " \u00b7 "


class Frame:
    """A frame that the report shows. number is None for a gap."""

    def __init__(self, number, record, text):
        self.number, self.record, self.text = number, record, text
        self.kind = record["kind"]
        self.pc, self.sp = address(record["pc"]), address(record["sp"])
        self.address = None  # of a Python frame: where it is in the target

    @property
    def is_native(self):
        return self.pc is not None

    def locals(self):
        """(name, value) of each local that is known, or None: nobody has looked for them."""
        found = self.record.get("locals")
        return None if found is None else [(escape(name), escape(value)) for name, value in found.items()]


def address(text):
    return int(text, 16) if text else None


def split_text(text):
    """The report of one thread: its header, the thread's heading, one text for each frame."""
    header, _, rest = text.partition("\n\n")
    heading, blocks = "", []
    for line in rest.splitlines(True):
        if _BLOCK.match(line):
            blocks.append(line)
        elif blocks:
            blocks[-1] += line
        else:
            heading += line
    return header + "\n", heading, blocks


class Stack:
    """The merged stack of one thread, innermost frame first."""

    def __init__(self, trace, color=False):
        """trace is of one thread alone."""
        document = trace.document(show_all=True)
        self.thread = document["threads"][0] if document["threads"] else {"tid": None, "frames": []}
        self.records = self.thread["frames"]  # also those that are hidden
        shown = [at for at, record in enumerate(self.records) if not record["hidden"]]
        blocks = split_text(trace.text(no_group=True, no_fold=True, color=color))[2]
        self.frames = []
        for at, text in zip(shown, blocks):
            block = _BLOCK.match(text)
            number = block.group(1) if block else "?"
            frame = Frame(int(number[1:]) if number[0] == "#" else None, self.records[at], text)
            frame.address = trace.python_frame(0, at)
            self.frames.append(frame)
        self.numbered = [frame for frame in self.frames if frame.number is not None]

    def index_of(self, pc, sp, inline_depth=0):
        """The index in records of the native frame with this pc and sp that is inlined so often, or None."""
        found = []
        for index, record in enumerate(self.records):
            if address(record["pc"]) == pc and address(record["sp"]) == sp:
                found.append(index)
            elif found:
                break
        # The debugger may know more calls that were inlined here, or fewer.
        return found[max(len(found) - 1 - inline_depth, 0)] if found else None

    def runs_python(self, index):
        """Whether records[index] is a native frame whose Python frames follow."""
        following = self.records[index + 1:index + 2]
        return bool(following) and following[0]["kind"] == "python"

    def number_at(self, index):
        """The number of the shown frame that stands for records[index]: itself, else the next outward."""
        number = 0
        for at, record in enumerate(self.records):
            if record["hidden"] or record["kind"] == "gap":
                continue
            if at >= index:
                return number
            number += 1
        return max(number - 1, 0)

    def inline_depth(self, frame):
        """How many frames share this one's pc and sp and are further out: what it is inlined into."""
        depth, seen = 0, False
        for record in self.records:
            if record is frame.record:
                seen = True
            elif seen and address(record["pc"]) == frame.pc and address(record["sp"]) == frame.sp:
                depth += 1
            elif seen:
                break
        return depth

    def current_line(self):
        """FILE:LINE of the innermost frame of Python or Cython, or ""."""
        for record in self.records:
            if not record["hidden"] and record["kind"] in ("python", "cython") and record["file"]:
                return file_and_line(record)
        return ""


def file_and_line(record):
    return record["file"] + (":%d" % record["line"] if record["line"] else "")


# ---- threads ----

def describe_states(thread):
    return [words for state, words in _STATES if state in thread["state"]]


def name_thread(thread):
    tid = str(thread["tid"]) if thread["tid"] else "with Python id %#x" % (thread["python_thread_id"] or 0)
    return tid + (' "%s"' % escape(thread["name"]) if thread["name"] else "")


def escape(text):
    """A name must not be able to drive a terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]",
                  lambda found: "\\x%02x" % ord(found.group()), text)


def name_with_file(record):
    name = escape(record["function"] or "??")
    if record["file"]:
        return "%s (%s)" % (name, escape(file_and_line(record)))
    module = os.path.basename(record["module"] or "")
    return "%s (%s)" % (name, escape(module)) if module else name


def shown_frames(thread):
    return [record for record in thread["frames"] if not record["hidden"] and record["kind"] != "gap"]


def where_is(thread):
    """The innermost frame of Python or Cython, else the innermost one; "" without frames."""
    shown = shown_frames(thread)
    of_python = [record for record in shown if record["kind"] in ("python", "cython")]
    return name_with_file((of_python or shown)[0]) if shown else ""


def thread_lines(document, label):
    """One line for each thread; label(tid) goes before it."""
    lines = []
    for thread in document["threads"]:
        parts = ["Thread " + name_thread(thread)] + describe_states(thread)
        where = where_is(thread)
        lines.append(label(thread["tid"]) + DOT.join(parts + ([where] if where else [])) + "\n")
    return lines


WAITS_SHOWN = 16


def describe_wait(wait):
    """'threading.Lock 0x7f..., held by thread 12 (likely)'; "" of the GIL, which the state tells."""
    if not wait or wait["kind"] == "gil" or not wait["object"]:
        return ""
    text = escape(wait["object"]) + (" " + wait["address"] if wait["address"] else "")
    owner = wait["owner"] or {}
    if owner.get("tid"):
        text += ", held by thread %d%s" % (owner["tid"], "" if wait["owner_certain"] else " (likely)")
    elif owner.get("text"):
        text += ", " + escape(owner["text"])
    return text + (", with a time limit" if wait["timed"] and wait["kind"] != "sleep" else "")


def wait_lines(document):
    """A line for each thread whose wait is known; of many the first ones."""
    waits = [(name_thread(thread), describe_wait(thread.get("waits_for"))) for thread in document["threads"]]
    lines = ["    %s waits for %s\n" % one for one in waits if one[1]]
    left = len(lines) - WAITS_SHOWN
    return lines[:WAITS_SHOWN] + (["    \u2026 %d more\n" % left] if left > 0 else [])


def why(header, document):
    """The cause of death, how many threads are in which state, and what they wait for."""
    groups: dict = {}
    for thread in document["threads"]:
        groups.setdefault(DOT.join(describe_states(thread)) or "alive", []).append(thread)
    lines = [header]
    for states, threads in groups.items():
        names = [name_thread(thread) for thread in threads]
        listed = ", ".join(names[:4]) + (" \u2026" if len(names) > 4 else "")
        lines.append("  %d %s %s: %s\n" % (len(threads), "thread" if len(threads) == 1 else "threads",
                                           states, listed))
        shown = shown_frames(threads[0])
        if "crashed" in threads[0]["state"] and shown:
            inner, python = name_with_file(shown[0]), where_is(threads[0])
            lines.append("    in %s%s\n" % (inner, ", below %s" % python if python != inner else ""))
    return "".join(lines + wait_lines(document))


# ---- source ----

def find_source(path, settings, folders=()):
    """Where a source file of the target is here, or None: as the library looks for it, then in folders."""
    if not path or path.startswith("<"):
        return None
    candidates = []
    for mapping in settings.source_maps:
        old, _, new = mapping.partition("=")
        if old and path.startswith(old):
            candidates.append(new + path[len(old):])
    if settings.sysroot:
        candidates.append(settings.sysroot + "/" + path)
    candidates.append(path)
    if not os.path.isabs(path):
        candidates += [os.path.join(folder, path) for folder in folders]
    return next((one for one in candidates if os.path.isfile(one)), None)


def source_lines(path, first, last, current):
    """Lines first to last of a file, numbered, the current one marked; [] behind its end."""
    lines = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if number > last:
                break
            if number >= first:
                mark = "->" if number == current else "  "
                lines.append("%s%d\t%s\n" % (mark, number, escape(line.rstrip("\r\n").expandtabs(8))))
    return lines
