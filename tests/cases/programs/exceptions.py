# Dies while one exception is raised and others are handled; another thread waits in its handler.
import ctypes
import sys
import threading
import traceback

import witness


class OwnError(Exception):
    """Its message is that of its arguments."""


def describe(error):
    """As printing a traceback goes through them."""
    chain, link = [], None
    while error is not None:
        chain.append({
            "type": (type(error).__module__ + "." if type(error).__module__ != "builtins" else "") +
            type(error).__qualname__,
            "message": str(error),
            "link": link,
            "traceback": [[entry.name, entry.lineno] for entry in
                          traceback.extract_tb(error.__traceback__)],
        })
        if error.__cause__ is not None:
            error, link = error.__cause__, "cause"
        elif error.__context__ is not None and not error.__suppress_context__:
            error, link = error.__context__, "context"
        else:
            error = None
    return chain


def worker(ready):
    try:
        open("/nonexistent/file")
    except OSError as error:
        witness.promise(worker=threading.get_ident(), waiting=describe(error))
        ready.set()
        threading.Event().wait()


def capsule():
    """An object whose end is the end: as C code that frees it sees the error that is raised."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    abort = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p)
    return new(1, None, abort)


def fails(depth):
    if depth:
        fails(depth - 1)
    {}["missing"]


def recurses(depth):
    if depth == 0:
        raise OwnError("deep", 300)
    recurses(depth - 1)


def handles():
    try:
        try:
            fails(3)
        except KeyError as first:
            raise OwnError("one argument") from first
    except OwnError:
        try:
            int("five")
        except ValueError as error:
            witness.promise(handled=describe(error))
            in_generator()


def generator():
    try:
        raise RuntimeError()
    except RuntimeError as error:
        witness.promise(in_generator=[describe(error)[0]])
        yield 1
        yield last()


def in_generator():
    running = generator()
    next(running)
    next(running)


def last():
    try:
        recurses(300)
    except OwnError as error:
        witness.promise(newest=describe(error))
        witness.testify()
        [capsule(), fails(1)]


sys.setrecursionlimit(2000)
ready = threading.Event()
threading.Thread(target=worker, args=(ready,), daemon=True).start()
ready.wait()
handles()
