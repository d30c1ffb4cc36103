"""Runs gdb with the project's commands in it, and programs for it to attach to.

PSC_TEST_GDB, PSC_TEST_GDBSERVER and PSC_TEST_LLDB name others than those that PATH finds.
"""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import tempfile
import termios
import time

import pytest

import analyzer
import cores
import interpreters
import resting

PLUGIN = os.path.join(cores.SOURCE, "gdb-plugin")
GDB_SCRIPT = os.path.join(PLUGIN, "pystack_core_gdb.py")
BUILD = os.environ.get("PSC_BUILD_DIR", os.path.join(cores.SOURCE, "build"))
LIBRARY = os.path.join(BUILD, "analyzer", "libpystack_core.so.0")
GDB = os.environ.get("PSC_TEST_GDB", "gdb")
GDBSERVER = os.environ.get("PSC_TEST_GDBSERVER", "gdbserver")
LLDB = os.environ.get("PSC_TEST_LLDB", "lldb")
# For a session: the frame that gdb has selected, as this project's JSON says places.
SELECTED = 'python-value (lambda f: [hex(f.pc()), hex(int(f.read_register("rsp")) & (2**64 - 1))])(gdb.selected_frame())'
# For a session: the program counters of all frames that gdb itself has, by thread.
WALK = [
    "set backtrace past-main on", "set backtrace past-entry on",
    "python exec('def _walk():\\n f = gdb.newest_frame()\\n while f:\\n  yield f\\n  f = f.older()')",
    "python-value {t.ptid[1]: (t.switch(), [hex(f.pc()) for f in _walk() if f.type() not in "
    "(gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)])[1] for t in gdb.selected_inferior().threads()}",
]
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


def gdb(commands, *arguments, env=None, timeout=600, script=GDB_SCRIPT, cwd=None):
    """Runs gdb with commands and returns their Answers; gdb itself must end well."""
    need(GDB)
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("r", suffix=".json") as said:
        setup = ["-iex", "source " + script] if script else []
        command = [GDB, *QUIET, *setup, "-batch", "-x", os.path.join(cores.SUPPORT, "gdb_session.py"),
                   *map(str, arguments)]
        told = {"PSC_COMMANDS": json.dumps(commands), "PSC_ANSWERS": said.name}
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=cwd or folder,
                              stderr=subprocess.STDOUT, env=environment(**told, **(env or {})), timeout=timeout)
        console = done.stdout.decode("utf-8", "replace")
        text = said.read()
    assert done.returncode == 0 and text, "%s\nexit %d\n%s" % (command, done.returncode, console[-4000:])
    answers = Answers(json.loads(text))
    answers.console = console
    return answers


def open_core(core):
    return ["file " + core.interpreter.path, "core-file " + core.path]


def show(*arguments):
    """What the program prints."""
    result = analyzer.run("--color", "never", *arguments)
    assert result.returncode in (0, 1), result.describe()
    return result.stdout


def some_core(case):
    """By the distribution's Python, which has no symbols."""
    return cores.make_core(case, interpreters.find_system() or interpreters.find_wanted()[-1])


def check_native_frames(theirs, document):
    """What WALK said, and py-bt-merged all --all --json."""
    assert len(theirs) == len(document["threads"])
    for thread in document["threads"]:
        ours = [hex(pc) for pc in analyzer.physical_pcs(thread)]
        assert ours == theirs[str(thread["tid"])], thread["tid"]


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
            said = os.path.join(folder, "truth.json")
            resting.wait_until(lambda: os.path.exists(said) or process.poll() is not None, "start of " + program)
            assert process.poll() is None, "%s did not start" % program
            resting.wait_until_at_rest(process.pid)
            yield process.pid, folder
        finally:
            process.kill()
            process.wait()


class Silence(AssertionError):
    """What was waited for did not come."""


class Terminal:
    """A program under a pseudo-terminal of 24 lines and 80 columns."""

    def __init__(self, command, env):
        self.fd, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(command, stdin=there, stdout=there, stderr=there, env=env,
                                        start_new_session=True, preexec_fn=_control_terminal)
        os.close(there)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.fd)

    def send(self, text):
        self.text = ""
        os.write(self.fd, text.encode())

    def ask(self, text, what):
        """
        send() and expect(); again when nothing comes: debuggers drop what is typed while they set up
        the terminal.
        """
        for timeout in (5, 10, 20):
            self.send(text)
            try:
                return self.expect(what, timeout)
            except Silence:
                continue
        self.send(text)
        return self.expect(what)

    def expect(self, what, timeout=300):
        """What came since the last send(), once the pattern is in it."""
        end = time.monotonic() + timeout
        while not re.search(what, self.text):
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.fd], [], [], left)[0]
            if not ready:
                raise Silence("no %r within %d s after: %s" % (what, timeout, self.text[-2000:]))
            try:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                raise AssertionError("it ended before %r: %s" % (what, self.text[-2000:])) from None
        return self.text


def _control_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def sanitizer():
    """What must be loaded before Python, when the library has sanitizers in it."""
    if not analyzer.SANITIZED:
        return {}
    path = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True, capture_output=True).stdout.decode()
    return {"LD_PRELOAD": os.path.realpath(path.strip()),
            "ASAN_OPTIONS": "detect_leaks=0:exitcode=%d" % analyzer.SANITIZER_EXIT}  # Python itself leaks
