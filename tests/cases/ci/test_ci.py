"""pystack-core ci: the command, its cores, hangs and signals."""
import json
import os
import resource
import signal
import subprocess

import pytest

import analyzer
import cores
from ci_runs import PYTHON, ci, core_files, finish, needs_cores, python, start

GROUPS = os.path.join(cores.SOURCE, "schema/pystack-core-groups-1.schema.json")


# ---- the command itself ----

@pytest.mark.parametrize("command,code", [
    (["true"], 0), (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -TERM $$"], 128 + 15), (["/nonexistent/program"], 127),
    ([__file__], 126)], ids=["good", "status", "signal", "missing", "no program"])
def test_exit_code(tmp_path, command, code):
    run = ci(tmp_path, *command)
    assert run.code == code, run.err
    if code < 126:
        assert not run.reports and not run.err and not run.out
    assert set(os.listdir(tmp_path)) <= {"reports.ndjson"}


def test_streams_pass_through(tmp_path):
    """Much output is the command's own affair: no pipe of ours is in between."""
    run = ci(tmp_path, PYTHON, "-c", "import sys; sys.stderr.write('e' * 300000); print('x' * 3000000)")
    assert run.code == 0 and len(run.out) > 3000000 and run.err == "e" * 300000
    shell = '"$0" ci -- sh -c "cat; exec 0<&-" <input >output'
    (tmp_path / "input").write_text("one\ntwo\n")
    subprocess.run(["sh", "-c", shell, analyzer.PROGRAM], cwd=tmp_path, check=True, timeout=600)
    assert (tmp_path / "output").read_text() == "one\ntwo\n"


def test_closed_streams(tmp_path):
    done = subprocess.run(["sh", "-c", '"$0" ci -- sh -c "exit 4" <&- >&- 2>&-', analyzer.PROGRAM], cwd=tmp_path, timeout=600)
    assert done.returncode == 4


@pytest.mark.parametrize("arguments", [
    [], ["--nothing", "true"], ["--hang-after", "x", "true"], ["--fail-on", "new", "true"], ["--output", "nonsense=x", "true"],
    ["--keep-cores", "x", "--prune", "true"]], ids=" ".join)
def test_wrong_usage(arguments):
    result = analyzer.run("ci", *arguments)
    assert result.returncode == analyzer.EXIT_USAGE and result.stderr and not result.stdout


def test_help():
    text = analyzer.run("ci", "--help").stdout
    assert "--hang-after" in text and "--output" in text and "--rules" in text
    assert "pystack-core ci " in analyzer.run("--help").stdout


# ---- cores ----

@needs_cores
def test_core(tmp_path):
    (tmp_path / "core.1").write_bytes(b"\x7fELF" + bytes(60))  # Somebody else's, from before.
    run = python(tmp_path, "import ctypes\ndef boom():\n    ctypes.string_at(0)\nboom()\n")
    assert run.code == 128 + signal.SIGSEGV and "1 core: 1 cause" in run.err and "program:boom" in run.err
    assert len(run.reports) == 1 and run.reports[0]["target"]["kind"] == "core"
    assert core_files(tmp_path) == ["core.1", "core.%d" % run.reports[0]["target"]["pid"]]


@needs_cores
def test_several_in_one_folder(tmp_path):
    """The kernel's name is the same for all: each is renamed before the next."""
    run = python(tmp_path, "import os, subprocess, sys\nfor i in range(3):\n"
                           "    subprocess.run([sys.executable, '-c', 'import os; os.abort()'])\n"
                           "os.mkdir('sub')\nos.chdir('sub')\n"
                           # Too short for its folder to be seen.
                           "subprocess.run([sys.executable, '-c', 'import ctypes; ctypes.string_at(0)'])\n"
                           "os.makedirs('a/b')\n"
                           "subprocess.run([sys.executable, '-S', '-c', "
                           "'import os; os.chdir(\"a/b\"); os.abort()'])\n")
    assert run.code == 0 and len(run.reports) == 5 and "5 cores: 2 causes" in run.err, run.err
    assert all(report["target"]["kind"] == "core" for report in run.reports)
    assert len(core_files(tmp_path)) == 3 and len(core_files(tmp_path / "sub")) == 1
    assert len(core_files(tmp_path / "sub" / "a" / "b")) == 1


@needs_cores
@pytest.mark.parametrize("how", ["keep", "prune"])
def test_what_becomes_of_cores(tmp_path, how):
    (tmp_path / "core").write_bytes(b"from before")
    os.utime(tmp_path / "core", (1, 1))
    (tmp_path / "sub").mkdir()
    run = ci(tmp_path, "sh", "-c", "cd sub; %s -c 'import os; os.abort()'" % PYTHON,
             options=["--keep-cores", "kept"] if how == "keep" else ["--prune"])
    assert len(run.reports) == 1 and run.reports[0]["target"]["kind"] == "core"
    assert not core_files(tmp_path / "sub") and (tmp_path / "core").read_bytes() == b"from before"
    if how == "keep":
        kept = os.listdir(tmp_path / "kept")
        assert kept == [os.path.basename(run.reports[0]["target"]["path"])] and kept[0].startswith("core.python3")


def without_paths(report):
    """What two reports of one death have in common; a small core says what was left out."""
    kept = {name: report[name] for name in ("crash", "threads", "deadlocks", "signature")}
    return json.dumps(kept, sort_keys=True)


@needs_cores
@pytest.mark.parametrize("where", ["kept", None])
def test_slim_cores(tmp_path, where):
    """Cores that stay are small, and tell the same."""
    text = "import ctypes\nballast = [bytes([n]) * 2**16 for n in range(200)]\ndef boom():\n    ctypes.string_at(0)\nboom()\n"
    keeps = ["--keep-cores", where] if where else []
    whole = python(tmp_path, text, options=["--keep-cores", "whole"]).reports[0]
    run = python(tmp_path, text, options=["--slim-cores", *keeps])
    assert run.code == 128 + signal.SIGSEGV and len(run.reports) == 1, run.err
    place = tmp_path / where if where else tmp_path
    slim, = [name for name in os.listdir(place) if name.startswith("core")]
    size = os.stat(tmp_path / whole["target"]["path"]).st_blocks
    assert os.stat(place / slim).st_blocks * 5 < size, (os.stat(place / slim), size)
    again = analyzer.run("triage", "--format", "ndjson", place / slim)
    assert again.returncode in (0, 1), again.describe()
    report = json.loads(again.stdout)
    assert without_paths(report) == without_paths(run.reports[0])
    assert report["signature"]["hash"] == whole["signature"]["hash"]


@needs_cores
def test_fail_on(tmp_path):
    crash = "import os; os.abort()"
    assert ci(tmp_path, PYTHON, "-c", crash, options=["--fail-on", "any", "--output", "groups=known.json"]).code == 3
    document = json.loads((tmp_path / "known.json").read_text())
    analyzer.schema_validator(path=GROUPS).validate(document)
    new = ["--fail-on", "new", "--baseline", "known.json"]
    assert ci(tmp_path, PYTHON, "-c", crash, options=new).code == 128 + signal.SIGABRT
    assert ci(tmp_path, PYTHON, "-c", "import ctypes; ctypes.string_at(0)", options=new).code == 3
    assert ci(tmp_path, "true", options=["--fail-on", "any"]).code == 0


def test_no_core_allowed(tmp_path):
    """With a hard limit of 0 the death is told, and why it left none."""
    run = ci(tmp_path, PYTHON, "-c", "import os; os.abort()",
             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    assert run.code == 128 + signal.SIGABRT
    if run.reports[0]["target"]["kind"] == "exit":  # Root may raise it, where it has CAP_SYS_RESOURCE.
        assert run.reports[0]["target"]["exit"]["without_core"] == "its limit of core files was 0"
        assert run.reports[0]["crash"]["signal"] == "SIGABRT" and not core_files(tmp_path)


def test_outputs_without_deaths(tmp_path):
    run = ci(tmp_path, "true", options=["--output", "groups=groups.json", "--output", "markdown=page.md"])
    assert run.code == 0 and not run.err.strip() or "0 " in run.err, run.err
    assert json.loads((tmp_path / "groups.json").read_text())["groups"] == [] and (tmp_path / "page.md").exists()


# ---- hangs ----

DEADLOCK = """
import subprocess, sys, threading
if len(sys.argv) < 2:
    sys.exit(subprocess.call([sys.executable, __file__, "child"]))
one, two = threading.Lock(), threading.Lock()
both = threading.Barrier(2)
def take(first, second):
    with first:
        both.wait()
        with second:
            pass
threads = [threading.Thread(target=take, args=pair) for pair in ((one, two), (two, one))]
for thread in threads:
    thread.start()
"""


def test_deadlock(tmp_path):
    run = python(tmp_path, DEADLOCK, options=["--hang-after", "2", "--keep-cores", "kept"])
    assert run.code == 124 and "a deadlock of 2 threads" in run.err, run.err
    assert len(run.reports) == 1 and run.reports[0]["deadlocks"] and run.titles()[0].startswith("deadlock in program:take")
    saved = os.listdir(tmp_path / "kept")
    assert len(saved) == 2 and run.reports[0]["target"]["path"] in ["kept/" + name for name in saved]
    again = analyzer.run(tmp_path / "kept" / os.path.basename(run.reports[0]["target"]["path"]))
    assert again.returncode in (0, 1) and "take" in again.stdout


def test_timeout(tmp_path):
    """One that is busy is no hang; and one that does not mind SIGTERM ends all the same."""
    run = python(tmp_path, "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                           "def spin():\n    while True:\n        pass\nspin()\n",
                 options=["--hang-after", "1", "--timeout", "4", "--grace", "1", "--prune"])
    assert run.code == 124 and "--timeout" in run.err and "spin" in run.err
    assert not [name for name in os.listdir(tmp_path) if "core" in name]


def test_progress_is_no_hang(tmp_path):
    run = ci(tmp_path, "sh", "-c", "for i in 1 2 3 4 5; do sleep 1; echo $i; done", options=["--hang-after", "3"])
    assert run.code == 0 and run.out.split() == list("12345")


STARVED = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.nice(19)
end = time.monotonic() + 6
while time.monotonic() < end:
    pass
"""


def test_starved_is_no_hang(tmp_path):
    """What could run, but gets a sixtieth of a processor that another one has, waits for nothing."""
    processor = max(os.sched_getaffinity(0))
    (tmp_path / "program.py").write_text(STARVED)
    other = subprocess.Popen([PYTHON, "-c", "import os\nos.sched_setaffinity(0, {%d})\nwhile True: pass" % processor])
    try:
        run = ci(tmp_path, PYTHON, "program.py", processor, options=["--hang-after", "2", "--grace", "1"])
    finally:
        other.kill()
        other.wait()
    assert run.code == 0 and not run.reports, run.err


# ---- signals ----

def test_ended_by_ci(tmp_path):
    """What died before is told, and the command gets the signal."""
    (tmp_path / "program.py").write_text(
        "import os, signal, subprocess, sys, time\n"
        "subprocess.run([sys.executable, '-c', 'import os, signal; os.kill(os.getpid(), 9)'])\n"
        "print('ready', flush=True)\ntime.sleep(1000)\n")
    process = start(tmp_path, PYTHON, "program.py")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    run = finish(tmp_path, process)
    assert run.code == 128 + signal.SIGTERM and len(run.reports) == 1, run.err
    assert run.reports[0]["crash"]["signal"] == "SIGKILL"


def test_grace(tmp_path):
    (tmp_path / "program.py").write_text("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                                         "print('ready', flush=True)\n"
                                         "time.sleep(1000)\n")
    process = start(tmp_path, PYTHON, "program.py", options=["--grace", "1"])
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    run = finish(tmp_path, process)
    assert run.code == 128 + signal.SIGKILL and not run.reports


def test_daemon(tmp_path):
    """What goes on when the command has ended goes on."""
    run = ci(tmp_path, "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
    pid = int(run.out)
    try:
        with open("/proc/%d/comm" % pid) as file:
            assert file.read().strip() in ("sleep", "setsid")
    finally:
        os.kill(pid, signal.SIGKILL)
    assert run.code == 0
