"""A living process: what is shown is right, and it lives on as if nobody had looked."""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

import analyzer
import cores
import interpreters
import living

ALSO_OLDER = True
LOOKS = 5 if analyzer.SANITIZED else 20
DEATHS = 30 if analyzer.SANITIZED else 200
OUTERMOST = ("_start", "clone3", "__clone3", "clone", "__clone", "start_thread")


def start_busy(interpreter, seconds=600):
    return living.running([interpreter.path, "-s", living.BUSY, str(seconds)])


# ---- right ----

def without_native_names(document, names):
    """A core has no names of threads but the first one's."""
    for thread in document["threads"]:
        if thread["name"] in names.values():
            thread["name"] = None
    return document


def unnamed(text, names):
    lines = text.splitlines()[2:]
    for name in set(names.values()):
        lines = [line.replace(' "%s"' % name, "") for line in lines]
    return lines


@pytest.mark.skipif(shutil.which("gcore") is None, reason="no gcore here")
@pytest.mark.parametrize("mode", ["merged", "native", "python"])
def test_stopped_process_is_shown_as_its_core(interpreter, mode, tmp_path):
    with start_busy(interpreter) as process:
        time.sleep(random.random() * 0.2)
        with living.stopped(process):
            live = living.look(process.pid, "--format", "json", "--all", "--mode", mode)
            subprocess.run(["gcore", "-o", str(tmp_path / "core"), str(process.pid)], check=True,
                           capture_output=True, timeout=120)
            again = living.look(process.pid, "--format", "json", "--all", "--mode", mode)
            text = living.look(process.pid, "--mode", mode).stdout
            names = living.native_thread_names(process.pid)
        core = "%s.%d" % (tmp_path / "core", process.pid)
        dead = analyzer.run("--format", "json", "--all", "--mode", mode, core)
        dead_text = analyzer.run("--mode", mode, core).stdout
    os.unlink(core)
    assert live.returncode == dead.returncode == analyzer.EXIT_COMPLETE, \
        live.describe() + dead.describe()
    analyzer.assert_fits_schema(live.json)
    for result in (live, again):
        assert result.json["target"].pop("pause") > 0
    assert live.json == again.json
    assert "pause" not in dead.json["target"]
    one, other = (without_native_names(result.json, names) for result in (live, dead))
    assert one["target"]["kind"] == "process" and one["target"]["path"] is None
    for key in ("kind", "path"):
        one["target"][key] = other["target"][key] = None
    assert one == other
    assert unnamed(text, names) == unnamed(dead_text, names)


def assert_whole(thread):
    """Both stacks are there from end to end."""
    shown = [frame for frame in thread["frames"] if not frame["inlined"]]
    assert not analyzer.gaps(thread), analyzer.gaps(thread)
    native = [frame for frame in shown if frame["kind"] in ("native", "cython")]
    python = analyzer.python_frames(thread)
    assert native and native[-1]["symbol"] in OUTERMOST or native[-1]["function"] is None, native[-1]
    if python:
        assert python[-1]["name"] in ("<module>", "_bootstrap"), python[-1]
    assert native[0]["trust"] == "context"
    # Code without unwind information is met for some instructions: libffi's trampolines, .init.
    guessed = [(frame["trust"], frame["module"], frame["offset"]) for frame in native[2:]
               if frame["trust"] != "cfi"]
    assert not guessed, guessed
    assert_all_run(shown)


def assert_all_run(frames):
    """Each evaluator runs a frame, but the innermost, which may have just been entered or be returning."""
    runs = []
    for frame in frames:
        if analyzer.is_evaluator(frame):
            runs.append([])
        elif frame["kind"] == "python":
            assert runs, frame["name"]
            runs[-1].append(frame["name"])
    assert all(runs[1:]), [(frame["kind"], frame["symbol"] or frame["name"]) for frame in frames]


