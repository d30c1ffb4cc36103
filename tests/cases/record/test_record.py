"""`pystack-core record`: a living process over time, and what becomes of it."""
import collections
import os
import signal
import subprocess
import sys

import pytest

import analyzer
import cores
import living
from recordings import functions_of, python, read_ndjson, record
from resting import wait_until

SHARES = os.path.join(cores.PROGRAMS, "shares.py")
SECONDS = 6 if analyzer.THOROUGH else 3
SEED = 7


def start(*arguments, **more):
    return subprocess.Popen([analyzer.PROGRAM, "record", *[str(argument) for argument in arguments]],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def collapsed(text):
    """[(frames, count)]"""
    lines = []
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        lines.append((stack.split(";"), int(count)))
    return lines


def test_formats_agree(tmp_path):
    paths = {name: tmp_path / name for name in ("collapsed", "ndjson", "lines")}
    outputs = [word for name, path in paths.items() for word in ("--output", "%s=%s" % (name, path))]
    with living.running([python(), SHARES, "60", str(SEED)]) as process:
        result = record("--pid", process.pid, "--duration", 1, "--threads", *outputs)
        living.assert_runs_free(process.pid)
        assert process.poll() is None
    profile = read_ndjson(paths["ndjson"].read_text())
    lines = collapsed(paths["collapsed"].read_text())
    assert sum(count for _, count in lines) == sum(sample["weight"] for sample in profile["sample"] if sample["stack"])
    assert all(stack[0].endswith("(%d)" % process.pid) for stack, _ in lines), lines[0]
    assert any("in_python" in frame for stack, _ in lines for frame in stack)
    assert "wanted" in result.stderr and "taken" in result.stderr
    text = paths["lines"].read_text()
    assert "total += number * number" in text and SHARES in text
    [info] = profile["profile"]
    assert info["schema"] == "pystack-core-profile/1" and info["interval_ns"] == 10 ** 7
    [one] = profile["process"]
    assert one["pid"] == process.pid and one["python"].startswith("CPython 3.")


def test_signals_of_the_target_arrive():
    """A timer that fires every two milliseconds goes on: nothing is held between the samples."""
    code = ("import signal, sys\n"
            "def take(*_):\n"
            "    global taken\n"
            "    taken += 1\n"
            "    if taken == 300:\n"
            "        signal.setitimer(signal.ITIMER_REAL, 0)\n"
            "        sys.exit(7)\n"
            "taken = 0\n"
            "signal.signal(signal.SIGALRM, take)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\n"
            "while True: sum(range(1000))\n")
    result = record("--rate", 500, "--", python(), "-c", code, codes=(7,), timeout=120)
    assert collapsed(result.stdout)


def test_ctrl_c_writes_and_lets_run(tmp_path):
    output = tmp_path / "out.txt"
    with living.running([python(), SHARES, "600", str(SEED)]) as process:
        recorder = start("--pid", process.pid, "--idle", "--output", "collapsed=%s" % output)
        wait_until(lambda: living.cpu_ticks(recorder.pid) > 5, "a recording on its way", living.WAIT)
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=living.WAIT)
        assert recorder.returncode in (0, 1), said
        assert output.exists() and b"it was ended" in said
        living.assert_runs_free(process.pid)
        living.assert_works(process.pid)


def test_killed_recorder_leaves_no_trace(tmp_path):
    output = tmp_path / "out.txt"
    with living.running([python(), SHARES, "600", str(SEED)]) as process:
        for _ in range(5):
            recorder = start("--pid", process.pid, "--rate", 2000, "--idle", "--output", "collapsed=%s" % output)
            wait_until(lambda pid=recorder.pid: living.cpu_ticks(pid) > 5, "a recording", living.WAIT)
            recorder.kill()
            recorder.communicate(timeout=living.WAIT)
            living.assert_runs_free(process.pid)
            living.assert_works(process.pid)
    assert not list(tmp_path.iterdir())


def parser_of(recorder):
    """The half of a recorder that parses: who traces is its parent, and has no other children but one that does not trace."""
    with open("/proc/%d/task/%d/children" % (recorder.pid, recorder.pid)) as children:
        return int(children.read().split()[-1])


