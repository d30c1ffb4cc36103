"""Makes core files by real crashes, once for each (program, interpreter), and keeps them.

The folder is PSC_TEST_CORES; what a core was made from is part of its name, so a changed
program or interpreter makes a new one. The release and the sanitizer runs share the folder.
"""
import contextlib
import fcntl
import functools
import glob
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from typing import Dict, List, Tuple

import resting

SUPPORT = os.path.dirname(os.path.abspath(__file__))
FOLDER_OF_CASES = os.path.dirname(SUPPORT)
SOURCE = os.path.dirname(os.path.dirname(FOLDER_OF_CASES))
TOOLS = os.path.join(SOURCE, "tests", "tools")
PROGRAMS = os.path.join(FOLDER_OF_CASES, "programs")
NATIVE = os.path.join(SOURCE, "testdata", "native")
FOLDER = os.environ.get("PSC_TEST_CORES", os.path.join(tempfile.gettempdir(), "pystack-core-cores"))

# name: (program, arguments, how it ends). "signal" dies by itself, "gcore" is dumped alive.
CASES: Dict[str, Tuple[str, List[str], str]] = {
    "threads": ("threads.py", [], "signal"),
    "worker_crash": ("worker_crash.py", [], "signal"),
    "callbacks": ("callbacks.py", [], "signal"),
    "generators": ("generators.py", [], "signal"),
    "generator_throw": ("generator_throw.py", [], "signal"),
    "generator_close": ("generator_close.py", [], "signal"),
    "asyncio_task": ("asyncio_task.py", [], "signal"),
    "asyncio_cancel": ("asyncio_cancel.py", [], "signal"),
    "finalizer": ("finalizer.py", [], "signal"),
    "signal_handler": ("signal_handler.py", [], "signal"),
    "compiled_code": ("compiled_code.py", [], "signal"),
    "importing": ("importing.py", [], "signal"),
    "class_body": ("class_body.py", [], "signal"),
    "specialised": ("specialised.py", [], "signal"),
    "language": ("language.py", [], "signal"),
    "exception_handled": ("exception_handled.py", [], "signal"),
    "recursion_900": ("recursion.py", ["900"], "signal"),
    "names": ("names.py", [], "signal"),
    "control_names": ("control_names.py", [], "signal"),
    "native_threads": ("native_threads.py", [], "signal"),
    "no_unwind_info": ("no_unwind_info.py", [], "signal"),
    "alive": ("alive.py", [], "gcore"),
    "abort": ("ways_to_die.py", ["abort"], "signal"),
    "kill": ("ways_to_die.py", ["kill"], "signal"),
    "divide": ("ways_to_die.py", ["divide"], "signal"),
    "illegal": ("ways_to_die.py", ["illegal"], "signal"),
    "bus": ("ways_to_die.py", ["bus"], "signal"),
    "write_null": ("ways_to_die.py", ["write_null"], "signal"),
    "null_call": ("ways_to_die.py", ["null_call"], "signal"),
    "wild_call": ("ways_to_die.py", ["wild_call"], "signal"),
    "overflow": ("ways_to_die.py", ["overflow"], "signal"),
    "trap": ("ways_to_die.py", ["trap"], "signal"),
    "fatal": ("ways_to_die.py", ["fatal"], "signal"),
}
# Cases with tests of their own.
SPECIAL_CASES: Dict[str, Tuple[str, List[str], str]] = {
    "values": ("values.py", [], "signal"),
    "reprs": ("reprs.py", [], "signal"),
    "own_reprs": ("own_reprs.py", [], "signal"),
    "numpy_reprs": ("numpy_reprs.py", [], "signal"),
    "frame_values": ("frame_values.py", [], "signal"),
    "exceptions": ("exceptions.py", [], "signal"),
    "greenlets": ("greenlets.py", [], "signal"),
    "greenlet_again": ("greenlet_again.py", [], "signal"),
    "trio_tasks": ("trio_tasks.py", [], "signal"),
    "curio_tasks": ("curio_tasks.py", [], "signal"),
    "gevent": ("gevent_sleeps.py", [], "signal"),
    "numpy_values": ("numpy_values.py", [], "signal"),
    "subinterpreters": ("subinterpreters.py", [], "signal"),
    **{"state_" + mode: ("states.py", [mode], "signal") for mode in (
        "weakref_callback", "collector_callback", "collector_native", "finalizing", "fork_in_thread",
        "at_fork", "raw_fork", "abandoned", "no_frame", "own_gil")},
    "asyncio_tasks": ("asyncio_tasks.py", [], "signal"),
    "asyncio_tasks_python": ("asyncio_tasks.py", ["python"], "signal"),
    "objects_2": ("objects_2.py", [], "signal"),
    "exceptions_2": ("exceptions_2.py", [], "signal"),
    "mapped_twice": ("mapped_twice.py", [], "signal"),
    "positions": ("positions.py", [], "signal"),
    "jit": ("jit.py", [], "signal"),
    "hot_threads": ("hot_threads.py", [], "signal"),
    "recursion_20000": ("recursion.py", ["20000"], "signal"),
    "native_60000": ("native_recursion.py", ["60000"], "signal"),
    **{"cycles_" + kind: ("cycles.py", [kind, depth], "signal")
       for kind, depth in (("three", "600"), ("through_c", "150"), ("twice", "600"))},
    "broken_cycle": ("broken_chain.py", ["cycle"], "signal"),
    "broken_nowhere": ("broken_chain.py", ["nowhere"], "signal"),
    "running": ("running.py", [], "signal"),
    "crowd": ("crowd.py", ["20", "10", "0.1"], "signal"),
}


