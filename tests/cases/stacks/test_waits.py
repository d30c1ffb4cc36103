"""What each thread waits for, and who has it: as the program itself says, alive and as a core."""
import json
import os

import shutil
import signal
import subprocess

import analyzer
import cores
import interpreters
import living
import pytest
import resting

CALLS = os.path.join(cores.PROGRAMS, "waiting_calls.py")
PROGRAM = os.path.join(cores.PROGRAMS, "waits.py")
TRIES = 20


def brief(wait):
    return wait and {"kind": wait["kind"], "object": wait["object"], "owner": (wait["owner"] or {}).get("tid"),
                     "address": wait["address"], "certain": wait["owner_certain"]}


def assert_as_told(document, told, has_names):
    threads = {thread["tid"]: thread for thread in document["threads"]}
    analyzer.assert_fits_schema(document)
    for name, wanted in told["waits"].items():
        thread = threads[wanted["tid"]]
        found = brief(thread["waits_for"])
        if name == "waits_imports":  # By native functions, which a stripped interpreter does not name.
            if found["kind"] != "import-lock":
                assert not has_names and found["kind"] in ("semaphore", "futex", "python-mutex"), found
                continue
            found["address"] = None
        if wanted["object"] is None:  # the text has a thread's number
            wanted = dict(wanted, object=found["object"], address=None)
            found["address"] = None
        else:
            wanted = dict(wanted, address=wanted["address"] and hex(wanted["address"]))
        wanted.pop("tid")
        assert found == wanted, name
        assert thread["waits_for"]["known_by"] and thread["waits_for"]["system_call"] == "futex"
        assert "waits-for-gil" not in thread["state"]


@pytest.mark.parametrize("mode", ["merged", "python"])
def test_living(interpreter, mode, tmp_path):
    told = tmp_path / "told"
    with living.running([interpreter.path, PROGRAM, str(told)]) as process:
        found = living.report(process.pid, "--format", "json", "--mode", mode)
        text = living.report(process.pid, "--mode", mode).stdout
    told = json.loads(told.read_text())
    assert_as_told(found.json, told, mode == "merged" and not interpreter.is_system)
    tid = told["waits"]["waits_lock"]
    assert '· waits for threading.Lock "jobs_lock" 0x%x, held by thread %d' % (tid["address"], tid["owner"]) in text
    assert '(likely)' in text


def test_core(interpreter, tmp_path):
    told = tmp_path / "told"
    cores.run_to_core([interpreter.path, PROGRAM, str(told), "die"], str(tmp_path))
    found = analyzer.json_of(str(tmp_path / "core"))
    assert_as_told(found.json, json.loads(told.read_text()), not interpreter.is_system)
    os.unlink(tmp_path / "core")


@pytest.mark.parametrize("one", interpreters.find_newer_in_suites(), ids=str)
def test_newer(one, tmp_path):
    """Of another suite, by its own loader: in its root there is no /proc."""
    told = tmp_path / "told"
    command = [one.root + "/lib64/ld-linux-x86-64.so.2", "--library-path", one.root + "/usr/lib/x86_64-linux-gnu",
               one.file, PROGRAM, str(told)]
    env = dict(os.environ, PYTHONHOME=one.root + "/usr")
    with living.running(command, env=env) as process:
        found = living.report(process.pid, "--format", "json")
    assert_as_told(found.json, json.loads(told.read_text()), False)
    cores.run_to_core([*command, "die"], str(tmp_path), env=env)
    assert_as_told(analyzer.json_of(str(tmp_path / "core")).json, json.loads(told.read_text()), False)


def assert_calls_as_told(document, told, alive):
    threads = {thread["tid"]: thread for thread in document["threads"]}
    analyzer.assert_fits_schema(document)
    for name, wanted in told.items():
        wait = threads[wanted["tid"]]["waits_for"]
        pid = wait["owner"] and wait["owner"]["pid"]
        assert wait["system_call"] and wait["owner"] is None or wait["owner"]["tid"] is None, name
        if alive:
            assert wait["kind"] == wanted["kind"], (name, wait)
            assert all(part in wait["object"] for part in wanted["says"]), (name, wait)
            assert pid == wanted["pid"], (name, wait)
            assert ("stopped" in wait["object"]) == (name == "stopped"), (name, wait)
        else:
            assert wanted["says"][0] in wait["object"], (name, wait)
            assert pid in (None, wanted["pid"]) and not wait["kernel_function"], (name, wait)
        assert wait["timed"] == (name in ("select", "epoll", "sleep")), (name, wait)
    left = threads[told["sleep"]["tid"]]["waits_for"]["time_left_s"]
    assert left is None or alive and 0 < left <= 600


