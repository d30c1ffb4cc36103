#!/usr/bin/env python3
"""What functions and lines from machine code cost: ten stripped Cython modules on one stack.

    cmake --build build --target bench        (or cython_cost.py --program PROGRAM --folder FOLDER)

The same core is printed with the modules as they are, and with copies in which the import that
marks Cython's error reports has another name: there is nothing to be found in these. The
difference in processor time is the cost; the machine's other work is in neither. The second core
has the modules loaded, but none on a stack.
"""
import argparse
import glob
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "accuracy"))

from cython_accuracy import pythons  # noqa: E402
from cython_builds import SOURCES  # noqa: E402
from cython_names import installed_cythons  # noqa: E402

MODULES = 10
ROUNDS = 21
TARGET = """
import importlib.machinery, importlib.util, os, sys
def load(number):
    loader = importlib.machinery.ExtensionFileLoader("forms", f"{number}/forms.so")
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_file_location("forms", f"{number}/forms.so", loader=loader))
    loader.exec_module(module)
    return module
calls = [form for number in range(int(sys.argv[2])) for form in load(number).FORMS[:8]]
def chain(index):
    if index == len(calls):
        os.abort()
    return calls[index](lambda: chain(index + 1))
chain(0 if sys.argv[1] == "on" else len(calls))
"""


def build(command, include, folder):
    """The modules in folder/here/, and in folder/blind/ the copies in which nothing is found."""
    here, blind = os.path.join(folder, "here"), os.path.join(folder, "blind")
    shutil.copy(SOURCES / "forms" / "forms.pyx", folder)
    subprocess.run([*command, "-3", "forms.pyx"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["gcc", "-O2", "-w", "-shared", "-fPIC", "-s", f"-I{include}", "-o", "forms.so",
                    "forms.c"], cwd=folder, check=True, capture_output=True)
    with open(os.path.join(folder, "forms.so"), "rb") as file:
        library = file.read()
    marked = b"\0PyTraceBack_Here\0"
    assert library.count(marked) == 1
    # Cython's own module is looked for, too.
    blinded = library.replace(marked, b"\0PyTraceBack_Hers\0").replace(
        b"\0cython_runtime\0", b"\0cython_runtims\0")
    for place, content in ((here, library), (blind, blinded)):
        for number in range(MODULES):
            os.makedirs(os.path.join(place, str(number)))
            with open(os.path.join(place, str(number), "forms.so"), "wb") as file:
                file.write(content)
    return here, blind, len(library)


def make_core(python, here, mode):
    limits = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    subprocess.run([python, "-s", "-c", TARGET, mode, str(MODULES)], cwd=here, check=False,
                   capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, limits))
    cores = glob.glob(os.path.join(here, "core*"))
    if not cores:
        return None
    kept = os.path.join(os.path.dirname(here), f"{mode}.core")
    os.replace(cores[0], kept)
    return kept


def run(program, core, seen, place):
    """Milliseconds of processor time, with the modules of `place` where the core has them."""
    os.rename(place, seen)
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        child = os.posix_spawn(program, [program, core], os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)])
        os.close(nowhere)
        usage = os.wait4(child, 0)[2]
    finally:
        os.rename(seen, place)
    return 1000 * (usage.ru_utime + usage.ru_stime)


def count_lines(program, core):
    report = subprocess.run([program, "--format", "json", core], capture_output=True, check=False).stdout
    frames = [frame for thread in json.loads(report)["threads"] for frame in thread["frames"]]
    return sum(frame["kind"] == "cython" and bool(frame["line"]) for frame in frames)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    folder = os.path.join(os.path.abspath(options.folder), "cython")
    options.program = os.path.abspath(options.program)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    label, command = next(installed_cythons(), (None, None))
    python, include = next(pythons(), (None, None))
    if not command or not python:
        print("the cost of machine code is not measured: no %s" % ("Python.h" if command else "cython3"))
        return
    here, blind, size = build(command, include, folder)
    print("\n%d modules of %d KB, %s, stripped" % (MODULES, size // 1024, label))
    cores = {mode: make_core(python, here, mode) for mode in ("on", "off")}
    os.rename(here, here + ".files")
    for mode, core in cores.items():
        if core is None:
            print("  not measured: the kernel leaves no core file (core_pattern)")
            return
        seen = here
        times: dict = {"here": [], "blind": []}
        for _ in range(ROUNDS):
            times["here"].append(run(options.program, core, seen, here + ".files"))
            times["blind"].append(run(options.program, core, seen, blind))
        os.rename(here + ".files", seen)
        lines = count_lines(options.program, core)
        os.rename(seen, here + ".files")
        with_code, without = (statistics.median(times[key]) for key in ("here", "blind"))
        print("  %-22s %4d lines found, %6.1f ms, %6.1f ms without: %+6.1f ms (best of each %+.1f)" % (
            "on the stack" if mode == "on" else "not on any stack", lines, with_code, without,
            with_code - without, min(times["here"]) - min(times["blind"])))


if __name__ == "__main__":
    main()
