"""A living process: what is shown is right, and it lives on as if nobody had looked."""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess

import pytest

import analyzer
import cores
import interpreters
import living
import resting

ALSO_OLDER = True
SLOW = True  # A third of the interpreters, unless thoroughly.
LOOKS = 5 if analyzer.SANITIZED else 20


# ---- right ----

def without_native_names(document, names):
    """A core has no names of threads but the first one's, whose process it is."""
    for thread in document["threads"]:
        if thread["name"] in names.values():
            thread["name"] = None
    return document


def unnamed(text, names):
    lines = [line.split(" · waits for ")[0].split(" · sleeps")[0] for line in text.splitlines()[2:]]
    for name in set(names.values()):
        lines = [line.replace(' "%s"' % name, "") for line in lines]
    return lines


@pytest.mark.skipif(shutil.which("gcore") is None, reason="no gcore here")
@pytest.mark.parametrize("mode", ["merged", "native", "python"])
def test_stopped_process_is_shown_as_its_core(interpreter, mode, tmp_path):
    with living.start_busy(interpreter) as process:
        resting.let_pass(random.random() * 0.2)
        with living.stopped(process):
            live = living.report(process.pid, "--format", "json", "--all", "--mode", mode)
            subprocess.run(["gcore", "-o", str(tmp_path / "core"), str(process.pid)], check=True,
                           capture_output=True, timeout=600)
            again = living.report(process.pid, "--format", "json", "--all", "--mode", mode)
            text = living.report(process.pid, "--mode", mode).stdout
            names = living.native_thread_names(process.pid)
        core = "%s.%d" % (tmp_path / "core", process.pid)
        dead = analyzer.run("--format", "json", "--all", "--mode", mode, core)
        dead_text = analyzer.run("--mode", mode, core).stdout
    os.unlink(core)
    assert live.returncode == dead.returncode == analyzer.EXIT_COMPLETE, \
        live.describe() + dead.describe()
    analyzer.assert_fits_schema(live.json)
    # What only a living system knows is in it, and the time that it runs goes on.
    for result in (live, again, dead):
        living.as_of_memory(result.json)
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


def test_busy_process_is_always_shown_whole(interpreter):
    with living.start_busy(interpreter) as process:
        living.report(process.pid)
        for _ in range(LOOKS):
            result = living.report(process.pid, "--format", "json", "--all")
            assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
            document = result.json
            assert document["target"]["pid"] == process.pid
            assert document["threads"][0]["tid"] == process.pid
            assert len(document["threads"]) >= 7
            for thread in document["threads"]:
                living.assert_whole(thread)
            resting.let_pass(random.random() * 0.01)
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
        result = living.report(process.pid, "--format", "json", "--no-source")
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
               "ctypes.CDLL(None).syscall(60, 0)\n")
    with living.running([system.path, "-s", "-c", program]) as process:
        living.wait_until(lambda: living.process_state(process.pid)[0] == "Z", "end")
        resting.wait_until_at_rest(process.pid)
        result = living.report(process.pid)
    assert "rest" in result.stdout and "time.sleep(600)" in result.stdout, result.describe()


# ---- what cannot be looked at ----

def refused(pid, *words, code=analyzer.EXIT_NOTHING, options=()):
    result = living.report(pid, *options)
    assert result.returncode == code and not result.stdout, result.describe()
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
    return result


def test_no_such_process():
    with open("/proc/sys/kernel/pid_max") as file:
        unused = int(file.read())  # The kernel gives none from there on.
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
    with living.one_busy() as process:
        with living.stopped(process):
            tid = max(tid for tid in living.thread_states(process.pid) if tid != process.pid)
            refused(tid, "--pid %d" % process.pid)


SLEEPS = 'import time\nprint("ready", flush=True)\ntime.sleep(600)\n'


def test_program_by_its_link(tmp_path):
    """As an environment of venv has one; a script that it runs is no program."""
    link, script = tmp_path / "python", tmp_path / "script"
    one = interpreters.find_system() or interpreters.find_wanted()[-1]
    link.symlink_to(one.path)
    script.write_text("#!%s\n%s" % (link, SLEEPS))
    script.chmod(0o755)
    with living.running([str(link), "-s", "-c", SLEEPS]) as process:
        alive = living.report(process.pid, "--format", "json", "--save-core", tmp_path / "core")
    assert alive.json["target"]["executable"] == str(link)
    assert analyzer.json_of(tmp_path / "core").json["target"]["executable"] == str(link)
    with living.running([str(script)]) as process:
        mapped = living.report(process.pid, "--format", "json").json["target"]["executable"]
    assert mapped == os.path.realpath(one.path)


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN])
@pytest.mark.parametrize("one", interpreters.find_three(), ids=repr)
def test_process_that_a_signal_has_stopped(one, number):
    """It waits for SIGCONT alone, and which signal stopped it is known of who is stopped once more."""
    said = "; %s had stopped it before: it does nothing until SIGCONT"
    # In the group of a parent that has no shell the kernel lets SIGTSTP and SIGTTIN stop nobody (setpgid(2), "orphaned").
    with living.running([one.path, "-s", "-c", SLEEPS], preexec_fn=os.setpgrp) as process:
        free = living.report(process.pid)
        process.send_signal(number)
        living.wait_until(lambda: living.process_state(process.pid)[0] == "T", "stop")
        for mode in ("merged", "python"):
            assert said % number.name in living.report(process.pid, "--mode", mode).stdout.splitlines()[1]
        document = living.report(process.pid, "--format", "json").json
        unpaused = living.report(process.pid, "--no-pause")
        process.send_signal(signal.SIGCONT)
        living.wait_until(lambda: living.process_state(process.pid)[0] != "T", "going on")
        again = living.report(process.pid, "--format", "json").json
    analyzer.assert_fits_schema(document)
    assert document["running"]["stopped_by"] == number.name and "stopped_by" not in again["running"]
    assert said % "a signal" in unpaused.stdout and "had stopped it" not in free.stdout


