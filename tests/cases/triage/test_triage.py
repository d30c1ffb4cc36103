"""Many cores: each looked at alone, put together by their causes, written in several formats."""
import json
import os
import pty
import re
import shutil
import subprocess
import threading
import time

import pytest

import analyzer
import cores
import interpreters

PROGRAM = """import ctypes, sys
def parse(depth):
    return parse(depth - 1) if depth else ctypes.string_at(0)
def load_%(name)s():
    parse(%(depth)d)
load_%(name)s()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """a1, a2, a3 and sub/a4 died alike, b1 of another cause; one is cut off, one is no core."""
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    top = tmp_path_factory.mktemp("triage")
    (top / "cores" / "sub").mkdir(parents=True)
    for number, (name, target) in enumerate([
            ("a", "core.a1"), ("a", "core.a2"), ("b", "core.b1"), ("a", "core.a3"), ("a", "sub/core.a4")]):
        work = top / ("work%d" % number)
        work.mkdir()
        (work / (name + ".py")).write_text(PROGRAM % {"name": name, "depth": 3 * number})
        done = subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", interpreter.path, "-s", name + ".py"],
                              cwd=work, capture_output=True, timeout=600)
        assert done.returncode == -11
        (work / "core").rename(top / "cores" / target)
    (top / "cores" / "core.cut").write_bytes((top / "cores" / "core.a1").read_bytes()[:3000])
    (top / "cores" / "notes.txt").write_text("no core")
    os.symlink("core.a1", top / "cores" / "core.link")
    os.mkfifo(top / "cores" / "core.fifo")
    return top


def triage(folder, *arguments, **more):
    return analyzer.run("triage", *arguments, cwd=folder, timeout=300, **more)


def groups_of(folder, *arguments, **more):
    result = triage(folder, "--format", "groups", *arguments, **more)
    document = json.loads(result.stdout)
    analyzer.schema_validator(path=os.path.join(cores.SOURCE, "schema/pystack-core-groups-1.schema.json")).validate(document)
    return document["groups"], result


def test_text(folder):
    result = triage(folder, "cores")
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    lines = result.stdout.splitlines()
    assert lines[0] == "6 cores: 2 causes, 1 could not be read"
    heads = [line for line in lines if re.match(r"\d+ ×  |not read:  ", line)]
    assert [head.split()[0] for head in heads] == ["4", "1", "not"]
    assert "a:load_a" in heads[0] and "b:load_b" in heads[1] and "cut off" in heads[2]
    assert any(re.match(r"  #\d+ +python +parse +.*a\.py:3$", line) for line in lines)
    assert "core.link" not in result.stdout and not result.stderr


def test_text_of_a_recursion(folder):
    """The innermost cycle, how often it came, and who began it."""
    lines = triage(folder, "cores/sub").stdout.splitlines()
    assert sum("a.py:3" in line for line in lines) == 1
    at, = [i for i, line in enumerate(lines) if line.endswith(": the frame above, 12 times more")]
    assert "a.py:3" in lines[at - 1] and re.search(r" load_a +.*a\.py:5$", lines[at + 1])


def test_groups(folder):
    groups, result = groups_of(folder, "cores")
    assert [group["count"] for group in groups] == [4, 1, 1] and groups[2]["hash"] is None
    assert groups[0]["reports"] == ["cores/core.a1", "cores/core.a2", "cores/core.a3", "cores/sub/core.a4"]
    assert groups[0]["first"] == "cores/core.a1"
    for jobs in (1, 2, 5):
        assert groups_of(folder, "-j", jobs, "cores")[0] == groups
    # A file that is named is looked at whatever it is, and once.
    named, result = groups_of(folder, "cores/core.a1", "cores/core.a1", "cores/notes.txt")
    assert [group["count"] for group in named] == [1, 1] and result.returncode == analyzer.EXIT_PARTIAL
    assert "not an ELF" in named[1]["title"] or "core" in named[1]["title"]


def test_reports(folder):
    """Each line is the report that the core alone has."""
    result = triage(folder, "--format", "ndjson", "cores")
    reports = {report["target"]["path"]: report for report in map(json.loads, result.stdout.splitlines())}
    assert len(reports) == 6
    for path, report in reports.items():
        analyzer.schema_validator().validate(report)
        if path.endswith("cut"):
            assert report["warnings"][0]["code"] == "no-report" and report["signature"] is None
        else:
            alone = json.loads(analyzer.run("--format", "json", path, cwd=folder).stdout)
            assert report == alone


def test_resume(folder, tmp_path):
    lines = tmp_path / "reports.ndjson"
    first = triage(folder, "--output", "ndjson=%s" % lines, "cores")
    whole = lines.read_text().splitlines(True)
    assert len(whole) == 6 and first.returncode == analyzer.EXIT_PARTIAL
    # As if it had been interrupted in the midst of the fourth line.
    lines.write_text("".join(whole[:3]) + whole[3][:100])
    again = triage(folder, "--output", "ndjson=%s" % lines, "--resume", "cores")
    assert lines.read_text().splitlines(True)[:3] == whole[:3] and sorted(lines.read_text().splitlines(True)) == sorted(whole)
    assert again.stdout == first.stdout
    before = lines.stat().st_mtime_ns
    assert triage(folder, "--output", "ndjson=%s" % lines, "--resume", "cores").stdout == first.stdout
    assert lines.stat().st_mtime_ns >= before and len(lines.read_text().splitlines()) == 6


def test_markdown(folder, tmp_path):
    page = tmp_path / "summary.md"
    triage(folder, "--output", "markdown=%s" % page, "cores")
    text = page.read_text()
    assert text.startswith("## 6 core files, 2 causes\n") and text.count("\n### ") == 3
    assert text.count("```") == 4 and "\\_a" in text and len(text) < 1000000


def test_annotations(folder, tmp_path):
    """The nearest frame in the repository, which is the working directory."""
    result = triage(folder, "--format", "github", "cores")
    lines = result.stdout.splitlines()
    assert re.match(r"::error file=work0/a\.py,line=3,title=SIGSEGV [^:]*a%3Aparse.*::4 core files, signature [0-9a-f]{12}, "
                    r"the first is cores/core\.a1\b", lines[0]), lines[0]
    elsewhere = analyzer.run("triage", "--format", "github", folder / "cores", cwd=tmp_path).stdout
    assert "file=" not in elsewhere and elsewhere.startswith("::error title=")


@pytest.mark.parametrize("known", ["groups", "ndjson", "lines"])
def test_baseline(folder, tmp_path, known):
    (tmp_path / "only").mkdir()
    shutil.copy(folder / "cores" / "core.a1", tmp_path / "only")
    baseline = tmp_path / "baseline"
    if known == "lines":
        found, _ = groups_of(tmp_path, "only")
        baseline.write_text("# known since March\n%s a crash\n" % found[0]["hash"])
    else:
        triage(tmp_path, "--output", "%s=%s" % (known, baseline), "only")
    groups, result = groups_of(folder, "--baseline", baseline, "cores")
    assert [group["known"] for group in groups] == [True, False, False]
    assert triage(folder, "--baseline", baseline, "--fail-on", "new", "cores").returncode == 3
    assert triage(folder, "--baseline", baseline, "--fail-on", "new", "cores/core.a2").returncode == analyzer.EXIT_COMPLETE
    assert triage(folder, "--fail-on", "any", "cores/core.a2").returncode == 3
    text = triage(folder, "--baseline", baseline, "cores").stdout
    assert " (known) · " in text and " (new) · " in text


def test_limits_of_one_core(folder):
    """A core that takes too long or too much is a group of its own, and says so."""
    if not analyzer.SANITIZED:
        groups, result = groups_of(folder, "--memory-limit", 1, "cores/core.a1")
        assert groups[0]["hash"] is None and result.returncode == analyzer.EXIT_NOTHING, groups


def test_nothing_to_do(folder, tmp_path):
    result = triage(tmp_path, tmp_path)
    assert result.returncode == analyzer.EXIT_NOTHING and result.stderr == "pystack-core: no core file was found\n"
    missing = analyzer.run("triage", tmp_path / "none")
    assert missing.returncode == analyzer.EXIT_NOTHING
    assert missing.stderr == "pystack-core: %s: No such file or directory\n" % (tmp_path / "none")
    result = triage(tmp_path, tmp_path / "none", folder / "cores" / "core.a1")
    assert result.returncode == analyzer.EXIT_PARTIAL and "none: No such file" in result.stderr


@pytest.mark.parametrize("arguments", [
    [], ["--format", "xml", "x"], ["--output", "text", "x"], ["-j", "0", "x"], ["-j", "x", "x"], ["--fail-on", "never", "x"],
    ["--fail-on", "new", "x"], ["--resume", "x"], ["--time-limit", "-1", "x"], ["--nothing", "x"], ["--rules"],
    ["--locals=all", "x"]], ids=" ".join)
def test_wrong_usage(arguments):
    result = analyzer.run("triage", *arguments)
    assert result.returncode == analyzer.EXIT_USAGE and not result.stdout and result.stderr, result.describe()


def test_help():
    result = analyzer.run("triage", "--help")
    assert result.returncode == 0 and result.stdout.startswith("Usage: pystack-core triage")
    assert "pystack-core triage" in analyzer.run("--help").stdout


def on_terminal(folder, *arguments, **environment):
    """What a terminal of a run gets: (standard output, standard error), one terminal each."""
    said = []
    ends = [pty.openpty(), pty.openpty()]
    command = [analyzer.PROGRAM, "triage", *map(str, arguments)]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=ends[0][1], stderr=ends[1][1],
                               env={"PATH": "/usr/bin:/bin", "TERM": "xterm", **environment})
    threads = [threading.Thread(target=lambda end=end: said.append((end, drain(end)))) for end, _ in ends]
    for _, other in ends:
        os.close(other)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert process.wait() in (0, 1)
    texts = dict(said)
    return texts[ends[0][0]].decode(), texts[ends[1][0]].decode()


def drain(end):
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(end, 65536)
        except OSError:  # Nobody has the other end any more.
            part = b""
        if not part:
            os.close(end)
            return b"".join(parts)
        parts.append(part)


def test_on_a_terminal(folder, tmp_path):
    """Titles are bold; what takes long shows how far it is, and leaves nothing of that."""
    for number in range(60):
        os.link(folder / "cores" / "core.a1", tmp_path / ("core.%d" % number))
    started = time.monotonic()
    out, progress = on_terminal(tmp_path, "-j", 1, ".")
    seconds = time.monotonic() - started
    assert "\x1b[1m60 ×  SIGSEGV" in out and out.count("\x1b[1m") == out.count("\x1b[0m") == 1
    assert bool(re.search(r"\r\d+ of 60 cores", progress)) or seconds < 3
    assert not progress or progress.endswith("\r\x1b[K")
    for environment in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
        assert "\x1b" not in on_terminal(tmp_path, "core.1", **environment)[0]
    assert "\x1b[1m" in on_terminal(tmp_path, "core.1", NO_COLOR="")[0]
    assert "\x1b" not in triage(tmp_path, "core.1").stdout