def test_living_in_system_calls(interpreter, tmp_path):
    told = tmp_path / "told"
    with living.running([interpreter.path, CALLS, str(told)]) as process:
        # The system is asked for some milliseconds at most: on a busy machine not all is known each time.
        for tries_left in reversed(range(TRIES)):
            found = living.report(process.pid, "--format", "json")
            try:
                assert_calls_as_told(found.json, json.loads(told.read_text()), True)
                break
            except AssertionError:
                if not tries_left:
                    raise


def test_core_in_system_calls(interpreter, tmp_path):
    told = tmp_path / "told"
    cores.run_to_core([interpreter.path, CALLS, str(told), "die"], str(tmp_path))
    found = analyzer.json_of(str(tmp_path / "core"))
    assert_calls_as_told(found.json, json.loads(told.read_text()), False)
    os.unlink(tmp_path / "core")


@pytest.fixture(scope="module")
def native_waits():
    source = os.path.join(cores.PROGRAMS, "native_waits.c")
    folder = cores.made_once("native_waits", cores.digest(open(source).read()),
                             lambda where: cores.compile_c([source], os.path.join(where, "native_waits"), "-pthread"))
    return os.path.join(folder, "native_waits")


def assert_native_as_told(document, lines):
    threads = {thread["tid"]: thread for thread in document["threads"]}
    analyzer.assert_fits_schema(document)
    for line in lines:
        tid, kind, address, owner = line.split()
        wait = threads[int(tid)]["waits_for"]
        assert wait["kind"] == kind, wait
        assert (wait["owner"] or {}).get("tid", 0) == int(owner), wait
        assert wait["owner_certain"] == (owner != "0"), wait
        assert kind in ("join", "stdio-lock") or wait["address"] == address, wait


@pytest.mark.skipif(not shutil.which("gcc"), reason="no compiler here")
@pytest.mark.parametrize("python", interpreters.find_wanted() if analyzer.THOROUGH else interpreters.find_three(), ids=str)
def test_locks_in_python(python, tmp_path):
    """The same in a module of Python's, alive and in the core of that moment."""
    source = os.path.join(cores.PROGRAMS, "native_waits.c")
    folder = cores.made_once("native_waits-in-python", cores.digest(open(source).read()), lambda where: cores.compile_c(
        [source], os.path.join(where, "native_waits.so"), "-pthread", "-shared", "-fPIC"))
    command = [python.path, os.path.join(cores.PROGRAMS, "run_main.py"), os.path.join(folder, "native_waits.so")]
    with living.running(command) as process:
        lines = [line.decode() for line in iter(process.stdout.readline, b"end\n")]
        found = living.report(process.pid, "--format", "json", "--save-core=" + str(tmp_path / "core"))
    assert len(lines) > 10
    assert_native_as_told(found.json, lines)
    assert_native_as_told(analyzer.json_of(tmp_path / "core").json, lines)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no compiler here")
def test_locks_of_the_c_library(native_waits, tmp_path):
    with living.running([native_waits]) as process:
        lines = [line.decode() for line in iter(process.stdout.readline, b"end\n")]
        found = living.report(process.pid, "--format", "json")
        assert_native_as_told(found.json, lines)
        if shutil.which("gcore"):
            subprocess.run(["gcore", "-o", str(tmp_path / "snapshot"), str(process.pid)], check=True,
                           capture_output=True, timeout=600)
            # After a debugger's stop some calls are begun again by restart_syscall.
            assert_native_as_told(analyzer.json_of("%s.%d" % (tmp_path / "snapshot", process.pid)).json, lines)
            assert_native_as_told(living.report(process.pid, "--format", "json").json, lines)


@pytest.mark.parametrize("how,kind,says", [
    ("fork", "rlock", "held since fork() by a thread of the parent, which is not in this process"),
    ("end", "rlock", "held by a thread that is not in this process"),
    ("fork_plain", "lock", "held by nobody who is seen here, likely since fork() by a thread of the parent that is not in "
     "this process"),
    ("end_plain", "lock", None)])
def test_owner_that_is_not_there(interpreter, how, kind, says):
    with living.running([interpreter.path, os.path.join(cores.PROGRAMS, "lost_owner.py"), how],
                        stderr=subprocess.DEVNULL) as process:
        pid = int(process.stdout.readline())
        try:
            resting.wait_until_at_rest(pid)
            wait = living.report(pid, "--format", "json").json["threads"][0]["waits_for"]
        finally:
            os.kill(pid, signal.SIGKILL)
    assert wait["kind"] == kind and wait["object"] == 'threading.%s "guard"' % {"rlock": "RLock", "lock": "Lock"}[kind], wait
    assert wait["owner"] == (says and {"tid": None, "pid": None, "text": says}) and not wait["owner_certain"], wait