# ---- without a pause ----


def test_quiet_process_is_read_exactly_without_a_pause(interpreter):
    with living.start_busy(interpreter) as process:
        with living.stopped(process):
            paused = living.report(process.pid, "--format", "json", "--mode", "python")
            unpaused = living.report(process.pid, "--format", "json", "--no-pause")
    assert unpaused.returncode == analyzer.EXIT_COMPLETE, unpaused.describe()
    analyzer.assert_fits_schema(unpaused.json)
    assert "pause" not in unpaused.json["target"]

    def stacks(result):
        # A thread that is being started has no frames yet, and up to 3.11 its parent's id.
        return sorted((thread["python_thread_id"], repr(thread["frames"]))
                      for thread in result.json["threads"]
                      if thread["python_thread_id"] and thread["frames"])

    def ids(result):
        return {(thread["python_thread_id"], thread["tid"]) for thread in result.json["threads"]
                if thread["python_thread_id"] and thread["frames"]}

    assert stacks(unpaused) == stacks(paused)
    assert ids(unpaused) == ids(paused) and any(all(pair) for pair in ids(unpaused))
    # Whether a thread waits or has ended is not known of one that was not stopped.
    assert not {"terminated", "idle"} & {state for thread in unpaused.json["threads"] for state in thread["state"]}


def test_busy_process_without_a_pause(interpreter):
    """It is never stopped, and a report says when it may be wrong."""
    with living.start_busy(interpreter) as process:
        seen: set = set()
        for _ in range(LOOKS):
            ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid), "--no-pause"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while ours.poll() is None and not seen:
                seen.update(state for state in living.thread_states(process.pid).values()
                            if state[0] in "tT" or state[1])
            out, said = ours.communicate(timeout=600)
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
    with living.start_busy(system) as process:
        ours = subprocess.Popen([analyzer.PROGRAM, "--watch", "0.2", "--format", "json", "--pid", str(process.pid)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = [ours.stdout.readline() for _ in range(3)]
        process.terminate()
        # communicate() would leave out what readline() has read ahead.
        reports = [json.loads(line) for line in lines + ours.stdout.readlines()]
        said = ours.stderr.read()
        ours.wait()
        ours.stdout.close()
        ours.stderr.close()
    for document in reports:
        analyzer.assert_fits_schema(document)
        assert document["target"]["pid"] == process.pid
    assert b"zombie" in said or b"ended" in said, said
    assert ours.returncode in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL)


def test_watch_ends_with_its_reader():
    with living.one_busy() as process:
        ours = subprocess.Popen([analyzer.PROGRAM, "--pid", str(process.pid), "--watch", "0.05"],
                                stdout=subprocess.PIPE)
        assert ours.stdout.readline()
        ours.stdout.close()
        assert ours.wait(timeout=living.WAIT) in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL)
        living.assert_runs_free(process.pid)


@pytest.mark.parametrize("words", [["--pid", "1", "--watch", "0"], ["--pid", "1", "--watch", "nan"],
                                   ["--pid", "1", "--watch", "x"], ["--watch", "1", "core"]])
def test_watch_needs_seconds_and_a_process(words):
    assert analyzer.run(*words).returncode == analyzer.EXIT_USAGE


LARGE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    size_t size = (size_t)400 << 20;
    int data = fileno(tmpfile());
    memset(malloc(size), 7, size);
    for (int i = 0; i < 50 && !ftruncate(data, (off_t)size); i++)
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, data, 0);
    puts("ready");
    fflush(stdout);
    pause();
}
"""


def test_search_for_an_interpreter_passes_by_data(tmp_path):
    """Nor files of data: a runtime is data of a module, and not each page of a large process is asked for it."""
    (tmp_path / "program.c").write_text(LARGE)
    cores.compile_c([str(tmp_path / "program.c")], str(tmp_path / "program"), "-O0")
    with living.running([tmp_path / "program"]) as process:
        result = analyzer.run("--pid", process.pid, "--no-sandbox", timeout=1)
    assert "no Python interpreter was found" in result.stderr and "main" in result.stdout, result.describe()
