"""Processes that may not, or cannot, be stopped: what can be read is shown, with one sentence."""
import contextlib
import os
import re
import subprocess
import tempfile
import threading
import time

import pytest

import analyzer
import interpreters
import living
import resting
from confined import NOBODY, SYS_PTRACE, SYS_READV, drop_right_to_trace, forbid, needs_root

SLOW = True  # A third of the interpreters, unless thoroughly.

RESTING = """
import sys, threading, time
def rest():
    time.sleep(600)
for number in range(3):
    threading.Thread(target=rest, name="rest-%d" % number, daemon=True).start()
print("ready", flush=True)
while True:
    sum(range(1000)) if "busy" in sys.argv else time.sleep(600)
"""


def one():
    return interpreters.find_system() or interpreters.find_wanted()[-1]


@contextlib.contextmanager
def at_rest(*words, program=RESTING, **more):
    with living.running([one().path, "-s", "-c", program, *words], **more) as process:
        resting.wait_until_at_rest(process.pid, but=process.pid if "busy" in words else None)
        yield process


def report_as(pid, *options, prepare=None, **someone):
    """Looks as somebody else, or after `prepare` was called in the child."""
    # The sanitizer's own search for leaks needs ptrace.
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                   "ASAN_OPTIONS": "exitcode=%d:detect_leaks=%d" % (analyzer.SANITIZER_EXIT,
                                                                    prepare is None)}
    command = [analyzer.PROGRAM, *options, "--pid", str(pid)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=600,
                          env=environment, preexec_fn=prepare, **someone)
    result = analyzer.Result(command, done.returncode, done.stdout, done.stderr)
    assert "Sanitizer" not in result.stderr, result.describe()
    return result


def assert_surveyed(result, pid, *words):
    """Names and states of threads, one sentence, and the exit code of an incomplete report."""
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    assert result.stderr.count("\n") == 1 and "process %d " % pid in result.stderr, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
    assert "only the names and states" in result.stdout
    headings = re.findall(r"^Threads? ([\d, ]+)", result.stdout, re.M)
    shown = [int(tid) for heading in headings for tid in re.findall(r"\d+", heading)]
    assert sorted(shown) == sorted(living.thread_states(pid))
    assert result.stdout.count("gap: ") == len(headings)


# ---- not allowed ----

@needs_root
def test_process_of_another_user():
    with at_rest("busy") as process:
        result = report_as(process.pid, **NOBODY)
        assert_surveyed(result, process.pid, "belongs to user 0", "sudo")
        # Those that do the same stand together.
        assert result.stdout.count("it is sleeping") == 1 and "3 threads" in result.stdout
        assert "it is running" in result.stdout
        document = report_as(process.pid, "--format", "json", **NOBODY).json
        analyzer.assert_fits_schema(document)
        assert document["target"]["python"] is None and len(document["warnings"]) == 1
        for options in (["--no-pause"], ["--mode", "native"], ["--locals", "--all"]):
            assert_surveyed(report_as(process.pid, *options, **NOBODY), process.pid, "user 0")
        alone = report_as(process.pid, "--thread", str(process.pid), **NOBODY)
        assert alone.stdout.count("gap: ") == 1 and alone.returncode == analyzer.EXIT_PARTIAL
        living.assert_runs_free(process.pid)


@needs_root
def test_process_that_lets_nobody_look():
    program = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" + RESTING
    with at_rest(program=program, **NOBODY) as process:
        assert_surveyed(report_as(process.pid, **NOBODY), process.pid, "prctl", "sudo")
        # Root may.
        assert living.report(process.pid).returncode == analyzer.EXIT_COMPLETE


@needs_root
def test_root_of_a_container_without_the_right():
    with at_rest() as process:
        result = report_as(process.pid, prepare=drop_right_to_trace)
        assert_surveyed(result, process.pid, "--cap-add=SYS_PTRACE")
    with at_rest(**NOBODY) as process:
        result = report_as(process.pid, prepare=drop_right_to_trace)
        assert_surveyed(result, process.pid, "belongs to user 65534", "--cap-add=SYS_PTRACE")


@needs_root
def test_root_of_a_container_looks_at_its_own():
    """Both have the dozen capabilities of a container: the kernel lets trace whose own are among one's own."""
    with at_rest(preexec_fn=drop_right_to_trace) as process:
        result = report_as(process.pid, prepare=drop_right_to_trace)
    assert result.returncode == analyzer.EXIT_COMPLETE and not result.stderr, result.describe()
    assert "stopped for" in result.stdout and "gap: " not in result.stdout