@pytest.mark.parametrize("half", ["traces", "parses"])
def test_killed_half_ends_the_other(half, tmp_path):
    output = tmp_path / "out.txt"
    with living.running([python(), SHARES, "600", str(SEED)]) as process:
        recorder = start("--pid", process.pid, "--rate", 2000, "--idle", "--output", "collapsed=%s" % output)
        wait_until(lambda: living.cpu_ticks(recorder.pid) > 5, "a recording", living.WAIT)
        parser = parser_of(recorder)
        os.kill(parser if half == "parses" else recorder.pid, signal.SIGKILL)
        _, said = recorder.communicate(timeout=living.WAIT)
        assert recorder.returncode == (2 if half == "parses" else -signal.SIGKILL), said
        assert half == "traces" or b"was ended by signal 9" in said, said
        wait_until(lambda: not os.path.exists("/proc/%d" % parser), "no parser", living.WAIT)
        living.assert_runs_free(process.pid)
        living.assert_works(process.pid)
    assert not list(tmp_path.iterdir())


def test_stopped_target(tmp_path):
    """A stopped process stays stopped, has samples when idle ones are asked for, and can go on."""
    output = tmp_path / "out.ndjson"
    with living.running([python(), SHARES, "600", str(SEED)]) as process:
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: living.process_state(process.pid)[0] == "T", "a stopped process")
        record("--pid", process.pid, "--idle", "--duration", 0.5, "--output", "ndjson=%s" % output)
        assert living.process_state(process.pid)[0] == "T"
        process.send_signal(signal.SIGCONT)
        living.assert_works(process.pid)
    profile = read_ndjson(output.read_text())
    assert profile["sample"] and not any("running" in sample["state"] for sample in profile["sample"])


def test_target_that_executes_another(tmp_path):
    output = tmp_path / "out.ndjson"
    code = ("import os, sys, time\n"
            "def first():\n"
            "    while time.process_time() < 0.5: sum(range(1000))\n"
            "first()\n"
            "os.execv(sys.executable, [sys.executable, %r, '1.5', '1'])\n" % SHARES)
    record("--output", "ndjson=%s" % output, "--", python(), "-c", code, timeout=120)
    profile = read_ndjson(output.read_text())
    stacks = functions_of(profile)
    seen = {function for sample in profile["sample"] for function in stacks[sample["stack"]]}
    assert "first" in seen and "in_python" in seen, sorted(seen)
    assert len(profile["process"]) == 2 and profile["process"][0]["ended"]


def test_children(tmp_path):
    output = tmp_path / "out.ndjson"
    code = ("import subprocess, sys\n"
            "[child.wait() for child in [subprocess.Popen([sys.executable, %r, '3', str(i)]) for i in range(2)]]\n"
            % SHARES)
    record("--children", "--output", "ndjson=%s" % output, "--", python(), "-c", code, timeout=120)
    profile = read_ndjson(output.read_text())
    owners = {thread["id"]: thread["process"] for thread in profile["thread"]}
    stacks = functions_of(profile)
    busy = {owners[sample["thread"]] for sample in profile["sample"] if "in_python" in stacks[sample["stack"]]}
    assert len(busy) == 2, profile["process"]
    assert all(process["parent"] == 1 for process in profile["process"] if process["id"] in busy)
    assert all(process["ended"] for process in profile["process"])


def test_without_a_stop(tmp_path):
    with living.running([python(), SHARES, "600", str(SEED)]) as process:
        result = record("--pid", process.pid, "--no-pause", "--duration", 1, "--rate", 200)
    lines = collapsed(result.stdout)
    assert any("in_python" in stack[-1] for stack, _ in lines)
    assert "stops of a thread" not in result.stderr


MANY_THREADS = ("import threading, time\n"
                "for _ in range(200):\n"
                "    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                "print('ready', flush=True)\n"
                "time.sleep(600)\n")