# Cores whose files are below another root, for --sysroot.
ROOTS = {}


PLAIN_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}


class NoCore(Exception):
    """The program did not leave a core file; the message says what it did."""


class Core:
    def __init__(self, folder, interpreter, case):
        self.folder = folder
        self.path = os.path.join(folder, "core")
        self.interpreter = interpreter
        self.case = case

    @functools.cached_property
    def truth(self):
        with open(os.path.join(self.folder, "truth.json")) as file:
            return json.load(file)

    @functools.cached_property
    def made_by(self):
        with open(os.path.join(self.folder, "made.json")) as file:
            return json.load(file)

    @property
    def faulthandler_text(self):
        # 3.14 adds the kernel's thread names, which may end within a character.
        with open(os.path.join(self.folder, "faulthandler.txt"), errors="replace") as file:
            return file.read()


@contextlib.contextmanager
def locked(name):
    """One process at a time makes the thing called name."""
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, name + ".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, str) and os.path.isfile(part):
            with open(part, "rb") as file:
                part = file.read()
        total.update(repr(part).encode())
    return total.hexdigest()[:12]


def made_once(name, key, make):
    """The folder FOLDER/NAME-KEY; make(folder) fills it when it is new. Older keys go."""
    final = os.path.join(FOLDER, name + "-" + key)
    with locked(name):
        if not os.path.isdir(final):
            for old in glob.glob(os.path.join(glob.escape(FOLDER), glob.escape(name) + "-" + "?" * 12)):
                shutil.rmtree(old, ignore_errors=True)
            # Programs see this path, so it is the final one; "made.json" comes last.
            os.makedirs(final)
            try:
                make(final)
            except BaseException:
                shutil.rmtree(final, ignore_errors=True)
                raise
    return final


def compile_c(sources, output, *flags):
    command = ["cc", *flags, "-o", output, *sources]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


def native_helpers():
    """Folder of libways.so, libsilent.so, plain, libearly.so and bare."""
    sources = [os.path.join(NATIVE, name) for name in ("ways.c", "silent.c", "plain.c", "early.c", "bare.c", "resting.h")]

    def make(folder):
        compile_c([sources[0]], os.path.join(folder, "libways.so"), "-g", "-O1", "-shared", "-fPIC",
                  "-pthread", "-w")
        compile_c([sources[1]], os.path.join(folder, "libsilent.so"), "-O2", "-fomit-frame-pointer",
                  "-fno-asynchronous-unwind-tables", "-fno-exceptions", "-shared", "-fPIC")
        compile_c([sources[2]], os.path.join(folder, "plain"), "-g", "-O1", "-pthread")
        compile_c([sources[3]], os.path.join(folder, "libearly.so"), "-g", "-O1", "-shared", "-fPIC", "-w")
        compile_c([sources[4]], os.path.join(folder, "bare"), "-g", "-O1", "-ldl")

    return made_once("native-helpers", digest(NATIVE, *sources), make)


def core_pattern():
    try:
        with open("/proc/sys/kernel/core_pattern") as file:
            return file.read().strip()
    except OSError:
        return ""