def test_busy_process_is_always_shown_whole(interpreter):
    with start_busy(interpreter) as process:
        living.look(process.pid)
        for _ in range(LOOKS):
            result = living.look(process.pid, "--format", "json", "--all")
            assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
            document = result.json
            assert document["target"]["pid"] == process.pid
            assert document["threads"][0]["tid"] == process.pid
            assert len(document["threads"]) >= 7
            for thread in document["threads"]:
                assert_whole(thread)
            time.sleep(random.random() * 0.01)
        living.assert_runs_free(process.pid)
        living.assert_works(process.pid)


def test_deep_recursion(interpreter):
    program = ("import sys, threading, time\n"
               "sys.setrecursionlimit(10**6)\n"
               "def down(n):\n"
               "    if n: return down(n - 1)\n"
               "    print('ready', flush=True); time.sleep(600)\n"
               "threading.stack_size(512 << 20)\n"
               "thread = threading.Thread(target=down, args=(20000,), name='deep')\n"
               "thread.start()\n")
    with living.running([interpreter.path, "-s", "-c", program]) as process:
        result = living.look(process.pid, "--format", "json", "--no-source")
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    deep = next(thread for thread in result.json["threads"] if thread["name"] == "deep")
    assert sum(frame["name"] == "down" for frame in deep["frames"]) == 20001


def test_first_thread_that_has_ended():
    """Its memory is to be had from the others only."""
    system = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    program = ("import ctypes, threading, time\n"
               "def rest():\n"
               "    print('ready', flush=True); time.sleep(600)\n"
               "threading.Thread(target=rest, name='rest').start()\n"
               "time.sleep(0.1)\n"
               "ctypes.CDLL(None).syscall(60, 0)\n")
    with living.running([system.path, "-s", "-c", program]) as process:
        living.wait_until(lambda: living.process_state(process.pid)[0] == "Z", "end")
        result = living.look(process.pid)
    assert "rest" in result.stdout and "time.sleep(600)" in result.stdout, result.describe()


# ---- never left stopped ----

def one_busy():
    return start_busy(interpreters.find_system() or interpreters.find_wanted()[-1])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_our_death_at_any_moment_leaves_the_process_running(number):
    deaths = DEATHS if number == signal.SIGKILL else DEATHS // 4
    chance = random.Random(4711)
    with one_busy() as process:
        start = time.monotonic()
        living.look(process.pid)
        usual = time.monotonic() - start
        killed = 0
        for _ in range(deaths):
            ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # Often while it holds the process: that moment is watched for, not met by chance.
            end = time.monotonic() + usual
            if chance.random() < 0.5:
                while time.monotonic() < end and not living.process_state(process.pid)[1]:
                    pass
                time.sleep(chance.random() * 0.0005)
            else:
                time.sleep(chance.random() * usual)
            ours.send_signal(number)
            killed += ours.wait() == -number
            living.assert_runs_free(process.pid)
        assert killed  # Some looks end before the signal comes: how many, the machine decides.
        assert process.poll() is None
        living.assert_works(process.pid)
        assert living.look(process.pid).returncode == analyzer.EXIT_COMPLETE


def test_our_stop_from_the_terminal_does_not_stop_the_process():
    chance = random.Random(4712)
    with one_busy() as process:
        stops = 0
        for _ in range(DEATHS // 4):
            ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid)], preexec_fn=os.setpgrp,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = time.monotonic() + 1
            while time.monotonic() < end and not living.process_state(process.pid)[1] and \
                    ours.poll() is None:
                pass
            time.sleep(chance.random() * 0.0005)
            ours.send_signal(signal.SIGTSTP)
            living.wait_until(lambda: ours.poll() is not None or
                              living.process_state(ours.pid)[0] == "T", "stop or end")
            stops += ours.poll() is None
            living.assert_runs_free(process.pid)
            ours.send_signal(signal.SIGCONT)
            assert ours.wait(timeout=60) in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL)
        assert stops


def test_broken_pipe():
    with one_busy() as process:
        reader, writer = os.pipe()
        os.close(reader)
        ours = subprocess.run([analyzer.PROGRAM, "--pid", str(process.pid)], stdout=writer,
                              stderr=subprocess.PIPE, timeout=60)
        os.close(writer)
        assert ours.returncode in (0, 1), ours.stderr
        living.assert_runs_free(process.pid)


