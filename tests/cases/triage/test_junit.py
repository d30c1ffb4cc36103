"""JUnit files: of a pytest that died, gone on with where it wrote one, read back by others' readers."""
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree

import pytest

import analyzer
import interpreters
import made_reports
from made_reports import frame, report, thread

HOSTILE = "]]></error><testcase/>&\"'\x1b[31m\u202e\ufffe\n<!--"

TESTS = """
import ctypes
import pytest

def test_fine():
    pass

def test_bad():
    assert 0, "one\\ntwo <&>"

class TestC:
    @pytest.mark.parametrize("what", ["a::b/c.py", "x[y]", "\\x1b\\xe4"])
    def test_dies(self, what):
        if %s:
            ctypes.string_at(0)
"""


def read(text):
    root = xml.etree.ElementTree.fromstring(text)
    suite, = root.iter("testsuite")
    counts = {name: len(list(suite.iter(tag))) for name, tag in
              (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))}
    assert {name: int(suite.get(name)) for name in counts} == counts
    return {(case.get("classname"), case.get("name")): case for case in suite.iter("testcase")}


def sample():
    frames = [frame("parse", "/app/nowhere.py", 4)]
    unread = report("core.4", [], "x")
    unread.update(signature=None, crash=None, warnings=[{"code": "no-report", "message": "it was cut off"}])
    hostile = report("core.3", [thread(77, [frame(HOSTILE, "/" + HOSTILE, 1)])], HOSTILE,
                     test=HOSTILE)
    hostile["crash"]["summary"] = HOSTILE
    return [report("core.1", [thread(77, frames)], "SIGSEGV in a", test="tests/unit/test_w.py::TestW::test_p[a/b.py::c]"),
            report("core.2", [thread(77, frames)], "SIGSEGV in b"), report("core.5", [thread(77, frames)], "SIGSEGV in b"),
            hostile, unread]


def written(folder, *arguments, said=""):
    result = made_reports.triage(folder, sample(), "--output", "junit=out.xml", *arguments)
    assert said in result.stderr if said else not result.stderr, result.describe()
    return (folder / "out.xml").read_text()


def test_made(tmp_path):
    text = written(tmp_path)
    cases = read(text)
    dead = cases["tests.unit.test_w.TestW", "test_p[a/b.py::c]"].find("error")
    assert dead.get("type") == "SIGSEGV" and dead.get("message") == "SIGSEGV: reading from 0x0 (a null pointer), not mapped"
    assert "#0   python  parse" in dead.text and "core.1, signature " in dead.text
    assert "core.2 and 1 more" in cases["pystack-core", "SIGSEGV in b"].find("error").text
    assert "cut off" in cases["pystack-core.unread", "core.4"].find("error").get("message")
    assert len(cases) == 4 and not analyzer.forbidden_characters(text)


@pytest.fixture(scope="module", name="dead")
def make_dead(tmp_path_factory):
    """What pytest leaves of a run in which a test died, and of the same run in which none does."""
    folder = tmp_path_factory.mktemp("dead")
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    for name, when in (("whole", "False"), ("dead", "what == 'x[y]'")):
        (folder / name).mkdir()
        (folder / name / "test_it.py").write_text(TESTS % when)
        command = [interpreter.path, "-s", "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:faulthandler",
                   "--junitxml=%s.xml" % name, "test_it.py"]
        subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", *command], cwd=folder / name,
                       capture_output=True, timeout=600)
    if not (folder / "whole" / "whole.xml").exists():
        pytest.skip("no pytest for /usr/bin/python3")
    assert not (folder / "dead" / "dead.xml").exists() and (folder / "dead" / "core").exists()
    return folder


def test_of_a_dead_pytest(dead):
    """The test has the name that pytest gives it where it lives."""
    result = analyzer.run("triage", "--junit-merge", "dead.xml", "--output", "junit=dead.xml", "core", cwd=dead / "dead",
                          timeout=300)
    assert not result.stderr, result.describe()
    names = set(read((dead / "whole" / "whole.xml").read_text()))
    name, = read((dead / "dead" / "dead.xml").read_text())
    assert name in names and name == ("test_it.TestC", "test_dies[x[y]]")