def kernel_writes_here():
    """Whether a crash leaves its core file in the current folder. PSC_CORES_BY=gdb says no."""
    if os.environ.get("PSC_CORES_BY") == "gdb":
        return False
    pattern = core_pattern()
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    return pattern != "" and not pattern.startswith(("|", "/")) and hard == resource.RLIM_INFINITY


def _allow_cores():
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def _enter(root, folder):
    """Before the program of another root starts: in that root, in the folder of the same name."""
    def enter():
        _allow_cores()
        os.chroot(root)
        os.chdir(folder)
    return enter


@functools.lru_cache(maxsize=None)
def _can_mount_in(root):
    """Whether a program of that root can have a /proc, in a mount namespace of its own."""
    command = ["unshare", "--mount-proc=%s/proc" % root, "true"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


def _start_in(root, folder, command):
    """The command, and what is to be done before it, to run it in that root; with a /proc where that can be."""
    if not _can_mount_in(root):
        return command, _enter(root, folder)
    return ["unshare", "--mount-proc=/proc", "--root=" + root, "--wd=" + folder, *command], _allow_cores


def _copy_into(root, *paths):
    for path in paths:
        if os.path.isdir(path):
            shutil.copytree(path, root + path, dirs_exist_ok=True)
        else:
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            shutil.copy(path, root + path)


def _run_in_root(root, command, folder, env, helpers):
    """Programs and helpers have the same paths inside; what is left in FOLDER is brought out."""
    if not kernel_writes_here():
        raise NoCore("the kernel does not write core files to the current folder")
    _copy_into(root, PROGRAMS, helpers)
    os.makedirs(root + folder, exist_ok=True)
    started, before = _start_in(root, folder, command)
    try:
        subprocess.run(started, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=600, preexec_fn=before)
        for name in os.listdir(root + folder):
            target = "core" if name.startswith("core") else name
            shutil.move(os.path.join(root + folder, name), os.path.join(folder, target))
    finally:
        shutil.rmtree(root + folder, ignore_errors=True)
    if not os.path.exists(os.path.join(folder, "core")):
        raise NoCore("%s left no core file in %s" % (" ".join(command), root))
    return "kernel"


def run_to_core(command, folder, env=None, timeout=600):
    """Runs command in folder until it dies; its core file is FOLDER/core. Returns how it was made.

    Where the kernel gives cores to a program or to another folder, gdb makes them instead.
    """
    if kernel_writes_here():
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   preexec_fn=_allow_cores)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        how = "kernel"
    else:
        gdb = ["gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off",
               "-ex", "set startup-with-shell off", "-ex", "set disable-randomization off",
               "-ex", "handle SIGALRM nostop noprint pass", "-ex", "run",
               "-ex", "generate-core-file " + os.path.join(folder, "core"), "-ex", "kill", "--args"]
        output = subprocess.run(gdb + command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout).stdout
        how = "gdb"
    left = [path for path in glob.glob(os.path.join(glob.escape(folder), "core*"))
            if os.path.isfile(path)]
    if len(left) != 1:
        raise NoCore("%s left %d core files: %s" % (" ".join(command), len(left),
                                                    output.decode(errors="replace")[-2000:]))
    os.rename(left[0], os.path.join(folder, "core"))
    if how == "gdb":
        make_sparse(os.path.join(folder, "core"))
    return how


def core_of(interpreter, folder, case, *arguments, **environment):
    """The Core that a program of PROGRAMS leaves in FOLDER, which is its current folder; also one of another root."""
    command = [interpreter.path, "%s/%s.py" % (PROGRAMS, case), *arguments]
    if interpreter.root:
        _run_in_root(interpreter.root, command, folder, {**PLAIN_ENVIRONMENT, **environment}, native_helpers())
        ROOTS[os.path.join(folder, "core")] = interpreter.root
    else:
        run_to_core(command, folder, dict(os.environ, **environment))
    return Core(folder, interpreter, case)


def make_sparse(path):
    """gdb writes out what was never touched as zeros; the kernel leaves holes."""
    subprocess.run(["fallocate", "--dig-holes", path], capture_output=True)


