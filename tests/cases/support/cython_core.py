"""A core of testdata/cython/run.py, which dies in the extension module kern.pyx, built in many ways."""
import json
import os
import shutil
import subprocess
from typing import Dict, List, Tuple

import pytest

import cores
import interpreters

SOURCES = os.path.join(cores.SOURCE, "testdata", "cython")
# name: (flags of cython, flags of the C compiler, where lines come from)
VARIANTS: Dict[str, Tuple[List[str], List[str], str]] = {
    "O0": ([], ["-g", "-O0"], "c-file"),
    "O2": ([], ["-g", "-O2"], "c-file"),
    "O0-line": (["--line-directives"], ["-g", "-O0"], "dwarf"),
    "O2-line": (["--line-directives"], ["-g", "-O2"], "dwarf"),
    "O0-symbols": ([], ["-g0", "-O0"], "machine-code"),
    "O0-stripped": ([], ["-g0", "-O0", "-s"], "machine-code"),
    "O2-stripped": ([], ["-g0", "-O2", "-s"], "machine-code"),
    "O2-stripped-0.29.24": ([], ["-g0", "-O2", "-s"], "machine-code"),
}
# Not one of those: what it was made from lies elsewhere when it dies.
MOVED: Tuple[List[str], List[str], None] = ["--gdb"], ["-g", "-O2"], None
MOVED_TO = {"kern.c": "c/deep/kern.c", "cython_debug": "xml/cython_debug", "kern.pyx": "pyx/kern.pyx"}
# How Cython made the code objects of tracebacks up to 0.29.24, for a function that is never called.
OLD_CODE = """\
    PyObject *file = PyUnicode_FromString(filename), *name, *none = __pyx_empty_tuple;
    if (!file) return NULL;
    name = c_line ? PyUnicode_FromFormat("%s (%s:%d)", funcname, __pyx_cfilenm, c_line)
                  : PyUnicode_FromString(funcname);
    if (!name) return NULL;
    py_code = ((PyCodeObject *(*)(
        int, int, int, int, int, PyObject *, PyObject *, PyObject *, PyObject *, PyObject *,
        PyObject *, PyObject *, PyObject *, int, PyObject *))PyCode_New)(
        0, 0, 0, 0, 0, __pyx_empty_bytes, none, none, none, none, none, file, name, py_line,
        __pyx_empty_bytes);
"""
NEW_CODE = "    py_code = PyCode_NewEmpty(filename, funcname, py_line);\n"


def make_cython_core(variant):
    """A core of run.py with kern.pyx built by the distribution's cython3 for its python3."""
    system = interpreters.find_system()
    for tool in ("cython3", "python3-config"):
        if shutil.which(tool, path="/usr/bin") is None:
            pytest.skip("no /usr/bin/%s here" % tool)
    cython_flags, c_flags, _ = MOVED if variant == "moved" else VARIANTS[variant]

    def shell(folder, *command):
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return done.stdout.decode().split()

    def make(folder):
        for name in ("kern.pyx", "run.py"):
            shutil.copy(os.path.join(SOURCES, name), folder)
        includes = shell(folder, "/usr/bin/python3-config", "--includes")
        suffix = shell(folder, "/usr/bin/python3-config", "--extension-suffix")[0]
        shell(folder, "/usr/bin/cython3", *cython_flags, "kern.pyx")
        if variant.endswith("0.29.24"):
            generated = os.path.join(folder, "kern.c")
            with open(generated) as file:
                text = file.read()
            assert text.count(NEW_CODE) == 1
            with open(generated, "w") as file:
                file.write(text.replace(NEW_CODE, OLD_CODE))
        shell(folder, "cc", *c_flags, "-w", "-shared", "-fPIC", *includes, "-o", "kern" + suffix, "kern.c")
        for name, place in MOVED_TO.items() if variant == "moved" else ():
            os.makedirs(os.path.join(folder, "elsewhere", os.path.dirname(place)), exist_ok=True)
            os.rename(os.path.join(folder, name), os.path.join(folder, "elsewhere", place))
        how = cores.run_to_core([system.path, "-s", "run.py"], folder, {"PATH": "/usr/bin:/bin"})
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    key = cores.digest(__file__, os.path.join(SOURCES, "kern.pyx"), os.path.join(SOURCES, "run.py"),
                       system.path, os.stat(system.path).st_mtime_ns)
    return os.path.join(cores.made_once("cython-" + variant, key, make), "core")
