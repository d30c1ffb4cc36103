"""Living processes to report on, and what must hold of them afterwards."""
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess

import analyzer
import cores
import interpreters
from resting import wait_until

OUTERMOST = ("_start", "clone3", "__clone3", "clone", "__clone", "start_thread")
BUSY = os.path.join(cores.PROGRAMS, "busy.py")
WAIT = 120
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17  # include/uapi/linux/ptrace.h
WAIT_ALL = 0x40000000  # __WALL, include/uapi/linux/wait.h


def process_state(pid):
    """(state letter, TracerPid) of a process."""
    state = tracer = None
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith("State:"):
                state = line.split()[1]
            elif line.startswith("TracerPid:"):
                tracer = int(line.split()[1])
    return state, tracer


def thread_states(pid):
    """{tid: (state letter, TracerPid)}; threads that end meanwhile are left out."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError, ProcessLookupError):
            found[int(tid)] = process_state(int(tid))
    return found


def assert_runs_free(pid, seconds=WAIT):
    """No thread of the process is traced or stands still in a trace."""
    def held():
        return {tid: state for tid, state in thread_states(pid).items()
                if state[1] or state[0] in ("t", "T")}

    wait_until(lambda: not held(), "process %d that runs free" % pid, seconds, 0.001)


def cpu_ticks(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def assert_works(pid):
    """A busy process uses the processor again."""
    before = cpu_ticks(pid)
    wait_until(lambda: cpu_ticks(pid) > before + 1, "progress of process %d" % pid)


@contextlib.contextmanager
def running(command, **more):
    """A process that has said "ready" on its standard output."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **more)
    try:
        said = process.stdout.readline()
        assert said.strip() == b"ready", said
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()


def as_of_memory(document):
    """
    A report without what only a living system tells, and what only a core of a process that went on says.
    Of waits the system is asked for some milliseconds at most: on a busy machine less is known of the living.
    """
    document.pop("running")
    document.pop("deadlocks", None)
    if document["crash"] and document["crash"]["cause"] == "snapshot":
        document["crash"] = None
    for thread in document["threads"]:
        thread.pop("waits_for")
    # Of a thread that waits it is the kind of the wait.
    document["signature"] = {key: document["signature"][key] for key in ("version", "exact")}
    return document


@contextlib.contextmanager
def stopped(process):
    """The process, stopped by SIGSTOP as a whole."""
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: all(state == "T" for state, _ in thread_states(process.pid).values()),
               "stop by SIGSTOP")
    yield process
    process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def traced(tid):
    """A thread that is traced from here, and stopped."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    assert libc.ptrace(SEIZE, tid, None, None) == 0
    assert libc.ptrace(INTERRUPT, tid, None, None) == 0
    os.waitpid(tid, WAIT_ALL)
    try:
        yield
    finally:
        assert libc.ptrace(DETACH, tid, None, None) == 0


def report(pid, *options, **more):
    return analyzer.run(*options, "--pid", pid, **more)


def native_thread_names(pid):
    names = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError), open("/proc/%d/task/%s/comm" % (pid, tid)) as file:
            names[int(tid)] = file.read().rstrip("\n")
    return names


def start_busy(interpreter, seconds=600):
    return running([interpreter.path, "-s", BUSY, str(seconds)])


def one_busy():
    return start_busy(interpreters.find_system() or interpreters.find_wanted()[-1])


COUNTER = """
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t count, last;
static void handle(int number) { if (number == SIGRTMIN) count++; else last = 1; }
int main(void)
{
    signal(SIGRTMIN, handle);
    signal(SIGRTMIN + 1, handle);
    puts("ready");
    fflush(stdout);
    while (!last) ;
    printf("%d\\n", (int)count);
    return 0;
}
"""


def compiled(name, source, *flags):
    folder = cores.made_once(name, cores.digest(source), lambda where: subprocess.run(
        ["cc", "-w", *flags, "-x", "c", "-", "-o", os.path.join(where, name)],
        input=source.encode(), check=True))
    return os.path.join(folder, name)


def begins_a_thread(frame):
    """Whether this is where threads begin; without libc's debug symbols clone3() has no name."""
    return frame["symbol"] in OUTERMOST or frame["symbol"] is None and is_in_libc(frame)


def is_in_libc(frame):
    return os.path.basename(frame["module"] or "") == "libc.so.6"


def assert_whole(thread):
    """Both stacks are there from end to end."""
    shown = [frame for frame in thread["frames"] if not frame["inlined"]]
    assert not analyzer.gaps(thread), analyzer.gaps(thread)
    native = [frame for frame in shown if frame["kind"] in ("native", "cython")]
    python = analyzer.python_frames(thread)
    assert native and native[-1]["symbol"] in OUTERMOST or native[-1]["function"] is None, native[-1]
    if python:
        # __del__: the first allocation of a new thread may begin a collection (CPython up to 3.11).
        assert python[-1]["name"] in ("<module>", "_bootstrap", "__del__"), python[-1]
    assert native[0]["trust"] == "context"
    # Code without unwind information is met for some instructions: libffi's trampolines, .init.
    guessed = [(frame["trust"], frame["module"], frame["offset"]) for frame in native[2:]
               if frame["trust"] != "cfi"]
    assert not guessed, guessed
    assert_all_run(shown)


def assert_all_run(frames):
    """Each evaluator runs a frame, but the innermost, which may have just been entered or be returning."""
    runs: list = []
    for frame in frames:
        if analyzer.is_evaluator(frame):
            runs.append([])
        elif frame["kind"] == "python":
            assert runs, frame["name"]
            runs[-1].append(frame["name"])
    assert all(runs[1:]), [(frame["kind"], frame["symbol"] or frame["name"]) for frame in frames]


def can_unshare():
    """Mounts can be kept from the rest of the machine: not where the root is no mount point (chroot)."""
    return shutil.which("unshare") is not None and \
        subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0