def test_more_threads_than_files(tmp_path):
    """A file of each thread is kept open: more than a shell allows at first are no end of the process."""
    output = tmp_path / "out.ndjson"
    with living.running([python(), "-c", MANY_THREADS]) as process:
        result = record("--pid", process.pid, "--idle", "--duration", 1, "--rate", 10, "--output", "ndjson=%s" % output,
                        through=["prlimit", "--nofile=100:4096"])
    assert "its time was over" in result.stderr
    profile = read_ndjson(output.read_text())
    assert len([thread for thread in profile["thread"] if not thread["ended"]]) >= 201
    weights: collections.Counter = collections.Counter()
    for sample in profile["sample"]:
        weights[sample["thread"]] += sample["weight"]
    assert len(weights) >= 201 and min(weights.values()) > 1


@pytest.mark.parametrize("files", (240, 330, 420, 512))
def test_threads_take_the_files_that_there_are(tmp_path, files):
    """What is kept open to be quick is no more than others leave, whose looks at the process would fail."""
    output = tmp_path / "out.ndjson"
    waking = MANY_THREADS.replace("target=time.sleep, args=(600,)",
                                  "target=lambda: [threading.Event().wait(.01) for _ in range(60000)]")
    with living.running([python(), "-c", waking]) as process:
        result = record("--pid", process.pid, "--idle", "--duration", 1, "--rate", 10, "--output", "ndjson=%s" % output,
                        through=["prlimit", "--nofile=%d:%d" % (files, files)])
    assert "its time was over" in result.stderr
    assert len(read_ndjson(output.read_text())["thread"]) == 201


def test_more_threads_than_files_may_be_open():
    with living.running([python(), "-c", MANY_THREADS]) as process:
        result = record("--pid", process.pid, "--idle", "--duration", 1, through=["prlimit", "--nofile=100:100"], codes=(2,))
    assert "no more may be open here (ulimit -Hn)" in result.stderr


def test_only_the_holder_of_the_gil(tmp_path):
    output = tmp_path / "out.ndjson"
    with living.running([python(), SHARES, "600", str(SEED)]) as process:
        record("--pid", process.pid, "--gil", "--duration", 0.5, "--output", "ndjson=%s" % output)
    # On a busy machine the thread may not have stood in time.
    samples = [sample for sample in read_ndjson(output.read_text())["sample"] if "failed" not in sample["state"]]
    assert samples and all("holds-gil" in sample["state"] for sample in samples)


def test_processor_time_and_functions(tmp_path):
    """With --cpu a thread that waits counts nothing, and one that works what the kernel has given it; --function has no lines."""
    paths = {name: tmp_path / name for name in ("collapsed", "ndjson")}
    outputs = [word for name, path in paths.items() for word in ("--output", "%s=%s" % (name, path))]
    code = ("import threading, time\n"
            "def waits(): threading.Event().wait()\n"
            "def works():\n"
            "    while time.thread_time() < 1: sum(range(500))\n"
            "threading.Thread(target=waits, daemon=True).start()\n"
            "works()\n")
    record("--cpu", "--idle", "--function", *outputs, "--", python(), "-c", code, timeout=120)
    spent = {"works": 0, "waits": 0, "": 0}
    for stack, count in collapsed(paths["collapsed"].read_text()):
        names = [frame.partition(" (")[0] for frame in stack]
        spent[next((name for name in ("works", "waits") if name in names), "")] += count
        assert not any(frame.endswith("<string>:4)") for frame in stack), stack
    # What it took before the first sample, and behind the last one, is not seen.
    assert 0.6e9 < spent["works"] < 1.1e9 and spent["waits"] < 0.05e9, spent
    profile = read_ndjson(paths["ndjson"].read_text())
    assert not any(frame.get("line") for frame in profile["frame"]), profile["frame"][0]


def test_command_passes_its_code_on():
    assert record("--quiet", "--", sys.executable, "-c", "raise SystemExit(5)", codes=(5,)).stderr == ""
    assert record("--", "/nonexistent/program", codes=(127,)).stderr.startswith("pystack-core: /nonexistent/program")


def test_wrong_usage():
    wrong: list = [[], ["--pid", "1", "--", "true"], ["--rate", "0", "--pid", "1"], ["--output", "x=y", "--pid", "1"]]
    for words in wrong:
        assert analyzer.run("record", *words).returncode == analyzer.EXIT_USAGE, words
    assert analyzer.run("record", "--pid", 4194304).returncode == analyzer.EXIT_NOTHING
