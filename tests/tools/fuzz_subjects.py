"""What tests/tools/fuzz.py damages: cores, files and processes, each a dictionary of lines for the program `mutants`."""
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases", "support"))
import cores  # noqa: E402
import cython_core  # noqa: E402
import interpreters  # noqa: E402
import resting  # noqa: E402

CASES = ["callbacks", "values", "asyncio_tasks", "exceptions", "worker_crash", "greenlets", "generators",
         "subinterpreters", "threads", "trio_tasks", "curio_tasks", "reprs", "numpy_reprs", "state_collector_native",
         "cycles_through_c", "exception_handled", "own_reprs"]
# Debug information of every form that compilers write: (name, compiler, flags, source).
PROGRAMS = [
    ("values-4", "gcc", ["-gdwarf-4", "-O1"], "values.c"),
    ("values-5", "gcc", ["-gdwarf-5", "-O0"], "values.c"),
    ("values-O2", "gcc", ["-gdwarf-5", "-O2"], "values.c"),
    ("library-5", "g++", ["-gdwarf-5", "-O0", "-std=c++17"], "library.cpp"),
    ("library-O2", "g++", ["-gdwarf-5", "-O2", "-std=c++17"], "library.cpp"),
    ("library-type-units", "g++", ["-gdwarf-4", "-O0", "-std=c++17", "-fdebug-types-section"], "library.cpp"),
    ("values-clang", "clang", ["-gdwarf-5", "-O1"], "values.c"),
    ("library-clang", "clang++", ["-gdwarf-5", "-O0", "-std=c++17"], "library.cpp"),
]
SIZE_MAX = 20 << 20  # Of a core: what larger ones take is bounded elsewhere.
NOT_HERE = (cores.NoCore, subprocess.SubprocessError, OSError, pytest.skip.Exception)


def keep_cores_in(folder):
    cores.FOLDER = folder


class Scratch:
    """Copies that may be damaged."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def copy(self, path):
        self.count += 1
        target = os.path.join(self.folder, "%d-%s" % (self.count, os.path.basename(path)))
        subprocess.run(["cp", "--sparse=always", path, target], check=True)
        return target

    def copy_folder(self, path):
        self.count += 1
        target = os.path.join(self.folder, str(self.count))
        shutil.copytree(path, target)
        return target


def line_of(subject):
    return "\t".join("%s=%s" % pair for pair in subject) + "\n"


def without_failure(make, skipped, *arguments):
    """What make() returns; None, and a line in `skipped`, where this machine cannot make it."""
    try:
        return make(*arguments)
    except NOT_HERE as error:
        skipped.append("%s: %s" % (" ".join(map(str, arguments)), str(error).split("\n", maxsplit=1)[0][:100]))
        return None


def python_cores(amount, skipped, since=(2, 7)):
    """(name, path) of cores of interpreters in turns: all of each case, or `amount` of them."""
    found = interpreters.find_all() if amount is None else interpreters.find_wanted()
    found = [one for one in found if one.minor >= since]
    pairs = [(case, one) for number, case in enumerate(CASES) for one in found[number % 2:] + found[:number % 2]
             if cores.can_make(case, one)]
    if amount is not None:
        # Each case and each interpreter as soon as possible.
        pairs = [(case, found[(3 * number) % len(found)]) for number, case in enumerate(CASES * 2)] if found else []
        pairs = [pair for pair in pairs if cores.can_make(*pair)]
    result: list = []
    for case, one in pairs:
        if amount is not None and len(result) >= amount:
            break
        core = without_failure(cores.make_core, skipped, case, one)
        if core and os.path.getsize(core.path) <= SIZE_MAX:
            result.append(("%s of %s" % (case, one), core.path))
    return result


def cython_cores(skipped, variants=("moved", "O0", "O2-stripped", "O0-line")):
    found = []
    for variant in variants:
        core = without_failure(cython_core.make_cython_core, skipped, variant)
        if core:
            found.append(("Cython " + variant, core))
    return found


def native_program(name, compiler, flags, source):
    """The folder of `program` and its core; it has .gnu_debugdata, too."""
    source = os.path.join(cores.NATIVE, source)

    def make(folder):
        program = os.path.join(folder, "program")
        subprocess.run([compiler, "-w", "-g", *flags, "-Wl,--build-id", "-o", program, source, "-lm"], check=True,
                       capture_output=True)
        symbols = os.path.join(folder, "symbols")
        subprocess.run(["objcopy", "--only-keep-debug", "--strip-debug", program, symbols], check=True)
        subprocess.run(["xz", "-k", "-9", symbols], check=True)
        subprocess.run(["objcopy", "--add-section", ".gnu_debugdata=" + symbols + ".xz", program], check=True)
        how = cores.run_to_core([program], folder)
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    if shutil.which(compiler) is None:
        raise cores.NoCore("no %s here" % compiler)
    return cores.made_once("fuzz-" + name, cores.digest(__file__, source, compiler, " ".join(flags)), make)


def core_subjects(scratch, amount, skipped):
    found = python_cores(amount, skipped) + cython_cores(skipped, ("O0",) if amount else ("O0", "O2-stripped"))
    found += [("no Python", path) for path in [without_failure(cores.make_plain_core, skipped)] if path]
    return [core_subject(scratch, name, path) for name, path in found]


def core_subject(scratch, name, path):
    copy = scratch.copy(path)
    return [("name", name), ("core", copy), ("damage", copy + "=" + path)]


def heap_subjects(scratch, amount, skipped):
    """Cores of interpreters whose objects are read as a whole."""
    return [core_subject(scratch, name, path) for name, path in python_cores(amount, skipped, (3, 8))]


def module_subject(scratch, name, core, modules):
    """A core of which modules are damaged: of each a copy stands in for it."""
    subject = [("name", name), ("core", core)]
    for module in modules:
        copy = scratch.copy(module)
        subject += [("map", module + "=" + copy), ("damage", copy + "=" + module)]
    return subject


def file_subjects(scratch, _amount, skipped):
    """Programs and extension modules with debug information."""
    subjects = []
    for program in PROGRAMS:
        folder = without_failure(native_program, skipped, *program)
        if folder:
            subjects.append(module_subject(scratch, program[0], os.path.join(folder, "core"),
                                           [os.path.join(folder, "program")]))
    for name, core in cython_cores(skipped):
        subjects.append(module_subject(scratch, name, core, glob.glob(os.path.join(os.path.dirname(core), "kern.*.so"))))
    return subjects


def module_subjects(scratch, amount, skipped):
    """And an interpreter that is stripped, a library of callbacks."""
    subjects = file_subjects(scratch, amount, skipped)
    system = interpreters.find_system()
    core = without_failure(cores.make_core, skipped, "callbacks", system) if system else None
    if core:
        ways = os.path.join(cores.native_helpers(), "libways.so")
        subjects.append(module_subject(scratch, "interpreter", core.path, [system.file]))
        subjects.append(module_subject(scratch, "library", core.path, [ways]))
    return subjects


def text_subjects(scratch, _amount, skipped):
    """Sources of Python and Cython, generated C, Cython's XML."""
    subjects = []
    for name, core in cython_cores(skipped, ("O0", "O0-line", "O2-stripped")):
        folder = os.path.dirname(core)
        subjects.append(module_subject(scratch, name, core, [os.path.join(folder, one) for one in
                                                             ("kern.c", "kern.pyx", "run.py")]))
    for name, core in cython_cores(skipped, ("moved",)):
        original = os.path.join(os.path.dirname(core), "elsewhere")
        copy = scratch.copy_folder(original)
        files = [os.path.relpath(path, original) for path in
                 sorted(glob.glob(original + "/**/cython_debug*", recursive=True)
                        + glob.glob(original + "/**/*.c", recursive=True)
                        + glob.glob(original + "/**/*.pyx", recursive=True)) if os.path.isfile(path)]
        subjects.append([("name", "Cython's XML"), ("core", core), ("source-dir", copy)]
                        + [("damage", "%s=%s" % (os.path.join(copy, one), os.path.join(original, one)))
                           for one in files[:8]])
    for case, one in zip(("callbacks", "language", "names"), interpreters.find_wanted()[-3:]):
        core = without_failure(cores.make_core, skipped, case, one)
        if core:
            source = os.path.join(cores.PROGRAMS, cores.CASES[case][0])
            subjects.append(module_subject(scratch, "%s of %s" % (case, one), core.path, [source]))
    return subjects


