"""Finds and loads libpystack_core. Knows neither gdb nor lldb.

Works with Python 3.6 and later. Importing it never fails: without a working ctypes, and when the
library is missing or of another version, load() raises LibraryUnusable with one sentence.
"""
import json
import os

import pystack_core_header as header

LIBRARY_NAME = "libpystack_core.so.0"


class LibraryUnusable(Exception):
    """The library cannot be used in this debugger; the message says why."""


# ---- finding ----

def _here():
    return os.path.dirname(os.path.abspath(__file__))


def _existing(paths):
    return next((path for path in paths if os.path.isfile(path)), None)


def _folders(what):
    """Where this project's own files are: beside these, in their build tree, or below their prefix. Nowhere else:
    what is found is run by the debugger, and any user may plant a file in a folder such as /tmp/lib."""
    here = _here()
    try:
        with open(os.path.join(here, "pystack_core_places.json"), encoding="utf-8") as file:
            return [here, os.path.join(here, json.load(file)[what])]
    except OSError:  # only an install tree has it
        return [here, os.path.join(os.path.dirname(here), "build", "analyzer")]


def find_library():
    """The path of the library, or None."""
    given = os.environ.get("PYSTACK_CORE_LIBRARY")
    return given or _existing(os.path.join(folder, LIBRARY_NAME) for folder in _folders("library"))


def find_program():
    """The path of the program pystack-core, or None."""
    given = os.environ.get("PYSTACK_CORE_PROGRAM")
    return given or _existing(os.path.join(folder, "pystack-core") for folder in _folders("program"))


# ---- loading ----

_library = None


def _fits(version):
    """Major and minor number are those that these commands were written for."""
    return version.split(".")[:2] == header.VERSION.split(".")[:2]


def load():
    """The library, loaded once; raises LibraryUnusable."""
    global _library
    if _library is not None:
        return _library
    if header.ctypes is None:
        raise LibraryUnusable("this debugger's Python has no working ctypes (%s)" % header.NO_CTYPES)
    path = find_library()
    if path is None:
        raise LibraryUnusable("%s is not beside these commands; PYSTACK_CORE_LIBRARY can name it" % LIBRARY_NAME)
    try:
        library = header.ctypes.CDLL(path)
        library.psc_version.restype = header.ctypes.c_char_p
        version = library.psc_version().decode()
    except (OSError, AttributeError) as reason:
        raise LibraryUnusable("%s cannot be loaded (%s); PYSTACK_CORE_LIBRARY can name it"
                              % (path, reason)) from None
    if not _fits(version):
        raise LibraryUnusable("%s is version %s, these commands are for %s" % (path, version, header.VERSION))
    try:
        for name, (result, arguments) in header.FUNCTIONS.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except AttributeError as reason:
        raise LibraryUnusable("%s is not whole: %s" % (path, reason)) from None
    _library = library
    return library