@pytest.mark.skipif(analyzer.SANITIZED, reason="the sanitizer's shadow needs all addresses")
def test_too_little_memory():
    with one_busy() as process:
        codes = set()
        for megabytes in (*range(10, 60, 2), *range(60, 400, 20)):
            ours = subprocess.run(["prlimit", "--as=%d" % (megabytes << 20), "--core=0",
                                   analyzer.PROGRAM, "--pid", str(process.pid)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
            # 127: the dynamic linker itself had too little.
            assert ours.returncode in (0, 1, 2, 127), (megabytes, ours)
            assert ours.returncode != analyzer.EXIT_NOTHING or b"memory" in ours.stderr, ours.stderr
            codes.add(ours.returncode)
            living.assert_runs_free(process.pid)
        assert {analyzer.EXIT_COMPLETE, analyzer.EXIT_NOTHING} <= codes, codes
        living.assert_works(process.pid)


def test_process_stopped_by_a_signal_stays_so():
    with one_busy() as process:
        with living.stopped(process):
            for _ in range(10):
                assert living.look(process.pid).returncode == analyzer.EXIT_COMPLETE
                states = living.thread_states(process.pid)
                assert set(states.values()) == {("T", 0)}, states
        living.assert_runs_free(process.pid)
        living.assert_works(process.pid)


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


def test_signals_are_not_lost():
    """One that arrives while the process is held is delivered afterwards."""
    with living.running([compiled("counter", COUNTER)]) as process:
        sent = 0
        for _ in range(30):
            ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while ours.poll() is None:
                process.send_signal(signal.SIGRTMIN)
                sent += 1
                time.sleep(0.0002)
        process.send_signal(signal.SIGRTMIN + 1)
        assert int(process.stdout.readline()) == sent


# ---- what cannot be looked at ----

def refused(pid, *words, code=analyzer.EXIT_NOTHING, options=()):
    result = living.look(pid, *options)
    assert result.returncode == code and not result.stdout, result.describe()
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
    return result


def test_no_such_process():
    with open("/proc/sys/kernel/pid_max") as file:
        unused = int(file.read()) - 1
    refused(unused, "there is no process %d" % unused)


@pytest.mark.parametrize("word", ["0", "-1", "x", "12x", "", "99999999999999999999"])
def test_no_process_id(word):
    result = analyzer.run("--pid", word)
    assert result.returncode == analyzer.EXIT_USAGE and "--pid" in result.stderr


def test_pid_and_core_exclude_each_other():
    result = analyzer.run("--pid", "1", "core")
    assert result.returncode == analyzer.EXIT_USAGE and "neither CORE" in result.stderr


def test_zombie():
    process = subprocess.Popen(["true"])
    living.wait_until(lambda: living.process_state(process.pid)[0] == "Z", "zombie")
    refused(process.pid, "is a zombie", "process %d" % os.getpid())
    process.wait()


def test_kernel_thread():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open("/proc/%s/stat" % pid) as file:
            if int(file.read().rpartition(")")[2].split()[6]) & 0x00200000:
                refused(int(pid), "thread of the kernel")
                return
    pytest.skip("no kernel thread can be seen here")


def test_thread_id():
    with one_busy() as process:
        with living.stopped(process):
            tid = max(tid for tid in living.thread_states(process.pid) if tid != process.pid)
            refused(tid, "--pid %d" % process.pid)


# ---- containers ----

needs_root = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None,
                                reason="needs root and unshare")

# Its own file system, of which the root is a folder here, and its own process ids.
CONTAINER = """
set -e
mount --make-rprivate /
mount --bind / "$1"
mount -t tmpfs none "$1/tmp"
cp "$3" "$1/tmp/inside.py"
exec unshare -p -f --kill-child --mount-proc="$1/proc" chroot "$1" "$2" -s /tmp/inside.py 600
"""


@contextlib.contextmanager
def contained(interpreter, folder, program):
    """A process of which neither files nor ids are what they are here; its id as seen from here."""
    if interpreter.path.startswith("/tmp/"):
        pytest.skip("the container has a /tmp of its own, without %s" % interpreter.path)
    folder.mkdir()
    command = ["unshare", "-m", "sh", "-c", CONTAINER, "sh", str(folder), interpreter.path, program]
    with living.running(command) as outer:
        inner = outer.pid
        while True:
            with open("/proc/%d/task/%d/children" % (inner, inner)) as file:
                children = file.read().split()
            if not children:
                break
            inner = int(children[0])
        try:
            yield inner
        finally:
            os.kill(inner, signal.SIGKILL)


@needs_root
def test_container_from_outside(interpreter, tmp_path):
    with contained(interpreter, tmp_path / "root", living.BUSY) as pid:
        result = living.look(pid, "--format", "json", "--all")
        text = living.look(pid).stdout
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    assert result.json["threads"][0]["tid"] == pid
    assert all(module["file"] == "found" for module in result.json["target"]["modules"])
    for thread in result.json["threads"]:
        assert_whole(thread)
    # Its source is in a file system that only the container has.
    assert re.search(r" /tmp/inside\.py:\d+\n +[a-z]", text), text


@needs_root
def test_container_from_inside(interpreter, tmp_path):
    with contained(interpreter, tmp_path / "root", living.BUSY) as pid:
        shutil.copy(analyzer.PROGRAM, "/proc/%d/root/tmp/program" % pid)
        inside = subprocess.run(["nsenter", "-t", str(pid), "-p", "-m", "-r", "-w", "/tmp/program",
                                 "--pid", "1", "--format", "json"], capture_output=True, timeout=60)
    assert inside.returncode == analyzer.EXIT_COMPLETE, inside.stderr
    document = json.loads(inside.stdout)
    assert document["target"]["pid"] == document["threads"][0]["tid"] == 1


@needs_root
def test_chroot(tmp_path):
    """Another root alone: its paths are written in full, and mean what they say only inside."""
    program = compiled("static", COUNTER, "-static")
    shutil.copy(program, tmp_path / "inside")
    with living.running(["chroot", str(tmp_path), "/inside"]) as process:
        result = living.look(process.pid, "--format", "json", "--mode", "native")
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    assert result.json["target"]["executable"] == "/inside"
    assert any(frame["symbol"] == "main" for frame in result.json["threads"][0]["frames"])


@needs_root
@pytest.mark.parametrize("fate", ["deleted", "replaced", "damaged"])
def test_files_that_are_not_there_any_more(fate, tmp_path):
    """The very file that is mapped is found, whatever has become of its name."""
    program = tmp_path / "program"
    shutil.copy(compiled("counter", COUNTER), program)
    with living.running([str(program)]) as process:
        if fate == "deleted":
            program.unlink()
        elif fate == "replaced":
            shutil.copy("/bin/true", tmp_path / "other")
            os.rename(tmp_path / "other", program)
        else:
            program.unlink()
            program.write_bytes(b"not a program")
        result = living.look(process.pid, "--format", "json", "--mode", "native")
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    assert any(frame["symbol"] == "main" for frame in result.json["threads"][0]["frames"])


# ---- without a pause ----

def test_quiet_process_is_read_exactly_without_a_pause(interpreter):
    with start_busy(interpreter) as process:
        with living.stopped(process):
            paused = living.look(process.pid, "--format", "json", "--mode", "python")
            glance = living.look(process.pid, "--format", "json", "--no-pause")
    assert glance.returncode == analyzer.EXIT_COMPLETE, glance.describe()
    analyzer.assert_fits_schema(glance.json)
    assert "pause" not in glance.json["target"]

    def stacks(result):
        # A thread that is being started has no frames yet, and up to 3.11 its parent's id.
        return sorted((thread["python_thread_id"], repr(thread["frames"]))
                      for thread in result.json["threads"]
                      if thread["python_thread_id"] and thread["frames"])

    assert stacks(glance) == stacks(paused)


def test_busy_process_without_a_pause(interpreter):
    """It is never stopped, and a report says when it may be wrong."""
    with start_busy(interpreter) as process:
        seen = set()
        for _ in range(LOOKS):
            ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid), "--no-pause"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while ours.poll() is None and not seen:
                seen.update(state for state in living.thread_states(process.pid).values()
                            if state[0] in "tT" or state[1])
            out, said = ours.communicate(timeout=60)
            assert ours.returncode in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL), said
            assert b"without stopping it" in out
            if ours.returncode == analyzer.EXIT_PARTIAL:
                assert b"mixture of two moments" in said, said
        assert not seen
        living.assert_works(process.pid)


