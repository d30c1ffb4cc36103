"""pystack-core ci: deaths that leave no core, and those of pytest's tests."""
import json
import os
import re
import xml.etree.ElementTree

import pytest

from ci_runs import PYTHON, ci, has_pytest, needs_cores, python


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
    lines.append([sys.executable, "-c", "import os, time; open(%%r, 'w').write(str(os.getpid())); "
                  "time.sleep(.5); b'x' * 2**28" %% group])
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


SHORT_TESTS = """
import os, time, pytest
@pytest.mark.parametrize("number", range(40))
def test_short(number):
    time.sleep(.002)
    if number == 25:
        %s
"""


def short_tests(folder, what, *command):
    (folder / "test_it.py").write_text(SHORT_TESTS % what)
    return ci(folder, PYTHON, *(command or ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]))


@pytest.mark.skipif(not has_pytest(), reason="no pytest for /usr/bin/python3")
@pytest.mark.parametrize("status", [1, 3, 5])
def test_exit_with_a_status_of_pytest(tmp_path, status):
    """Between tests that are over at once: seen as far as a look came soon enough before the end."""
    for _ in range(6):
        run = short_tests(tmp_path, "os._exit(%d)" % status)
        assert run.code == status, run.err
        if run.reports:
            break
    title, = run.titles()
    assert title == "exit %d in test_it.py::test_short (last seen)" % status


@pytest.mark.skipif(not has_pytest(), reason="no pytest for /usr/bin/python3")
@pytest.mark.parametrize("what,code,command", [
    ("assert False", 1, None),
    ("raise KeyboardInterrupt", 2, None),
    ("pytest.exit('enough')", 2, None),
    ("pytest.exit('', returncode=1)", 1, None),
    ("assert False", 1, ["-c", "import os, pytest; os._exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'test_it.py']))"]),
], ids=["fails", "interrupted", "exit", "exit with 1", "main"])
def test_sessions_that_end(tmp_path, what, code, command):
    """What ends a session of pytest, and says so, is no death."""
    for _ in range(3):
        run = short_tests(tmp_path, what, *command or [])
        assert run.code == code and not run.reports, run.err