# The file is written a buffer at a time.
JIT_PROGRAM = """
import ctypes

def inner(last):
    return last and ctypes.string_at(0)

def outer(last):
    return list(map(inner, [last]))

outer(False)
for number in range(800):
    exec("def f%d_%s(): pass\\nf%d_%s()" % (number, "x" * 60, number, "x" * 60))
outer(True)
"""


def jit_dump(skipped):
    """A core of an interpreter that makes code for perf, its jitdump, and the id of its process; or None."""
    def make(folder):
        how = cores.run_to_core([one.path, "-s", "-X", "perf_jit", "-c", JIT_PROGRAM], folder)
        dumps = [path for path in glob.glob("/tmp/jit-*.dump") if os.path.getmtime(path) >= begun]
        with open(os.path.join(folder, "core"), "rb") as file:
            core = file.read()
        mine = [path for path in dumps if path.encode() + b"\0" in core]
        if not mine:
            raise cores.NoCore("no jitdump is mapped in the core")
        shutil.move(mine[0], os.path.join(folder, os.path.basename(mine[0])))
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    found = [one for one in interpreters.find_all() if one.minor >= (3, 13)]
    if not found:
        skipped.append("jitdump: no interpreter has -X perf_jit")
        return None
    one, begun = found[0], time.time() - 1
    folder = without_failure(cores.made_once, skipped, "fuzz-jit", cores.digest(str(one), JIT_PROGRAM), make)
    dumps = glob.glob(os.path.join(folder, "jit-*.dump")) if folder else []
    if not folder or not dumps:
        return None
    return os.path.join(folder, "core"), dumps[0], int(os.path.basename(dumps[0])[4:-5])


@contextlib.contextmanager
def live_subjects(amount, skipped):
    """Processes that stand still; their memory is damaged, and they never go on."""
    subjects, running = [], []
    try:
        found = interpreters.find_wanted()
        for one in found[::-1][:amount]:
            command = ["setarch", "-R"] if shutil.which("setarch") else []
            process = subprocess.Popen([*command, one.path, "-s", os.path.join(cores.PROGRAMS, "standing.py")],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"})
            running.append(process)
            assert process.stdout
            if process.stdout.readline().strip() != b"ready":
                skipped.append("living %s: it did not say that it is ready" % one)
                continue
            resting.wait_until_at_rest(process.pid)
            process.send_signal(signal.SIGSTOP)
            subjects.append([("name", "living %s" % one), ("pid", process.pid)])
        yield subjects
    finally:
        for process in running:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