@pytest.mark.parametrize("options", [["core"], ["--pid", "1", "--mode", "native"],
                                     ["--pid", "1", "--thread", "1"]])
def test_no_pause_is_for_python_frames_of_processes(options):
    assert analyzer.run("--no-pause", *options).returncode == analyzer.EXIT_USAGE


# ---- again and again ----

def test_watch_until_the_end(tmp_path):
    system = interpreters.find_system() or interpreters.find_wanted()[-1]
    with start_busy(system, seconds=8 if analyzer.SANITIZED else 2) as process:
        result = living.look(process.pid, "--watch", "0.2", "--format", "json")
        process.wait(timeout=60)
    looks = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(looks) >= 3, result.describe()
    for document in looks:
        analyzer.assert_fits_schema(document)
        assert document["target"]["pid"] == process.pid
    assert "zombie" in result.stderr or "ended" in result.stderr, result.stderr
    assert result.returncode in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL)


def test_watch_ends_with_its_reader():
    with one_busy() as process:
        ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid), "--watch", "0.05"],
                                stdout=subprocess.PIPE)
        assert ours.stdout.readline()
        ours.stdout.close()
        assert ours.wait(timeout=20) in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL)
        living.assert_runs_free(process.pid)


@pytest.mark.parametrize("words", [["--pid", "1", "--watch", "0"], ["--pid", "1", "--watch", "nan"],
                                   ["--pid", "1", "--watch", "x"], ["--watch", "1", "core"]])
