"""The program as one file (packaging/static/build): it says what the other one says, and needs nothing."""
import os
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters
import living

STATIC = os.environ.get("PSC_TEST_STATIC", os.path.join(cores.SOURCE, "build-static", "pystack-core"))
CASES = cores.CASES if analyzer.THOROUGH else ["worker_crash", "chained", "values", "subinterpreters"]
pytestmark = pytest.mark.skipif(not os.access(STATIC, os.X_OK), reason="no static program here (./run-tests --static)")
LIMIT = 5 * 1000 * 1000


def run(*arguments, **more):
    done = subprocess.run([STATIC, *map(str, arguments)], capture_output=True, timeout=600, env={
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_it_is_one_small_file():
    assert os.path.getsize(STATIC) < LIMIT
    assert "INTERP" not in subprocess.run(["readelf", "-lW", STATIC], capture_output=True, check=True).stdout.decode()
    dynamic = subprocess.run(["readelf", "-dW", STATIC], capture_output=True, check=True).stdout.decode()
    assert "NEEDED" not in dynamic


@pytest.mark.parametrize("options", [[], ["--format", "json"], ["--locals", "--all", "--tasks"], ["--summary"]],
                         ids=lambda options: "".join(options) or "plain")
@pytest.mark.cases([case for case in CASES if case in cores.CASES], slow=True)
def test_reports_are_equal(core, options):
    other = analyzer.run(*options, core.path)
    roots = ["--sysroot", cores.ROOTS[core.path]] if core.path in cores.ROOTS else []
    assert run(*options, *roots, core.path) == (other.returncode, other.stdout, other.stderr)


def test_a_living_process():
    interpreter = interpreters.find_wanted()[-1]
    with living.running([interpreter.path, "-c", "print('ready', flush=True); import time; time.sleep(600)"]) as process:
        code, text, errors = run("--pid", process.pid)
    assert code == 0 and not errors, errors
    assert "<module>" in text and "sleeps" in text


def test_manual_and_triage(tmp_path):
    assert run("--manual")[1].startswith(".TH PYSTACK")
    code, text, errors = run("triage", tmp_path)
    assert code != 64 and "Usage" not in text, errors


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot is root's")
def test_an_empty_root(tmp_path):
    """No library, no /dev, no /proc, no locale: names of functions need the files, which it says."""
    interpreter = interpreters.find_wanted()[-1]
    (tmp_path / "work").mkdir()
    cores.run_to_core([interpreter.path, "-c", "import os; os.abort()"], str(tmp_path / "work"))
    shutil.copy(STATIC, tmp_path / "pystack-core")
    done = subprocess.run(["chroot", tmp_path, "/pystack-core", "/work/core"], capture_output=True, timeout=120)
    assert done.returncode in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL), done.stderr
    assert b"SIGABRT" in done.stdout and b"not here" in done.stderr
    os.unlink(tmp_path / "work" / "core")


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot is root's")
@pytest.mark.parametrize("options", [["--locals", "--all", "--tasks"], ["--format", "json", "--locals", "--all"]],
                         ids=["text", "json"])
def test_a_small_core_in_an_empty_root(options, tmp_path):
    """Not even the C library of the dead machine is there: its needed parts are in the core."""
    core = cores.make_core("threads", interpreters.find_wanted()[0]).path
    small = tmp_path / "small.core"
    code, _, errors = run("slim", "--with-files", core, "-o", small)
    assert code == 0, errors
    shutil.copy(STATIC, tmp_path / "pystack-core")
    done = subprocess.run(["chroot", tmp_path, "/pystack-core", *options, "/small.core"], capture_output=True, timeout=120)
    code, text, errors = run(*options, core)
    assert (done.returncode, done.stderr.decode()) == (code, errors.replace(core, "/small.core"))
    assert done.stdout.decode() == text.replace(core, "/small.core")
