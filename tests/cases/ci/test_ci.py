"""pystack-core ci: commands that die, hang, or do neither, and what is told of them."""
import json
import os
import re
import resource
import signal
import subprocess
import xml.etree.ElementTree

import pytest

import analyzer
import cores

PYTHON = "/usr/bin/python3"
GROUPS = os.path.join(cores.SOURCE, "schema/pystack-core-groups-1.schema.json")


def core_pattern():
    with open("/proc/sys/kernel/core_pattern") as file:
        return file.read().strip()


def leaves_cores():
    return core_pattern() == "core" and resource.getrlimit(resource.RLIMIT_CORE)[1] != 0


needs_cores = pytest.mark.skipif(not leaves_cores(), reason="the kernel's pattern leads elsewhere, or cores are not allowed")


class Run:
    def __init__(self, folder, done):
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        assert "Sanitizer" not in self.err and "runtime error:" not in self.err, self.err
        path = folder / "reports.ndjson"
        self.reports = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        for report in self.reports:
            analyzer.assert_fits_schema(report)

    def titles(self):
        return sorted(report["signature"]["title"] for report in self.reports)


def start(folder, *command, options=(), env=None, **more):
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "TMPDIR": str(folder),
                   "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    return subprocess.Popen(
        [analyzer.PROGRAM, "ci", "--output", "ndjson=reports.ndjson", *options, "--", *[str(word) for word in command]],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **more)


def finish(folder, process):
    out, err = process.communicate(timeout=1200)
    return Run(folder, subprocess.CompletedProcess(process.args, process.returncode, out, err))


def ci(folder, *command, **more):
    return finish(folder, start(folder, *command, **more))


def python(folder, text, **more):
    (folder / "program.py").write_text(text)
    return ci(folder, PYTHON, "program.py", **more)


def core_files(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("core"))


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


# ---- deaths without a core ----

def test_deaths_without_core(tmp_path):
    """Of children, of their children, and of one that has lost its parent."""
    run = python(tmp_path, """
import os, signal, subprocess, sys, time
killed = subprocess.Popen(["sleep", "100"])
killed.kill()
os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
lives, holds = os.pipe()
child = os.fork()
known = [os.getpid()]
if not child:
    if not os.fork():
        os.setsid()
        while os.getppid() in known:
            time.sleep(.01)
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)
os.waitpid(child, 0)
os.close(holds)
os.read(lives, 1)
time.sleep(1)
""")
    assert run.code == 0
    ends = [(report["target"]["kind"], report["crash"]["signal"], report["target"]["exit"]["known_by"]) for report in run.reports]
    assert [end[:2] for end in ends] == [("exit", "SIGKILL")] * 2, run.err
    for report in run.reports:
        assert report["signature"]["hash"] and report["crash"]["cause"] is None and not report["threads"]


def test_report_exits(tmp_path):
    # Their parent does not wait for them at once: a faster one than we are is not seen everywhere.
    text = ("import os, subprocess, time\nfor line in ('exit 5', 'kill -TERM $$'):\n"
            "    child = subprocess.Popen(['sh', '-c', line])\n"
            "    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)\n    time.sleep(1)\n    child.wait()\n")
    run = python(tmp_path, text, options=["--report-exits"])
    assert run.code == 0 and len(run.reports) == 2, run.err
    assert {report["target"]["exit"]["status"] for report in run.reports} == {5, None}
    plain = python(tmp_path, text)
    assert not plain.reports and "sh (status 5)" in plain.err and "sh (signal 15)" in plain.err


def memory_cgroup():
    for top in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
        path = os.path.join(top, "pystack-core-test-%d" % os.getpid())
        try:
            os.mkdir(path)
        except OSError:
            continue
        for name in ("memory.limit_in_bytes", "memory.max"):
            if os.path.exists(os.path.join(path, name)):
                with open(os.path.join(path, name), "w") as file:
                    file.write(str(60 << 20))
                return path
        os.rmdir(path)
    return None


def test_lack_of_memory(tmp_path):
    group = memory_cgroup()
    if group is None:
        pytest.skip("no cgroup of memory can be made here")
    try:
        run = python(tmp_path, """
import os, subprocess, sys, time
child = "import os, time; open(%r, 'w').write(str(os.getpid())); x = []\\nwhile True: x.append(b'x' * 2**20); time.sleep(.005)"
print(subprocess.run([sys.executable, "-c", child %% %r]).returncode)
killed = subprocess.Popen(["sleep", "100"])
killed.kill()
os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
time.sleep(1)
""" % ("%s", os.path.join(group, "cgroup.procs")))
    finally:
        os.rmdir(group)
    assert run.out.strip() == "-9"
    causes = sorted(str(report["crash"]["cause"]) for report in run.reports)
    assert causes == ["None", "out-of-memory"] and "SIGKILL out-of-memory" in run.err, run.err


