"""pystack-core doctor: real limits and mounts, none of which the rest of the machine sees."""
import json
import os
import resource
import subprocess

import pytest

import analyzer
import cores
import living

SCHEMA = os.path.join(cores.SOURCE, "schema/pystack-core-doctor-1.schema.json")
# A sanitizer's program sets its own limit of core files to 0 otherwise.
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "disable_coredump=0"}
UNLIMITED = "ulimit -S -c unlimited 2>/dev/null || ulimit -S -c $(ulimit -H -c)"


def without_sanitizers():
    if analyzer.SANITIZED:
        pytest.skip("of the crash that is tried, the kernel walks terabytes of shadow memory: half a minute each time")


def doctor(folder, before, *arguments):
    """Runs a line of shell, then doctor; its checks by their names, and its exit code."""
    without_sanitizers()
    command = ["sh", "-c", '%s && exec "$@"' % before, "sh", analyzer.PROGRAM, "doctor", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=600,
                          env=ENVIRONMENT)
    assert b"Sanitizer" not in done.stderr, done.stderr
    return done


def checks(folder, before="true"):
    done = doctor(folder, before, "--json")
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    analyzer.schema_validator(path=SCHEMA).validate(document)
    assert document["writes_cores"] == (done.returncode == 0)
    assert document["writes_cores"] == all(check["state"] != "stops" for check in document["checks"])
    return {check["name"]: check for check in document["checks"]}, done.returncode


def writes_relative_cores():
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    return not pattern.startswith(("|", "/", "@")) and "/" not in pattern and resource.getrlimit(resource.RLIMIT_CORE)[1] != 0


def mounted(folder, path, text):
    """What it finds where a file of /proc has another text (None: where a folder is this one), in a mount name space."""
    without_sanitizers()
    if os.geteuid() or not living.can_unshare():
        pytest.skip("only root can put another file in its place")
    instead = "."
    if text is not None:
        (folder / "instead").write_text(text)
        instead = "instead"
    script = 'mount --bind ' + instead + ' "$1" && shift && { %s; } && exec "$@"' % UNLIMITED
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", path, analyzer.PROGRAM, "doctor", "--json"], cwd=folder,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=600, env=ENVIRONMENT)
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    analyzer.schema_validator(path=SCHEMA).validate(document)
    return {check["name"]: check for check in document["checks"]}, done.returncode


@pytest.mark.skipif(not writes_relative_cores(), reason="the kernel's pattern leads elsewhere")
def test_good(tmp_path):
    found, code = checks(tmp_path, UNLIMITED)
    assert code == 0 and found["a crash here"]["state"] == "good", found
    assert not [name for name in os.listdir(tmp_path)], "it leaves nothing behind"
    text = doctor(tmp_path, UNLIMITED)
    assert text.returncode == 0 and text.stdout.decode().endswith("Core files are written here.\n")


def test_limits(tmp_path):
    found, code = checks(tmp_path, "ulimit -S -c 0")
    if resource.getrlimit(resource.RLIMIT_CORE)[1]:
        assert code == 1 and found["core limit"]["remedy"] == "ulimit -c unlimited"
    found, code = checks(tmp_path, "ulimit -c 0")
    assert code == 1 and "hard limit" in found["core limit"]["message"] and found["core limit"]["remedy"]
    assert doctor(tmp_path, "ulimit -c 0").stdout.decode().startswith("STOPS    core limit")


def test_filter(tmp_path):
    found, code = checks(tmp_path, UNLIMITED + " && echo 0x12 >/proc/self/coredump_filter")
    assert code == 1 and found["coredump filter"]["state"] == "stops"


def test_folder_that_cannot_be_written(tmp_path):
    if os.geteuid() == 0 or not writes_relative_cores():
        pytest.skip("root may write everywhere")
    (tmp_path / "closed").mkdir(0o500)
    found, code = checks(tmp_path / "closed", UNLIMITED)
    assert code == 1 and found["core folder"]["state"] == "stops"


@pytest.mark.parametrize("pattern,words,remedy", [
    ("|/usr/share/nothing/apport -p%p -s%s", "/usr/share/nothing/apport", "core_pattern=core.%p"),
    ("/nonexistent/cores/core.%p", "/nonexistent/cores", "mkdir -p '/nonexistent/cores'"),
    ("", "empty", "core_pattern=core.%p"),
], ids=["handler", "folder", "empty"])
def test_pattern(tmp_path, pattern, words, remedy):
    found, code = mounted(tmp_path, "/proc/sys/kernel/core_pattern", pattern)
    stops = [check for check in found.values() if check["state"] == "stops"]
    assert code == 1 and len(stops) == 1 and remedy in stops[0]["remedy"], stops
    assert words in stops[0]["message"] or "container" in found, stops


@pytest.mark.parametrize("scope,state", [("0", "good"), ("1", "good"), ("2", "warning"), ("3", "warning")])
def test_ptrace_scope(tmp_path, scope, state):
    """Whether this kernel has Yama or not."""
    (tmp_path / "yama").mkdir()
    (tmp_path / "yama" / "ptrace_scope").write_text(scope)
    (tmp_path / "core_pattern").write_text("core")
    found, _ = mounted(tmp_path, "/proc/sys/kernel", None)
    assert found["ptrace scope"]["state"] == state and found["core pattern"]["message"].startswith("core")


def test_usage():
    result = analyzer.run("doctor", "--help")
    assert result.returncode == 0 and "Usage: pystack-core doctor" in result.stdout
    assert analyzer.run("doctor", "nonsense").returncode == analyzer.EXIT_USAGE