def test_watch_needs_seconds_and_a_process(words):
    assert analyzer.run(*words).returncode == analyzer.EXIT_USAGE


# ---- trees ----

RANKS = """
import os, sys, threading, time

def barrier():
    time.sleep(600)

def step(rank):
    barrier() if rank != 5 else late()

def late():
    time.sleep(600)

ready, tell = os.pipe()
for rank in range(8):
    if os.fork() == 0:
        threading.Thread(target=barrier, name="helper", daemon=True).start()
        os.write(tell, b"x")
        step(rank)
got = b""
while len(got) < 8:
    got += os.read(ready, 8)
time.sleep(0.3)
print("ready", flush=True)
os.wait()
"""


@contextlib.contextmanager
def ranks(interpreter):
    with living.running([interpreter.path, "-s", "-c", RANKS], start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_tree_at_one_glance(interpreter):
    with ranks(interpreter) as process:
        result = living.look(process.pid, "--children")
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
            children = [int(pid) for pid in file.read().split()]
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    headings = [line for line in result.stdout.splitlines() if line.startswith("Thread")]
    assert len(children) == 8
    for pid in [process.pid, *children]:
        assert "process %d:" % pid in result.stdout
    # The parent, seven that wait, the one that is late, and a helper of each.
    assert len(headings) == 4, headings
    together = next(line for line in headings if "7 threads" in line)
    assert sum(str(pid) in re.findall(r"\d+", together) for pid in children) == 7
    helpers = next(line for line in headings if "8 threads" in line)
    assert all("%d/" % pid in helpers for pid in children), helpers


def test_tree_as_json(interpreter):
    with ranks(interpreter) as process:
        result = living.look(process.pid, "--children", "--format", "json")
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(documents) == 9 and documents[0]["target"]["pid"] == process.pid
    for document in documents:
        analyzer.assert_fits_schema(document)


def test_tree_of_which_a_part_cannot_be_shown():
    """A zombie among the children is named, and the others are shown."""
    system = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    program = ("import os, time\n"
               "if os.fork() == 0: os._exit(0)\n"
               "time.sleep(0.2); print('ready', flush=True); time.sleep(600)\n")
    with living.running([system.path, "-s", "-c", program]) as process:
        result = living.look(process.pid, "--children")
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    assert "is a zombie" in result.stderr and "time.sleep" not in result.stderr
    assert "Thread %d" % process.pid in result.stdout