def _run_to_gcore(command, folder, env, timeout=resting.WAIT):
    """Dumps the program with gcore once it has testified."""
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        said = os.path.join(folder, "truth.json")
        resting.wait_until(lambda: os.path.exists(said) or process.poll() is not None, "end of what it does", timeout)
        if not os.path.exists(said):
            raise NoCore("%s did not come to its end" % " ".join(command))
        resting.wait_until_at_rest(process.pid)
        subprocess.run(["gcore", "-o", os.path.join(folder, "core"), str(process.pid)], check=True,
                       capture_output=True, timeout=timeout)
        os.rename(os.path.join(folder, "core.%d" % process.pid), os.path.join(folder, "core"))
        make_sparse(os.path.join(folder, "core"))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return "gcore"


# Programs that use what older versions do not have.
SINCE = {**{case: (2, 7) for case in (
    "threads", "worker_crash", "callbacks", "signal_handler", "compiled_code", "importing", "language",
    "exception_handled", "recursion_900", "recursion_20000", "native_threads", "hot_threads", "abort",
    "greenlets", "null_call", "overflow", "mapped_twice", "objects_2", "exceptions_2", "reprs")},
         "own_reprs": (3, 7), "asyncio_task": (3, 7), "asyncio_cancel": (3, 7), "control_names": (3, 8),
         "subinterpreters": (3, 8), "state_own_gil": (3, 12), "state_at_fork": (3, 7)}


def can_make(case, interpreter):
    """Programs of another root die by themselves: gcore would look for their files in this one."""
    return interpreter.minor >= SINCE.get(case, (3, 6)) and \
        (interpreter.minor < (3,) or not case.endswith("_2")) and \
        (not interpreter.root or {**CASES, **SPECIAL_CASES}[case][2] == "signal")


def make_core(case, interpreter, packages=None):
    """The Core of a case in CASES or SPECIAL_CASES; `packages` is a folder to import from."""
    program, arguments, ending = {**CASES, **SPECIAL_CASES}[case]
    source = os.path.join(PROGRAMS, program)
    helpers = native_helpers()
    status = os.stat(interpreter.file)
    key = digest(PROGRAMS, source, os.path.join(PROGRAMS, "witness.py"), arguments, ending, interpreter.file,
                 status.st_size, status.st_mtime_ns, helpers, kernel_writes_here(), packages)

    def make(folder):
        env = {**PLAIN_ENVIRONMENT, **({"PYTHONPATH": packages} if packages else {})}
        command = [interpreter.path, "-s", source, folder, os.path.join(helpers, "libways.so"),
                   *arguments]
        if interpreter.root:
            how = _run_in_root(interpreter.root, command, folder, env, helpers)
        elif ending == "gcore":
            how = _run_to_gcore(command, folder, env)
        else:
            how = run_to_core(command, folder, env)
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how, "command": command, "program": source}, file)

    parts = [case, interpreter.label] + ([os.path.basename(packages)] if packages else [])
    folder = made_once("-".join(parts),
                       key, make)
    if interpreter.root:
        ROOTS[os.path.join(folder, "core")] = interpreter.root
    return Core(folder, interpreter, case)


def make_early_core(interpreter, allocation):
    """The path of a core of an interpreter that died while it started."""
    helpers = native_helpers()
    status = os.stat(interpreter.file)

    def make(folder):
        how = run_to_core([interpreter.path, "-S", "-c", "1"], folder, {
            "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "LD_PRELOAD": os.path.join(helpers, "libearly.so"),
            "EARLY_DEATH": str(allocation), "PYTHONMALLOC": "malloc"})
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    key = digest(interpreter.file, status.st_size, status.st_mtime_ns, helpers, kernel_writes_here())
    return os.path.join(made_once("early_%d-%s" % (allocation, interpreter.label), key, make), "core")


def make_bare_core(interpreter, library):
    """The path of a core of a program that started an interpreter, and did nothing with it."""
    helpers = native_helpers()

    def make(folder):
        prefix = os.path.dirname(os.path.dirname(interpreter.file))
        how = run_to_core([os.path.join(helpers, "bare"), library], folder,
                          {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHOME": prefix})
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    key = digest(library, os.stat(library).st_mtime_ns, helpers, kernel_writes_here())
    return os.path.join(made_once("bare-" + interpreter.label, key, make), "core")


def make_plain_core():
    """A core of a C program that has no Python in it."""
    helpers = native_helpers()

    def make(folder):
        how = run_to_core([os.path.join(helpers, "plain")], folder, {"PATH": "/usr/bin:/bin"})
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    return os.path.join(made_once("plain", digest(helpers, kernel_writes_here()), make), "core")