@needs_root
def test_core_of_what_may_not_be_stopped():
    with at_rest() as process, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        result = report_as(process.pid, "--save-core=%s/saved" % folder, **NOBODY)
        assert os.listdir(folder) == []
    assert result.returncode == analyzer.EXIT_NOTHING and "is not written" in result.stderr
    assert "gap: " in result.stdout


# ---- seccomp ----

@pytest.mark.parametrize("calls", [[SYS_PTRACE], [SYS_PTRACE, SYS_READV]])
def test_we_may_not_call_ptrace(calls):
    """Memory can be read all the same: Python frames, without a stop, and it is said."""
    with at_rest() as process:
        result = report_as(process.pid, "--no-group", prepare=forbid(*calls))
        assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
        assert result.stderr.count("\n") == 1, result.stderr
        assert "seccomp filter forbids ptrace" in result.stderr and "--cap-add" in result.stderr
        assert "read without stopping it" in result.stdout
        assert result.stdout.count("Python  rest ") == 3 and '"rest-2"' in result.stdout
        native = report_as(process.pid, "--mode", "native", prepare=forbid(*calls))
        assert_surveyed(native, process.pid, "seccomp filter")
        unpaused = report_as(process.pid, "--no-pause", prepare=forbid(*calls))
        assert unpaused.returncode == analyzer.EXIT_COMPLETE, unpaused.describe()


def test_we_may_not_read_by_the_fast_call():
    with at_rest() as process:
        result = report_as(process.pid, prepare=forbid(SYS_READV))
        assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()


def test_process_with_a_filter_of_its_own():
    """What it may not call does not matter to us."""
    with at_rest(preexec_fn=forbid(SYS_PTRACE, SYS_READV, 1000)) as process:
        result = living.report(process.pid)
        assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
        living.assert_runs_free(process.pid)


# ---- held by somebody else ----

def test_traced_process(tmp_path):
    """What another tracer holds can be read without stopping it again."""
    me = "traced by %d (" % os.getpid()
    with living.running([one().path, "-s", living.BUSY, "600"]) as process:
        # Stopped as a whole, so that it can be seen that nothing is a mixture.
        with living.stopped(process):
            with living.traced(process.pid):
                result = living.report(process.pid)
                assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
                assert me in result.stderr and "detach" in result.stderr
                assert "mixture" not in result.stderr
                assert "/busy.py:" in result.stdout and "read without stopping it" in result.stdout
                assert_surveyed(living.report(process.pid, "--mode", "native"), process.pid, me)
                saved = living.report(process.pid, "--save-core", tmp_path / "saved")
                assert saved.returncode == analyzer.EXIT_NOTHING and os.listdir(tmp_path) == []
                assert "/busy.py:" in saved.stdout and "could not be stopped" in saved.stderr
            assert living.report(process.pid).returncode == analyzer.EXIT_COMPLETE


def test_process_of_which_one_thread_is_traced():
    with at_rest() as process:
        with living.traced(max(living.thread_states(process.pid))):
            result = living.report(process.pid)
            assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
            assert "process %d is traced by %d (" % (process.pid, os.getpid()) in result.stderr
            assert "time.sleep(600)" in result.stdout
        living.assert_runs_free(process.pid)
        assert living.report(process.pid).returncode == analyzer.EXIT_COMPLETE


def test_two_looks_at_once():
    """Whoever comes second waits for the first one, and both reports are whole."""
    pairs = 60 if os.environ.get("PSC_TEST_THOROUGH") else 12
    with at_rest() as process:
        command = [analyzer.PROGRAM, "--pid", str(process.pid)]
        for _ in range(pairs):
            looks = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) for _ in range(2)]
            for look in looks:
                said, complained = look.communicate(timeout=600)
                assert look.returncode == analyzer.EXIT_COMPLETE, complained
                assert said.count("time.sleep(600)") >= 2 and not complained
        living.assert_runs_free(process.pid)


def test_another_tracer_that_goes_on_and_off():
    """As a sampler does: it is away for longer than it is there."""
    with at_rest() as process:
        ended = threading.Event()

        def trace_now_and_then():
            while not ended.is_set():
                # A look may be there just now.
                with contextlib.suppress(AssertionError), living.traced(process.pid):
                    ended.wait(0.01)
                ended.wait(0.02)
        sampler = threading.Thread(target=trace_now_and_then)
        sampler.start()
        try:
            for _ in range(5):
                result = living.report(process.pid)
                assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
        finally:
            ended.set()
            sampler.join()
        living.assert_runs_free(process.pid)


# ---- cannot be stopped ----

