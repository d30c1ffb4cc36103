"""Finds and loads libpystack_core. Knows neither gdb nor lldb.

Works with Python 3.6 and later. Importing it never fails: without a working ctypes, and when the
library is missing or of another version, load() raises LibraryUnusable with one sentence.
"""
import glob
import os

import pystack_core_header as header

LIBRARY_NAME = "libpystack_core.so.0"


class LibraryUnusable(Exception):
    """The library cannot be used in this debugger; the message says why."""


# ---- finding ----

def _here():
    return os.path.dirname(os.path.abspath(__file__))


def _existing(candidates):
    for pattern in candidates:
        for path in sorted(glob.glob(pattern)):
            if os.path.isfile(path):
                return path
    return None


def find_library():
    """The path of the library, or its bare name, which the dynamic linker then looks for."""
    given = os.environ.get("PYSTACK_CORE_LIBRARY")
    if given:
        return given
    here = glob.escape(_here())
    folders = [here, here + "/../../lib", here + "/../../lib64", here + "/../../lib/*-linux-*",
               here + "/../build/analyzer"]
    return _existing(folder + "/" + LIBRARY_NAME for folder in folders) or LIBRARY_NAME


def find_program():
    """The path of the program pystack-core, or None."""
    given = os.environ.get("PYSTACK_CORE_PROGRAM")
    if given:
        return given
    here = glob.escape(_here())
    folders = [here, here + "/../../bin", here + "/../build/analyzer"]
    folders += [glob.escape(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    return _existing(folder + "/pystack-core" for folder in folders)


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