@pytest.mark.parametrize("writes", [True, False], ids=["of the run", "of an earlier one"])
def test_junit_of_the_command(tmp_path, writes):
    """What the command wrote where the JUnit output goes stays; what was there before is none of it."""
    junit = tmp_path / "junit.xml"
    junit.write_text('<testsuites><testsuite name="t" tests="1"><testcase classname="t" name="a"/></testsuite></testsuites>')
    os.utime(junit, (1, 1))
    run = python(tmp_path, """
import os, pathlib, subprocess, time
if %r:
    path = pathlib.Path("junit.xml")
    path.write_text(path.read_text().replace('"a"', '"b"'))
child = subprocess.Popen(["sh", "-c", "kill -KILL $$"])
os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
time.sleep(1)
""" % writes, options=["--report-exits", "--output", "junit=junit.xml"])
    cases = [case.get("name") for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase")]
    assert cases[:-1] == (["b"] if writes else []) and cases[-1] == run.titles()[0], (cases, run.err)


def test_junit_of_a_test_that_was_over(tmp_path):
    """The test that was seen last has passed: the death was in none that is known."""
    run = python(tmp_path, """
import os, pathlib, subprocess, sys, time
if len(sys.argv) < 2:
    subprocess.call([sys.executable, __file__, "child"])
    pathlib.Path("junit.xml").write_text('<testsuite name="t"><testcase classname="test_it" name="test_one"/></testsuite>')
else:
    os.environ["PYTEST_CURRENT_TEST"] = "test_it.py::test_one (call)"
    time.sleep(1)
    os.kill(os.getpid(), 9)
""", options=["--report-exits", "--output", "junit=junit.xml"])
    one, death = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot().iter("testcase")
    assert run.titles() == ["SIGKILL in test_it.py::test_one (last seen)"], run.err
    assert len(one) == 0 and death.get("classname") == "pystack-core" and death.find("error") is not None


ALL_FORMATS = ["text", "groups", "markdown", "github", "html", "junit", "sarif", "satyr", "sentry"]


def test_deaths_in_every_format(tmp_path):
    """A status, a signal, lack of memory (where a cgroup can be made): each format names each, none as a core file."""
    group = memory_cgroup()
    outputs = [word for name in ALL_FORMATS for word in ("--output", "%s=out.%s" % (name, name))]
    try:
        run = python(tmp_path, """
import os, subprocess, sys, time
group = %r
lines = [["sh", "-c", "exit 5"], ["sh", "-c", "kill -KILL $$"]]
if group:
    lines.append([sys.executable, "-c", "import os; open(%%r, 'w').write(str(os.getpid())); b'x' * 2**28" %% group])
for line in lines:
    child = subprocess.Popen(line)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    time.sleep(1)
    child.wait()
""" % (group and os.path.join(group, "cgroup.procs")), options=["--report-exits", *outputs])
    finally:
        if group:
            os.rmdir(group)
    titles = run.titles()
    assert len(titles) == 2 + bool(group), run.err
    assert any(title.startswith("exit 5 in ") for title in titles), titles
    assert ("out-of-memory" in " ".join(titles)) == bool(group), titles
    text = {name: (tmp_path / ("out." + name)).read_text() for name in ALL_FORMATS}
    for name in ALL_FORMATS:
        assert "core file" not in text[name].replace("without a core file", ""), name
        for title in titles if name != "satyr" else ():
            assert title in text[name].replace("\\", ""), (name, title)
    assert text["text"].startswith("%d deaths: " % len(titles)) and text["markdown"].startswith("## %d deaths, " % len(titles))
    assert text["github"].count("::error ") == len(titles) and "::1 death, signature" in text["github"]
    stacks = [json.loads(line) for line in text["satyr"].splitlines()]
    assert sorted(stack.get("signal", 0) for stack in stacks) == sorted([0, 9] + [9] * bool(group))
    junit = xml.etree.ElementTree.fromstring(text["junit"])
    assert [suite.get("errors") for suite in junit.iter("testsuite")] == [str(len(titles))]
    kinds = ["SIGKILL", "exit"] if not group else ["SIGKILL", "SIGKILL", "exit"]
    assert sorted(error.attrib["type"] for error in junit.iter("error")) == kinds
    rules = {result["ruleId"] for result in json.loads(text["sarif"])["runs"][0]["results"]}
    assert rules == {"exit"} | ({"out-of-memory"} if group else set()), rules
    events = [json.loads(line)["exception"]["values"][0] for line in text["sentry"].splitlines()]
    assert {event["mechanism"]["type"] for event in events} == {"generic", "signalhandler"}


# ---- pytest ----

TESTS = """
import ctypes, os, signal, subprocess, time
def test_good(): pass
def test_segfault(): ctypes.string_at(0)
def test_exit():
    time.sleep(1)
    os._exit(7)
def test_kill():
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)
def test_child(): assert subprocess.run(["false"]).returncode == 1
"""


def has_pytest(*modules):
    return subprocess.run([PYTHON, "-c", "import pytest" + "".join(", " + name for name in modules)],
                          capture_output=True).returncode == 0


@needs_cores
def test_xdist(tmp_path):
    if not has_pytest("xdist"):
        pytest.skip("no pytest-xdist (Debian: python3-pytest-xdist)")
    (tmp_path / "test_it.py").write_text(TESTS)
    run = ci(tmp_path, PYTHON, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "test_it.py")
    assert run.code == 1, run.err
    tests = {report["running"]["test"]["id"]: report for report in run.reports}
    assert sorted(tests) == ["test_it.py::test_" + name for name in ("exit", "kill", "segfault")], (run.titles(), run.err)
    assert tests["test_it.py::test_segfault"]["target"]["kind"] == "core"
    assert tests["test_it.py::test_exit"]["target"]["exit"]["status"] == 7
    assert tests["test_it.py::test_kill"]["crash"]["signal"] == "SIGKILL"
    for report in run.reports:
        assert report["running"]["test"]["worker"].startswith("gw")
    assert "in the test test_it.py::test_segfault of gw" in run.err
    assert "exit 7 in test_it.py::test_exit" in run.err


FAST_TESTS = """
import ctypes, os, time, pytest
@pytest.mark.parametrize("number", range(80))
def test_fast(number):
    time.sleep(.002)
    if number == 41:
        ctypes.string_at(0)
    if number == 70:
        os._exit(3)
"""


@needs_cores
@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_tests_of_milliseconds(tmp_path, workers):
    """The memory of a core tells which test it was; of a death without one it is the last that was seen, and called that."""
    if not has_pytest(*["xdist"] if workers else []):
        pytest.skip("no pytest, or no pytest-xdist (Debian: python3-pytest-xdist)")
    (tmp_path / "test_it.py").write_text(FAST_TESTS)
    run = ci(tmp_path, PYTHON, "-m", "pytest", "-q", *workers, "-p", "no:cacheprovider", "test_it.py")
    found: dict = {report["target"]["kind"]: (report["running"] or {}).get("test") for report in run.reports}
    assert found["core"]["id"] == "test_it.py::test_fast[41]" and "last_seen_s" not in found["core"], run.err
    assert ("exit" in found) == bool(workers), run.err
    if found.get("exit"):  # A worker that lives for a moment may not be seen at any.
        assert found["exit"]["id"].startswith("test_it.py::test_fast[") and found["exit"]["last_seen_s"] >= 0
        assert [title for title in run.titles() if title.startswith("exit 3 in test_it.py::test_fast") and "(last seen)" in title]


@pytest.mark.skipif(not has_pytest(), reason="no pytest for /usr/bin/python3")
def test_pytest_that_exits(tmp_path):
    (tmp_path / "test_it.py").write_text("import os, time\ndef test_one(): pass\n"
                                         "def test_exit():\n    time.sleep(1)\n    os._exit(9)\n")
    run = ci(tmp_path, PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert run.code == 9 and run.titles() == ["exit 9 in test_it.py::test_exit (last seen)"], run.err
    assert re.search(r"in the test test_it.py::test_exit \(last seen \d+\.\d s before the end\)", run.err), run.err
    assert run.reports[0]["running"]["test"]["last_seen_s"] < 60
    # One of pytest's own statuses, too, where pytest has said nothing.
    (tmp_path / "test_it.py").write_text("import os, time\ndef test_exit():\n    time.sleep(1)\n    os._exit(1)\n")
    run = ci(tmp_path, PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert run.code == 1 and run.titles() == ["exit 1 in test_it.py::test_exit (last seen)"], run.err
    # Tests that fail are no deaths.
    (tmp_path / "test_it.py").write_text("def test_fails(): assert False\n")
    run = ci(tmp_path, PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", options=["--fail-on", "any"])
    assert run.code == 1 and not run.reports


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