VFORK = """
#include <unistd.h>
int hold(const int *end)
{
    char byte;
    if (vfork() == 0) { read(*end, &byte, 1); _exit(0); }
    return 0;
}
"""

HOLDING = """
import ctypes, os, sys, threading, time
def rest(): time.sleep(600)
def hold(): library.hold(ctypes.byref(ctypes.c_int(reader)))
library = ctypes.CDLL(sys.argv[1])
reader = int(sys.argv[2])
threading.Thread(target=rest, name='rest', daemon=True).start()
thread = threading.Thread(target=hold, name='hold', daemon=True)
thread.start()
print('ready', flush=True)
thread.join()
print('done', flush=True)
time.sleep(600)
"""


def wait_for_vfork(pid):
    """The thread of the process that has a child, and waits for it. For its disk any thread may wait."""
    def holding():
        for tid, (state, _) in living.thread_states(pid).items():
            with open("/proc/%d/task/%d/children" % (pid, tid)) as file:
                if state == "D" and file.read():
                    return tid
        return None

    living.wait_until(holding, "vfork")
    return holding()


def test_thread_that_cannot_be_stopped(interpreter, tmp_path):
    """vfork() holds its caller in an uninterruptible wait; it is shown as it waits there."""
    library = living.compiled("hold.so", VFORK, "-shared", "-fPIC")
    reader, writer = os.pipe()
    command = [interpreter.path, "-s", "-c", HOLDING, library, str(reader)]
    with living.running(command, pass_fds=[reader]) as process:
        held = wait_for_vfork(process.pid)
        start = time.monotonic()
        result = living.report(process.pid, "--format", "json")
        assert time.monotonic() - start < living.WAIT
        text = living.report(process.pid, "--save-core", tmp_path / "saved").stdout
        living.assert_runs_free(process.pid)
        os.write(writer, b"x")
        assert process.stdout.readline().strip() == b"done"
        living.assert_runs_free(process.pid)
    os.close(reader)
    os.close(writer)
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    assert "thread %d is in an uninterruptible wait" % held in result.stderr, result.stderr
    analyzer.assert_fits_schema(result.json)
    assert '"rest"' in text and '"hold"' in text, text
    # Of its registers only the system call's arguments are known. vfork() keeps its return address in
    # one of them. Its caller's frame pointer is not known: on its stack, words that earlier calls left may
    # stand before that frame's return address, and then it is said that frames may be missing there.
    thread = analyzer.thread_by_tid(result.json, held)
    assert thread["name"] == "hold" and thread["python_thread_id"]
    assert [frame["name"] for frame in analyzer.python_frames(thread)][:2] == ["hold", "run"]
    assert "vfork" in thread["frames"][0]["symbol"], thread["frames"]
    assert thread["frames"][1]["symbol"] == "hold", thread["frames"]
    gaps = analyzer.gaps(thread)
    assert not gaps or gaps == thread["frames"][2:3] and "may be missing" in gaps[0]["function"], gaps
    assert living.begins_a_thread(thread["frames"][-1]), thread["frames"]
    dead = analyzer.run("--format", "json", tmp_path / "saved").json
    assert analyzer.thread_by_tid(dead, held) == thread
    assert [thread["tid"] for thread in dead["threads"]] == \
        [thread["tid"] for thread in result.json["threads"]]


def test_process_that_cannot_be_stopped_at_all():
    """Its only thread waits in vfork()."""
    library = living.compiled("hold.so", VFORK, "-shared", "-fPIC")
    reader, writer = os.pipe()
    program = ("import ctypes, sys\n"
               "print('ready', flush=True)\n"
               "def hold(): ctypes.CDLL(sys.argv[1]).hold(ctypes.byref(ctypes.c_int(int(sys.argv[2]))))\n"
               "hold()\n")
    with living.running([one().path, "-s", "-c", program, library, str(reader)],
                        pass_fds=[reader]) as process:
        assert wait_for_vfork(process.pid) == process.pid
        result = living.report(process.pid)
        os.write(writer, b"x")
        assert process.wait(timeout=600) == 0
    os.close(reader)
    os.close(writer)
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    assert "uninterruptible" in result.stderr and "Python  hold " in result.stdout, result.stdout


# ---- nothing to be looked at ----

def test_our_own_process_and_the_first_one():
    ours = subprocess.run(["sh", "-c", 'exec "%s" --pid $$' % analyzer.PROGRAM], capture_output=True,
                          timeout=600)
    assert ours.returncode == analyzer.EXIT_NOTHING and b"is pystack-core itself" in ours.stderr
    first = living.report(1)
    assert first.returncode in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL), first.describe()
    assert living.process_state(1)[1] == 0
