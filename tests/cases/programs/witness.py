# Shared by the programs here: writes down what the interpreter itself says of every stack, then dies.
"""
A program is run as `python PROGRAM.py FOLDER LIBWAYS.so [MORE...]`. Just before it dies it leaves
in FOLDER
    faulthandler.txt  what faulthandler says of every thread;
    truth.json        which thread dies, what the program promises of its stacks, and (with
                      deep=True) every frame with its qualified name and position.
faulthandler alone looks at nothing but the frames themselves. deep=True asks for frame objects,
which changes the memory that the analyzer reads; so most programs do without.
"""
import ctypes
import faulthandler
import itertools
import json
import os
import sys
import threading
import time

FOLDER = sys.argv[1]
LIBWAYS = sys.argv[2]
MORE = sys.argv[3:]

promises = {}
_ways = None


def ways():
    """The C helpers (testdata/native/ways.c)."""
    global _ways
    if _ways is None:
        _ways = ctypes.CDLL(LIBWAYS)
    return _ways


def promise(**facts):
    """Facts that the test is to check, e.g. busy=[thread ids whose line may move on]."""
    promises.update(facts)


def _position(frame):
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or frame.f_lasti < 0:
        return None
    return next(itertools.islice(positions(), frame.f_lasti // 2, None), None)


def stack_of(frame):
    """Innermost first."""
    stack = []
    while frame is not None:
        code = frame.f_code
        stack.append({
            "file": code.co_filename,
            "line": frame.f_lineno,
            "name": code.co_name,
            "qualname": getattr(code, "co_qualname", None),
            "position": _position(frame),
        })
        frame = frame.f_back
    return stack


def stack_here():
    """The caller's stack: for programs that lose part of the f_back chain later (3.9 throw())."""
    return stack_of(sys._getframe(1))


def testify(deep=False, outer=None):
    """outer: the frames that the chain of f_back loses, when the interpreter is known to."""
    if threading.current_thread() is not threading.main_thread():
        _wait_until_main_rests()
    with open(os.path.join(FOLDER, "faulthandler.txt"), "w") as out:
        faulthandler.dump_traceback(out, all_threads=True)
    truth = {
        "version": sys.version.split()[0],
        "hexversion": sys.hexversion,
        "dying": threading.get_ident(),
        "main": threading.main_thread().ident,
        "names": {str(thread.ident): thread.name for thread in threading.enumerate()},
        "promises": promises,
    }
    if deep:
        truth["stacks"] = {}
        for ident, frame in sys._current_frames().items():
            if ident == threading.get_ident():
                frame = sys._getframe(1)
            truth["stacks"][str(ident)] = stack_of(frame)
    if outer is not None:
        truth["outer"] = outer
    # \u escapes: lone surrogates cannot be written as UTF-8.
    with open(os.path.join(FOLDER, "truth.json.new"), "w") as out:
        json.dump(truth, out)
    os.rename(os.path.join(FOLDER, "truth.json.new"), os.path.join(FOLDER, "truth.json"))


def die(deep=False, outer=None):
    """One line testifies and dies, so that both see the same line. memmove has no Python frame."""
    testify(deep, outer), ctypes.memmove(0, 0, 1)


def _main_switches():
    try:
        with open("/proc/self/task/%d/status" % os.getpid()) as file:
            return [line for line in file if line.startswith(("State", "voluntary", "nonvoluntary"))]
    except EnvironmentError:  # A root without /proc.
        time.sleep(1)
        return ["(sleeping)"]


def _wait_until_main_rests():
    """It may still be on its way to wait for this thread. It runs now and then while it wants the GIL."""
    before, now = None, _main_switches()
    for _ in range(300):
        if before == now and "(sleeping)" in now[0]:
            return
        time.sleep(0.1)
        before, now = now, _main_switches()
    raise RuntimeError("the main thread does not rest: %s" % now)


def _resting_threads():
    """Those but the main one that wait in the kernel, and how often they have been switched away from."""
    found = set()
    for number in set(os.listdir("/proc/self/task")) - {str(os.getpid())}:
        with open("/proc/self/task/%s/status" % number) as file:
            lines = tuple(line for line in file if line.startswith(("State", "voluntary", "nonvoluntary")))
        if "(sleeping)" in lines[0]:
            found.add((number, lines))
    return found


def wait_until_others_rest(count):
    """For the main thread: until that many others have waited for a while. Who wants the GIL wakes up now and then."""
    if not os.path.isdir("/proc/self/task"):  # A root without /proc.
        return time.sleep(1)
    before, now = set(), set()
    for _ in range(600):
        if len(before & now) >= count:
            return
        time.sleep(0.1)
        before, now = now, _resting_threads()
    raise RuntimeError("%d threads do not rest: %s" % (count, now))
