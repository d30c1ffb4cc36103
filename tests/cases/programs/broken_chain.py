# Frame chains that are wrong in memory: a cycle, or a pointer to nowhere (argument).
import ctypes
import os
import signal
import sys

import witness

HOW = witness.MORE[0]


def previous_of(frame):
    """The word that links a frame to its caller (CPython's frame structures by version)."""
    if sys.version_info < (3, 11):
        return id(frame) + 24
    interpreter_frame = ctypes.c_uint64.from_address(id(frame) + 24).value
    return interpreter_frame + (48 if sys.version_info < (3, 12) else 8)


def inner():
    frame = sys._getframe()
    word = ctypes.c_uint64.from_address(previous_of(frame.f_back))
    itself = ctypes.c_uint64.from_address(previous_of(frame)).value
    word.value = itself if HOW == "cycle" else 0xdead0000beef
    os.kill(os.getpid(), signal.SIGSEGV)


def middle():
    inner()


def main():
    middle()


# Nobody can walk the chain once it is broken, so the truth stops here.
witness.promise(broken=HOW, head=["inner", "middle"])
witness.testify()
main()
