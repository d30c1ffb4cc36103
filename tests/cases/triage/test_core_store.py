"""A store of cores as systemd-coredump keeps it, and others by the thousand; runs that are killed."""
import gzip
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import analyzer
import interpreters

PROGRAM = """import ctypes
def %(name)s():
    ctypes.string_at(0)
%(name)s()
"""
BOOT = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def dead(tmp_path_factory):
    """{name: a core that died in a function of that name}."""
    interpreter = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    found = {}
    for name in ("load", "save"):
        work = tmp_path_factory.mktemp(name)
        (work / "dies.py").write_text(PROGRAM % {"name": name})
        done = subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", interpreter.path, "-s", "dies.py"],
                              cwd=work, capture_output=True, timeout=600)
        assert done.returncode == -signal.SIGSEGV
        found[name] = work / "core"
    return found


def triage(folder, *arguments, **more):
    return analyzer.run("triage", *arguments, cwd=folder, timeout=300, **more)


def reports_of(folder, *arguments, **more):
    result = triage(folder, "--format", "ndjson", *arguments, **more)
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    for report in reports:
        analyzer.assert_fits_schema(report)
    return {report["target"]["path"]: report for report in reports}, result


def test_store(dead, tmp_path):
    """What the store says of a core is in its report, also where the core itself cannot be read."""
    store = tmp_path / "coredump"
    (store / "older" / "x").mkdir(parents=True)
    (store / "older" / "loop").symlink_to(store)
    packed = {name: gzip.compress(path.read_bytes(), 1) for name, path in dead.items()}
    whole = "core.my\\x20app.1000.%s.4711.1700000000123456" % BOOT
    cut = "core.python3.1001.%s.4712.1700000000123457" % BOOT
    (store / (whole + ".zst")).write_bytes(packed["load"])
    (store / cut).write_bytes(dead["load"].read_bytes()[:3000])
    (store / "older" / "x" / "other").write_bytes(packed["save"])
    (store / "older" / "log.1.gz").write_bytes(gzip.compress(b"a text, not a core"))
    (store / "older" / "empty.gz").write_bytes(gzip.compress(b""))
    (store / "notes").write_text("no core")
    attributes = {"pid": "4711", "uid": "1000", "gid": "1000", "signal": "11", "timestamp": "1700000000123456",
                  "hostname": "build-7", "comm": "my app", "exe": "/srv/my app"}
    try:
        for name, value in attributes.items():
            os.setxattr(store / (whole + ".zst"), "user.coredump." + name, value.encode())
    except OSError:
        attributes = {}
    reports, result = reports_of(tmp_path, "coredump")
    assert set(reports) == {"coredump/" + cut, "coredump/" + whole + ".zst", "coredump/older/empty.gz",
                            "coredump/older/x/other"}
    expected = {"comm": "my app", "uid": 1000, "boot_id": BOOT, "pid": 4711, "time_us": 1700000000123456}
    if attributes:
        expected.update(gid=1000, signal=11, hostname="build-7", executable="/srv/my app")
    assert reports["coredump/" + whole + ".zst"]["target"]["coredump"] == expected
    assert reports["coredump/" + cut]["target"]["coredump"]["pid"] == 4712
    assert reports["coredump/" + cut]["signature"] is None
    assert "coredump" not in reports["coredump/older/x/other"]["target"]
    text = triage(tmp_path, "coredump")
    assert text.stdout.splitlines()[0].startswith("4 cores: 2 causes, 2 could not be read")
    assert text.stdout.endswith("\n2 other files are no cores\n"), text.stdout
    # One that is named is looked at whatever is in it.
    named = triage(tmp_path, "coredump/older/log.1.gz")
    assert named.stdout.startswith("1 core: 0 causes, 1 could not be read") and named.returncode == analyzer.EXIT_NOTHING


def test_standard_input(dead, tmp_path):
    with open(dead["load"], "rb") as file:
        reports, _ = reports_of(tmp_path, "-", stdin=file)
    assert list(reports) == ["standard input"] and "load" in reports["standard input"]["signature"]["title"]


def test_thousands_of_files(dead, tmp_path):
    """Few of them are cores; the same in every run."""
    for number in range(40):
        folder = tmp_path / "many" / ("%02d" % number)
        folder.mkdir(parents=True)
        for other in range(100):
            (folder / ("file.%d" % other)).write_bytes(b"x" * other)
        (folder / "up").symlink_to("..")
        (folder / "core.cut").write_bytes(dead["load"].read_bytes()[:2000])
    shutil.copy(dead["save"], tmp_path / "many" / "core.whole")
    result = triage(tmp_path, "many")
    assert result.stdout.splitlines()[0] == "41 cores: 1 cause, 40 could not be read"
    assert result.stdout.endswith("\n4000 other files are no cores\n") and result.returncode == analyzer.EXIT_PARTIAL
    assert triage(tmp_path, "many").stdout == result.stdout


def test_killed_and_resumed(dead, tmp_path):
    """What an interrupted run has written is taken over, what is missing is made."""
    (tmp_path / "cores").mkdir()
    for number in range(12):
        shutil.copy(dead["load" if number % 3 else "save"], tmp_path / "cores" / ("core.%d" % number))
    expected = triage(tmp_path, "cores").stdout
    lines = tmp_path / "lines.ndjson"
    command = ["triage", "-j", "1", "--output", "ndjson=lines.ndjson", "--resume", "cores"]
    with subprocess.Popen([analyzer.PROGRAM, *command], cwd=tmp_path, stdout=subprocess.DEVNULL) as program:
        until = time.monotonic() + 600
        while (not lines.exists() or lines.read_bytes().count(b"\n") < 3) and time.monotonic() < until:
            os.sched_yield()
        program.send_signal(signal.SIGKILL)
    kept = lines.read_bytes()
    kept = kept[:kept.rindex(b"\n") + 1]
    assert kept.count(b"\n") >= 3
    assert triage(tmp_path, *command[1:]).stdout == expected
    assert lines.read_bytes().startswith(kept) and lines.read_bytes().count(b"\n") == 12


@pytest.mark.skipif(analyzer.SANITIZED, reason="shadow memory is terabytes of address space")
def test_limits_are_named(dead, tmp_path):
    reports, result = reports_of(tmp_path, "--memory-limit", 1, dead["load"])
    assert "--memory-limit" in reports[str(dead["load"])]["warnings"][0]["message"], reports
    assert result.returncode == analyzer.EXIT_NOTHING
    # One that never comes to an end: a pipe whose other end stays open.
    read, write = os.pipe()
    with os.fdopen(read, "rb") as file:
        reports, _ = reports_of(tmp_path, "--time-limit", 1, "-", stdin=file)
    os.close(write)
    assert "--time-limit" in reports["-"]["warnings"][0]["message"], reports