def test_gone_on_with(dead, tmp_path):
    """Of a whole file all is kept as it was; the test that died is told with its stack."""
    whole = (dead / "whole" / "whole.xml").read_text()
    before = read(whole)
    result = analyzer.run("triage", "--junit-merge", dead / "whole" / "whole.xml", "--repository", dead / "dead",
                          "--output", "junit=%s" % (tmp_path / "out.xml"), dead / "dead" / "core", timeout=300)
    assert not result.stderr, result.describe()
    text = (tmp_path / "out.xml").read_text()
    after = read(text)
    assert list(after) == list(before) and len(before) == 5
    died = after.pop(("test_it.TestC", "test_dies[x[y]]")).find("error")
    assert "in TestC.test_dies, test_it.py:" in died.get("message")
    for name, case in after.items():
        assert xml.etree.ElementTree.canonicalize(xml.etree.ElementTree.tostring(case, "unicode"), strip_text=True) == \
            xml.etree.ElementTree.canonicalize(xml.etree.ElementTree.tostring(before[name], "unicode"), strip_text=True)
    # Once more: no second test case.
    again = analyzer.run("triage", "--junit-merge", tmp_path / "out.xml", "--format", "junit", dead / "dead" / "core",
                         timeout=300)
    assert list(read(again.stdout)) == list(before)


def test_cut_off(dead, tmp_path):
    """Wherever the file was cut off, test cases before that place are there, and none that is not whole."""
    whole = (dead / "whole" / "whole.xml").read_text()
    names = list(read(whole))
    for size in range(0, len(whole) - 30, 97):
        (tmp_path / "cut.xml").write_text(whole[:size])
        text = written(tmp_path, "--junit-merge", "cut.xml", said="what could be read of it is kept" if size else "")
        found = list(read(text))
        assert found[:-4] == names[:len(found) - 4], (size, found)


def test_a_worker_that_crashed(tmp_path):
    """pytest-xdist has told of it already: one problem a test."""
    (tmp_path / "x.xml").write_text(
        '<testsuites><testsuite name="pytest" errors="0" failures="1" skipped="0" tests="1">'
        '<testcase classname="tests.unit.test_w.TestW" name="test_p[a/b.py::c]" time="0">'
        '<failure message="worker \'gw0\' crashed">worker crashed</failure></testcase></testsuite></testsuites>')
    case = read(written(tmp_path, "--junit-merge", "x.xml"))["tests.unit.test_w.TestW", "test_p[a/b.py::c]"]
    assert case.find("error") is None
    assert case.find("failure").get("message").startswith("worker 'gw0' crashed; SIGSEGV: reading")
    assert "worker crashed" in case.find("failure").text and "python  parse" in case.find("failure").text


@pytest.mark.parametrize("content, said", [
    ("<html/>", "is no JUnit file"),
    ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite name="x">&a;</testsuite>', "")], ids=["html", "entity"])
def test_no_junit_file(tmp_path, content, said):
    (tmp_path / "x.xml").write_text(content)
    result = made_reports.triage(tmp_path, sample(), "--output", "junit=out.xml", "--junit-merge", "x.xml")
    if said:
        assert result.returncode == analyzer.EXIT_NOTHING and said in result.stderr and not (tmp_path / "out.xml").exists()
    else:
        assert "root:" not in (tmp_path / "out.xml").read_text()


def test_by_others(tmp_path):
    """pytest's own schema (of Jenkins' xunit plugin), and junitparser."""
    if not analyzer.THOROUGH:
        pytest.skip("installs xmlschema and junitparser: --thorough")
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    done = subprocess.run([python, "-m", "pip", "install", "-q", "xmlschema", "junitparser"], capture_output=True)
    if not done.returncode:
        done = subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "pytest"],
                              capture_output=True, cwd=tmp_path)
    if done.returncode:
        pytest.skip("pip: %s" % done.stderr.decode(errors="replace")[-300:])
    archive, = tmp_path.glob("pytest-*.tar.gz")
    with tarfile.open(archive) as tar:
        member, = [one for one in tar.getmembers() if one.name.endswith("/testing/example_scripts/junit-10.xsd")]
        (tmp_path / "junit.xsd").write_bytes(tar.extractfile(member).read())
    written(tmp_path)
    code = ("import xmlschema, junitparser\nxmlschema.validate('out.xml', 'junit.xsd')\n"
            "suites = junitparser.JUnitXml.fromfile('out.xml')\n"
            "print(sum(len(list(suite)) for suite in suites), sum(suite.errors for suite in suites))\n")
    read = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert read.stdout.split() == ["4", "4"], read.stderr
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\uffff]", (tmp_path / "out.xml").read_text())
