"""Memory that nobody serves: neither the process nor whoever looks at it waits for long."""
import contextlib
import os
import re
import select
import signal
import subprocess
import threading
import time

import pytest

import analyzer
import cores
import interpreters
import living
import resting

PROGRAM = os.path.join(cores.PROGRAMS, "waiting_memory.py")
# What a process may stand still, also on a busy machine, and a look may take, in seconds; and what a busy machine
# adds to the look.
HOLD, LOOK, SPARE = 1.0, 3.0, 20.0
WARNING = "memory-waits"


@contextlib.contextmanager
def waiting(what, *filler):
    interpreter = [item for item in interpreters.find_wanted() if item.minor >= (3, 8)][-1]
    process = subprocess.Popen([interpreter.path, PROGRAM, what, *filler], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        said = process.stdout.readline().decode()
        if said.startswith("no userfaultfd"):
            pytest.skip(said.strip())
        assert said == ("running\n" if what == "later" else "ready\n")
        yield process
    finally:
        process.kill()
        process.communicate()


def look(process, *options):
    begin = time.monotonic()
    # The leak sanitizer waits for all threads; the one that still reads would keep it for ever.
    environment = {"ASAN_OPTIONS": "exitcode=%d:allocator_may_return_null=1:detect_leaks=0" % analyzer.SANITIZER_EXIT}
    result = analyzer.run("--format", "json", *options, "--pid", process.pid, env=environment)
    took = time.monotonic() - begin
    assert result.returncode in (0, 1), result.describe()
    assert took < LOOK + SPARE, (took, result.describe())
    return result


def longest_stand(process):
    """The longest time in which its thread could not run; it ends then."""
    process.stdin.write(b"\n")
    process.stdin.flush()
    return float(process.stdout.readline())


@pytest.fixture(name="noise", autouse=True)
def fixture_noise():
    """How long a thread that nobody stops could not run meanwhile: that, too, is in what the target tells."""
    gaps, over = [0.0], threading.Event()

    def beat():
        while not over.is_set():
            before = time.monotonic()
            resting.let_pass(0.002)
            gaps.append(time.monotonic() - before)

    thread = threading.Thread(target=beat)
    thread.start()
    yield lambda: max(gaps)
    over.set()
    thread.join()


def functions(document, name):
    thread, = (thread for thread in document["threads"]
               if any(frame["function"] == name for frame in thread["frames"]))
    return [frame["function"] for frame in thread["frames"] if frame["kind"] == "python"]


def codes(document):
    return [warning["code"] for warning in document["warnings"]]


def test_a_stack(noise):
    """Python's frames are elsewhere from 3.11 on; the native ones end where the stack does."""
    with waiting("stack") as process:
        document = look(process).json
        assert WARNING in codes(document)
        assert functions(document, "holder")[:2] == ["rest", "holder"]
        thread, = (thread for thread in document["threads"] if thread["name"] == "deep" or any(
            frame["function"] == "deep" for frame in thread["frames"]))
        assert analyzer.gaps(thread), thread
        assert longest_stand(process) < HOLD + noise()


def test_an_object(noise):
    """/proc/PID/mem says at once that such a page cannot be read: what is shown of it is not made up."""
    with waiting("object") as process:
        document = look(process, "--locals").json
        assert functions(document, "holder")[:2] == ["rest", "holder"]
        assert functions(document, "deep")[:102] == ["rest"] + ["deep"] * 101
        assert "xxx" not in str(document)
        assert longest_stand(process) < HOLD + noise()


def test_arguments(noise):
    """Of a command line, one page waits and the other does not."""
    with waiting("arguments", "x" * 8192) as process:
        document = look(process).json
        assert functions(document, "holder")[:2] == ["rest", "holder"]
        assert longest_stand(process) < HOLD + noise()


@pytest.mark.parametrize("full", ["", "=full"])
def test_a_saved_core(tmp_path, full):
    with waiting("object") as process:
        path = os.path.join(tmp_path, "saved")
        look(process, "--save-core" + full, path)
        document = analyzer.json_of(path).json
        assert functions(document, "holder")[:2] == ["rest", "holder"]
        longest_stand(process)


def test_without_a_stop(noise):
    with waiting("stack") as process:
        document = look(process, "--no-pause").json
        assert functions(document, "holder")[:2] == ["rest", "holder"]
        assert longest_stand(process) < HOLD + noise()


def changes_of_context(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", file.read(), re.M).group(1))


def wait_for_moments(recording, count):
    """Until it has slept so many times more: each of its moments begins so."""
    until = changes_of_context(recording.pid) + count
    resting.wait_until(lambda: recording.poll() is not None or changes_of_context(recording.pid) >= until,
                       "moments of a recording", LOOK + SPARE)


def test_a_recording(tmp_path, noise):
    """What it has copied at each moment waits from one of them on."""
    path = os.path.join(tmp_path, "profile")
    with waiting("later") as process:
        command = [analyzer.PROGRAM, "record", "--pid", str(process.pid), "--idle", "--output", "collapsed=" + path]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as recording:
            try:
                wait_for_moments(recording, 100)
                process.stdin.write(b"\n")
                process.stdin.flush()
                assert process.stdout.readline() == b"ready\n"
                wait_for_moments(recording, 100)
                recording.send_signal(signal.SIGINT)
                assert recording.wait(LOOK + SPARE) in (0, 1)
            finally:
                recording.kill()
        with open(path) as file:
            assert "deep" in file.read()
        assert longest_stand(process) < HOLD + noise()


def test_objects_that_cannot_be_read():
    """What nobody serves is neither zeros nor gone."""
    with waiting("object") as process:
        result = analyzer.run("heap", "--verify", "--format", "json", "--pid", process.pid)
        assert result.json["findings"] == []
        assert "heap-unread" in codes(result.json)
        longest_stand(process)


@pytest.mark.parametrize("what", ["stack", "object"])
def test_a_table_of_its_time(what, noise):
    """`top` in a terminal."""
    with waiting(what) as process:
        terminal, other = os.openpty()
        command = [analyzer.PROGRAM, "top", "--idle", "--color", "never", "--pid", str(process.pid)]
        with subprocess.Popen(command, stdin=other, stdout=other, stderr=other,
                              env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "24"}) as shown:
            os.close(other)
            try:
                text, end = b"", time.monotonic() + LOOK + SPARE
                while text.count(b"rest (") < 1 and time.monotonic() < end:
                    if select.select([terminal], [], [], 0.1)[0]:
                        text += os.read(terminal, 65536)
                assert b"rest (" in text, text
                os.write(terminal, b"q")
                # Nobody reads what it draws at last; a terminal has room for it.
                assert shown.wait(LOOK + SPARE) == 0
            finally:
                shown.kill()
                os.close(terminal)
        assert longest_stand(process) < HOLD + noise()


def test_command_lines_that_nobody_serves(tmp_path):
    """--match reads those of all; the kernel gives a part of one, and does not wait (mm/memory.c, access_remote_vm())."""
    word = "word%d" % os.getpid()
    source = tmp_path / "program.py"
    source.write_text("import signal\nprint('ready', flush=True)\nsignal.pause()\n")
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    environment = {"ASAN_OPTIONS": "exitcode=%d:allocator_may_return_null=1:detect_leaks=0" % analyzer.SANITIZER_EXIT}
    with waiting("arguments", "x" * 8192), living.running([interpreter.path, source, word]) as process:
        begin = time.monotonic()
        result = analyzer.run("--format", "json", "--match", word, env=environment)
        assert time.monotonic() - begin < LOOK + SPARE
        assert result.json["target"]["pid"] == process.pid, result.describe()


MANY_TASKS = """
import asyncio, sys, threading, time
beats = []
def beat():
    while True:
        before = time.monotonic()
        threading.Event().wait(0.002)
        beats.append(time.monotonic() - before)
async def rest():
    await asyncio.Event().wait()
async def main():
    tasks = [asyncio.create_task(rest()) for _ in range(20000)]
    await asyncio.sleep(0)
    threading.Thread(target=beat, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.readline()
    print("%.3f" % max(beats), flush=True)
    sys.stdin.readline()
asyncio.run(main())
"""


def test_a_busy_machine(tmp_path, noise):
    """One processor for the look, without the right to be first, and for eight others: it does not hold for longer."""
    cpu = max(os.sched_getaffinity(0))
    one = ["taskset", "--cpu-list", str(cpu)]
    if not os.getuid():
        one += ["setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice"]
    interpreter = [item for item in interpreters.find_wanted() if item.minor >= (3, 8)][-1]
    source = tmp_path / "tasks.py"
    source.write_text(MANY_TASKS)
    with contextlib.ExitStack() as stack:
        def start(*command, **streams):
            process = stack.enter_context(subprocess.Popen(command, **streams))
            stack.callback(process.kill)
            return process

        target = start(interpreter.path, str(source), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert target.stdout.readline() == b"ready\n"
        for _ in range(8):
            start(*one, "sh", "-c", "ulimit -t 60; while :; do :; done")
        look_at = start(*one, analyzer.PROGRAM, "--tasks", "--pid", str(target.pid),
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        resting.wait_until(lambda: state_of(target.pid) == "t" or look_at.poll() is not None, "stop")
        resting.wait_until(lambda: state_of(target.pid) != "t" or look_at.poll() is not None, "end of the stop")
        assert look_at.poll() is None  # It was seen to stand.
        assert longest_stand(target) < HOLD + noise()


def state_of(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rpartition(")")[2].split()[0]


# One of the 60 threads wakes up every 50 ms: some that slept before a stop do so in the middle of it.
MANY_SLEEPERS = """
import asyncio, sys, threading, time
stands = []
def beat():
    before = time.monotonic()
    while True:
        threading.Event().wait(0.002)
        now = time.monotonic()
        if now - before > 0.05:
            stands.append((before, now))
        before = now
def wake(number):
    threading.Event().wait(number * 0.05)
    while True:
        threading.Event().wait(3)
async def rest():
    await asyncio.Event().wait()
async def main():
    tasks = [asyncio.create_task(rest()) for _ in range(40000)]
    await asyncio.sleep(0)
    for number in range(60):
        threading.Thread(target=wake, args=(number,), daemon=True).start()
    threading.Thread(target=beat, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.readline()
    print(*("%.3f %.3f" % stand for stand in stands), flush=True)
    sys.stdin.readline()
asyncio.run(main())
"""


def test_between_two_stops(tmp_path, noise):
    """Threads that wake up make another snapshot necessary: the process goes on before it for as long as it stood."""
    interpreter = [item for item in interpreters.find_wanted() if item.minor >= (3, 8)][-1]
    source = tmp_path / "sleepers.py"
    source.write_text(MANY_SLEEPERS)
    process = subprocess.Popen([interpreter.path, str(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        report = look(process, "--tasks", "--explain")
        process.stdin.write(b"\n")
        process.stdin.flush()
        clock = [float(word) for word in process.stdout.readline().split()]
    finally:
        process.kill()
        process.communicate()
    # What a busy machine does to it is no stop.
    least = 0.05 + 2 * noise()
    stands = [stand for stand in zip(clock[::2], clock[1::2]) if stand[1] - stand[0] > least]
    for (begin, end), (again, _) in zip(stands, stands[1:]):
        assert again - end > 0.8 * (end - begin) - noise(), (stands, report.describe())
