"""What a call of a C library within the module returns is no failure of Python's, though the program makes one of it."""
import os
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters

MODULE = '''
cdef extern from *:
    """
    int library_call(int number);
    """
    int library_call(int number) nogil
    int checked_call "library_call"(int number) except -1


cdef object make_error(int number):
    return ValueError(number)


def without_gil(int number):
    cdef int error
    with nogil:
        error = library_call(number)  # without_gil
    if error < 0:
        raise make_error(error)


def checked(int number):
    checked_call(number)  # checked
    return make_error(number)
'''
LIBRARY = """
#include <stdlib.h>
static void stop(int number) { if (number) abort(); }
static void (*volatile callback)(int) = stop;
int library_call(int number) { callback(number); return number - 2; }
"""
LINES = {text.split("# ")[1]: number for number, text in enumerate(MODULE.splitlines(), 1) if "  # " in text}


def make_core(system, way, optimized):
    for tool in ("cython3", "python3-config"):
        if shutil.which(tool, path="/usr/bin") is None:
            pytest.skip("no /usr/bin/%s here" % tool)

    def shell(folder, *command):
        return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout.decode()

    def make(folder):
        for name, text in (("foreign.pyx", MODULE), ("library.c", LIBRARY)):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        includes = shell(folder, "/usr/bin/python3-config", "--includes").split()
        shell(folder, "/usr/bin/cython3", "-3", "foreign.pyx")
        shell(folder, "cc", optimized, "-g0", "-s", "-w", "-shared", "-fPIC", *includes, "-o", "foreign.so", "foreign.c",
              "library.c")
        for name in ("foreign.c", "foreign.pyx"):
            os.remove(os.path.join(folder, name))
        cores.run_to_core([system.path, "-s", "-c", "import sys; sys.path.insert(0, '.'); import foreign; foreign.%s(1)" % way],
                          folder, {"PATH": "/usr/bin:/bin"})

    key = cores.digest(__file__, system.path, os.stat(system.path).st_mtime_ns)
    return os.path.join(cores.made_once("cython-foreign-%s%s" % (way, optimized), key, make), "core")


@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
@pytest.mark.parametrize("way", ["without_gil", "checked"])
def test_errors_of_a_library(system, way, optimized):
    assert interpreters.find_system()
    document = analyzer.json_of(make_core(system, way, optimized)).json
    frame = next(frame for frame in document["threads"][0]["frames"] if frame["kind"] == "cython")
    assert frame["function"] == way
    if way == "checked":
        assert (frame["line"], frame["line_source"]) == (LINES[way], "machine-code")
    else:
        assert frame["line"] == LINES[way] or frame["line_source"] == "estimate"
