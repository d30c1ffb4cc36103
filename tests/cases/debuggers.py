"""Runs gdb with the project's commands in it, and programs for it to attach to."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

import pytest

import analyzer
import cores

PLUGIN = os.path.join(cores.SOURCE, "gdb-plugin")
GDB_SCRIPT = os.path.join(PLUGIN, "pystack_core_gdb.py")
BUILD = os.environ.get("PSC_BUILD_DIR", os.path.join(cores.SOURCE, "build"))
LIBRARY = os.path.join(BUILD, "analyzer", "libpystack_core.so.0")
QUIET = ["-nx", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off",
         "-iex", "set startup-with-shell off", "-iex", "set confirm off"]


def need(*programs):
    """Skips, and says why, where a debugger is missing or cannot load the library."""
    if analyzer.SANITIZED:
        pytest.skip("a sanitized library needs its sanitizer loaded first")
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip("no %s here" % program)


def environment(**more):
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "TERM": "dumb",
            "PYSTACK_CORE_LIBRARY": LIBRARY, "PYSTACK_CORE_PROGRAM": analyzer.PROGRAM, **more}


class Answers(list):
    """What each command said; "error: " and the text of one that failed."""
    console = ""


def gdb(commands, *arguments, env=None, timeout=120, script=GDB_SCRIPT, cwd=None):
    """Runs gdb with commands and returns their Answers; gdb itself must end well."""
    need("gdb")
    with tempfile.NamedTemporaryFile("r", suffix=".json") as said:
        setup = ["-iex", "source " + script] if script else []
        command = ["gdb", *QUIET, *setup, "-batch", "-x", os.path.join(cores.HERE, "gdb_session.py"),
                   *map(str, arguments)]
        told = {"PSC_COMMANDS": json.dumps(commands), "PSC_ANSWERS": said.name}
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=cwd,
                              stderr=subprocess.STDOUT, env=environment(**told, **(env or {})), timeout=timeout)
        console = done.stdout.decode("utf-8", "replace")
        text = said.read()
    assert done.returncode == 0 and text, "%s\nexit %d\n%s" % (command, done.returncode, console[-4000:])
    answers = Answers(json.loads(text))
    answers.console = console
    return answers


def without_warnings(text):
    return "".join(line for line in text.splitlines(True) if not line.startswith("warning: "))


@contextlib.contextmanager
def living(interpreter, program="alive.py", *arguments):
    """A process of an interpreter that has testified and now waits; yields (pid, folder)."""
    helpers = cores.native_helpers()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [interpreter.path, "-s", os.path.join(cores.PROGRAMS, program), folder,
             os.path.join(helpers, "libways.so"), *arguments],
            cwd=folder, env=environment(PYTHONDONTWRITEBYTECODE="1"), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 30
            while not os.path.exists(os.path.join(folder, "truth.json")):
                assert process.poll() is None and time.monotonic() < end, "%s did not start" % program
                time.sleep(0.05)
            time.sleep(0.3)
            yield process.pid, folder
        finally:
            process.kill()
            process.wait()
