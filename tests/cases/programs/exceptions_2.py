# Python 2.7: dies while one exception is raised and others were caught further out.
import ctypes
import sys
import threading
import traceback

import witness


class OwnError(Exception):
    pass


class OldError:
    """Before 2.5 all exceptions were of such classes; they can still be raised."""


def describe():
    kind, error, trace = sys.exc_info()
    name = kind.__name__ if kind.__module__ == "exceptions" else "%s.%s" % (kind.__module__, kind.__name__)
    return {"type": name, "message": str(error),
            "traceback": [[entry[2], entry[1]] for entry in traceback.extract_tb(trace)]}


def capsule():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    abort = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p)
    return new(1, None, abort)


def fails(depth):
    if depth:
        fails(depth - 1)
    {}["missing"]


def worker(ready):
    try:
        open("/nonexistent/file")
    except IOError:
        witness.promise(worker=threading.get_ident(), waiting=describe())
        ready.set()
        threading.Event().wait()


def outer():
    try:
        fails(3)
    except KeyError:
        witness.promise(outer=describe())
        inner()


def inner():
    try:
        raise OwnError("one", 2)
    except OwnError:
        witness.promise(inner=describe())
        last()


def last():
    witness.testify()
    int("five", [capsule(), fails(1)])


ready = threading.Event()
thread = threading.Thread(target=worker, args=(ready,))
thread.daemon = True
thread.start()
ready.wait()
outer()
