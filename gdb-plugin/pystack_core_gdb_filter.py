"""gdb's own backtrace with the Python and Cython frames in place.

A frame filter: `bt -no-filters' shows the old, `disable frame-filter global pystack-core' switches it
off. The interpreter's frames are elided under the frame that stands for them; `bt -hide' leaves them out.
"""
from typing import Any, Dict, List, Optional, Tuple

import gdb
from gdb.FrameDecorator import FrameDecorator

import pystack_core_frames as frames
from pystack_core_gdb_target import read_register

NAME = "pystack-core"


class Holder(FrameDecorator):
    """A frame, and after it those of the interpreter's machinery that it stands for."""

    def __init__(self, base):
        super().__init__(base)
        self.machinery = []

    def function(self):
        # gdb prints nothing for an address that no symbol covers.
        return super().function() if self.inferior_frame().name() else "??"

    def elided(self):
        below = super().elided()
        return (list(below or []) + self.machinery) or None


class PythonFrame(Holder):
    """A frame of Python; gdb's frame is that of the evaluator which runs it."""

    def __init__(self, base, record):
        super().__init__(base)
        self.record = record

    def function(self):
        return frames.escape(self.record["function"] or "??")

    def filename(self):
        return frames.escape(self.record["file"]) if self.record["file"] else None

    def line(self):
        return self.record["line"]

    def address(self):
        return None

    def frame_args(self):
        return None

    def frame_locals(self):
        return None


class CythonFrame(Holder):
    """gdb's frame of a Cython function, by its name and line in the .pyx file."""

    def __init__(self, base, record):
        super().__init__(base)
        self.record = record

    def function(self):
        return frames.escape(self.record["function"] or "") or super().function()

    def filename(self):
        return frames.escape(self.record["file"]) if self.record["file"] else super().filename()

    def line(self):
        return self.record["line"] if self.record["file"] else super().line()


class Merge:
    """Goes along gdb's frames and the merged stack's records at the same time."""

    def __init__(self, records):
        self.records = records
        self.next = 0
        self.found: Tuple[Any, Optional[int]] = (None, None)  # the last (pc, sp) that was found, and its index
        self.indices: Dict[Tuple[int, int], List[int]] = {}
        for index, record in enumerate(records):
            if record["pc"]:
                address = (frames.address(record["pc"]), frames.address(record["sp"]))
                self.indices.setdefault(address, []).append(index)

    def find(self, frame):
        """The index of the record of gdb's frame, or None."""
        try:
            address = (frame.pc(), read_register(frame, "rsp"))
        except (gdb.error, ValueError):
            return None
        for index in self.indices.get(address, []):
            if index >= self.next:
                self.found = (address, index)
                return index
        # gdb knows more calls that were inlined here than the merged stack does.
        return self.found[1] if self.found[0] == address else None

    def is_machinery(self, frame, index):
        if index is not None:
            return self.records[index]["hidden"]
        # A tail call is not on the stack: gdb has made it out of the frame that follows outward.
        return frame.type() == gdb.TAILCALL_FRAME and self.next < len(self.records) \
            and self.records[self.next]["hidden"]

    def take_python_frames(self, base, end=None):
        """Those from the next record on, up to a native one or to end."""
        taken = []
        while self.next < len(self.records) and self.next != end:
            record = self.records[self.next]
            if end is None and record["pc"]:
                break
            if record["kind"] == "python" and not record["hidden"]:
                taken.append(PythonFrame(base, record))
            self.next += 1
        return taken

    def decorate(self, iterator):
        held = None
        for decorator in iterator:
            frame = decorator.inferior_frame()
            index = self.find(frame)
            is_machinery = self.is_machinery(frame, index)
            shown = []
            if index is not None:
                if index > self.next:  # native frames that gdb does not have
                    shown = self.take_python_frames(frame, index)
                self.next = max(self.next, index + 1)
            if not is_machinery:
                is_cython = index is not None and self.records[index]["kind"] == "cython"
                shown.append(CythonFrame(decorator, self.records[index]) if is_cython else Holder(decorator))
            if index is not None:
                # The Python frames that an evaluator runs come next outward; the first stands for it.
                shown += self.take_python_frames(frame)
            if is_machinery and not shown and held is None:
                shown = [Holder(decorator)]
            elif is_machinery:
                (shown[0] if shown else held).machinery.append(decorator)
            for one in shown:
                if held is not None:
                    yield held
                held = one
        if held is not None:
            yield held


class Filter:
    """What gdb.frame_filters wants. get_stack() gives the merged stack of the selected thread."""

    def __init__(self, get_stack):
        self.name = NAME
        self.priority = 50
        self.enabled = True
        self.get_stack = get_stack

    def filter(self, iterator):
        try:
            stack = self.get_stack()
        except Exception:  # gdb's own backtrace must come whatever is wrong with ours
            return iterator
        if not any(record["kind"] in ("python", "cython") for record in stack.records):
            return iterator
        return Merge(stack.records).decorate(iterator)


def register(get_stack):
    gdb.frame_filters[NAME] = Filter(get_stack)
