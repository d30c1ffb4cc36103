"""Threads and processes that wait for each other: alive, and in cores of the kernel and of a debugger."""
import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest

import analyzer
import cores
import interpreters
import living
import resting

PROGRAM = os.path.join(cores.PROGRAMS, "stuck.py")
THOROUGH = os.environ.get("PSC_TEST_THOROUGH") == "1"
VERSIONS = [(3, 8), (3, 9), (3, 11), (3, 12), (3, 13)]

# (how, verdict; None: nothing may be said, what each member waits for)
KNOTS = [
    ("rlocks", "deadlock", ["threading.RLock", "threading.RLock"]),
    ("rlocks_timed", "stall", ["threading.RLock", "threading.RLock"]),
    ("locks", "likely", ["threading.Lock", "threading.Lock"]),
    ("lock_and_rlock", "likely", ["threading.Lock", "threading.RLock"]),
    ("lock_taken_by_a_handler", "likely", ["threading.Lock"]),
    ("joins", "deadlock", ["the end of thread", "the end of thread"]),
    ("import_and_join", "deadlock", ["the end of thread", "the import lock of module slow"]),
    ("import_and_lock", "deadlock", ["the import lock of module slow", "threading.RLock"]),
    ("import_and_executor", "deadlock", ["the import lock of module slow", "what is worked on by"]),
    ("running_owner", None, None),
    ("lock_of_a_reader", None, None),
    ("import_each_other", None, None),
    ("slow_import", None, None),
]
OF_THE_GIL = [("gil_and_mutex", "deadlock", ["a pthread mutex", "the GIL"]), ("gil_and_sleeper", None, None),
              ("gil_given_up", None, None)]
OF_PROCESSES = [
    ("pipes", "deadlock", ["room to write", "room to write"]),
    ("pipe_and_wait", "deadlock", ["room to write", "the end of process"]),
    ("queue_and_wait", "likely", ["the end of process", "the end of thread", "room to write"]),
    ("file_lock_and_wait", "deadlock", ["the lock on descriptor", "the end of process"]),
    ("pipe_and_wait_timed", None, None),
    ("pipes_of_a_sleeper", None, None),
]
WORDS = {"deadlock": "  deadlock of ", "likely": "  likely a deadlock of ", "stall": "  a stall, until "}


def found():
    return [one for one in interpreters.find_wanted() if not one.root and not one.is_system and one.minor in VERSIONS]


def cases(knots):
    """Each with three interpreters, by turns, and what is none with one; thoroughly: with all."""
    all_of_them = [one for one in found() if not (one.free_threaded and knots is OF_THE_GIL)]
    return [pytest.param(one, *knot, id="%s-%s" % (knot[0], one.label)) for at, knot in enumerate(knots)
            for number, one in enumerate(all_of_them)
            if THOROUGH or (number - at) % len(all_of_them) < (3 if knot[1] or knots is OF_THE_GIL else 1)]


def is_first(one, how):
    """One interpreter of each case is looked at by a debugger, too, which takes seconds."""
    return THOROUGH or one == next(case.values[0] for case in cases(KNOTS + OF_THE_GIL) if case.values[1] == how)


@contextlib.contextmanager
def stuck(interpreter, how, folder, *more, **environment):
    """In a session of its own: whatever it has started ends with it."""
    with living.running([interpreter.path, "-s", PROGRAM, how, *more], cwd=str(folder), start_new_session=True,
                        preexec_fn=cores._allow_cores, env=dict(os.environ, **environment)) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def assert_is(document, verdict, waits):
    analyzer.assert_fits_schema(document)
    found = document["deadlocks"]
    if verdict is None:
        assert found == []
        return
    assert [one["verdict"] for one in found] == [verdict], found
    said = [one["waits_for"] for one in found[0]["members"]]
    assert len(said) == len(waits), said
    # In whatever order the circle is told.
    assert all(any(one.startswith(wanted) for one in said) for wanted in waits), said
    threads = {thread["tid"] for thread in document["threads"]}
    assert all(one["known_by"] and one["tid"] in threads for one in found[0]["members"])


def assert_text_is(text, verdict):
    head = text.split("\n\n", 1)[0]
    assert [word for word in WORDS if "\n" + WORDS[word] in head] == ([verdict] if verdict else []), head


def core_of_the_kernel(process, folder):
    process.send_signal(signal.SIGABRT)
    process.wait()
    core, = [name for name in os.listdir(folder) if name.startswith("core")]
    return os.path.join(folder, core)


def assert_cores_are(process, folder, gcore, verdict, waits, also=None):
    if gcore and shutil.which("gcore"):
        subprocess.run(["gcore", "-o", str(folder / "snapshot"), str(process.pid)], check=True, capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=600)
        assert_is(analyzer.json_of("%s.%d" % (folder / "snapshot", process.pid)).json, verdict, waits)
        os.unlink("%s.%d" % (folder / "snapshot", process.pid))
    if cores.kernel_writes_here():
        path = core_of_the_kernel(process, folder)
        document = analyzer.json_of(path).json
        assert_is(document, verdict, waits)
        if also:
            also(document)
        assert_text_is(analyzer.run("--no-source", path).stdout, verdict)
        os.unlink(path)


@pytest.mark.parametrize("one,how,verdict,waits", cases(KNOTS))
def test_threads(one, how, verdict, waits, tmp_path):
    with stuck(one, how, tmp_path) as process:
        resting.wait_until_at_rest(process.pid)
        report = living.report(process.pid, "--format", "json")
        assert_is(report.json, verdict, waits)
        (tmp_path / "report.json").write_text(report.stdout)
        stored = analyzer.run("summary", tmp_path / "report.json").stdout
        assert_text_is(stored, verdict)
        assert not verdict or stored.count(" waits for ") > len(waits), stored
        assert_cores_are(process, tmp_path, is_first(one, how), verdict, waits)


@pytest.fixture(scope="module")
def library():
    if not shutil.which("gcc"):
        pytest.skip("no compiler here")
    source = os.path.join(cores.PROGRAMS, "gil_mutex.c")
    with open(source) as file:
        key = cores.digest(file.read())
    return os.path.join(cores.made_once("gil_mutex", key, lambda where: cores.compile_c(
        [source], os.path.join(where, "gil_mutex.so"), "-shared", "-fPIC", "-pthread")), "gil_mutex.so")


def sleep_on_futexes(pid):
    """Whether all threads do. Who waits for the GIL wakes every 5 ms, so that it never comes to rest."""
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/wchan" % (pid, tid)) as file:
            if "futex" not in file.read():
                return False
    return True


def assert_gives_up(document):
    """Who stands in drop_gil() behind it does not wait for the GIL; who has it since waits for that one's mutex."""
    assert [("main" in thread["state"]) for thread in document["threads"]].count(True) == 1, document["threads"]
    other, gave = sorted(document["threads"], key=lambda thread: "main" not in thread["state"])
    assert not {"waits-for-gil", "holds-gil"} & set(gave["state"]) and gave["waits_for"]["kind"] == "signal"
    assert "holds-gil" in other["state"] and other["waits_for"]["owner"]["tid"] == gave["tid"]


@pytest.mark.parametrize("one,how,verdict,waits", cases(OF_THE_GIL))
def test_the_gil(one, how, verdict, waits, library, tmp_path):
    given_up = {"LD_PRELOAD": library} if how == "gil_given_up" else {}
    with stuck(one, how, tmp_path, library, **given_up) as process:
        if how == "gil_and_mutex":
            resting.wait_until(lambda: sleep_on_futexes(process.pid), "sleep in futexes")
        else:
            resting.wait_until_at_rest(process.pid)
        document = living.report(process.pid, "--format", "json").json
        assert_is(document, verdict, waits)
        if how == "gil_given_up":
            assert_gives_up(document)
            assert_gives_up(living.report(process.pid, "--format", "json", "--mode", "python").json)
        if verdict:  # the same report without native stacks
            assert_is(living.report(process.pid, "--format", "json", "--mode", "python").json, verdict, waits)
        more = assert_gives_up if how == "gil_given_up" else None
        assert_cores_are(process, tmp_path, is_first(one, how), verdict, waits, more)


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


@pytest.mark.parametrize("one,how,verdict,waits", cases(OF_PROCESSES))
def test_processes(one, how, verdict, waits, tmp_path):
    with stuck(one, how, tmp_path) as process:
        resting.wait_until(lambda: children_of(process.pid), "child of process %d" % process.pid)
        if how != "pipe_and_wait_timed":  # wait() with a limit looks again and again
            resting.wait_until_at_rest(process.pid, *children_of(process.pid))
        result = living.report(process.pid, "--children", "--format", "json")
        documents = [json.loads(line) for line in result.stdout.splitlines()]
        told = [document["deadlocks"] for document in documents]
        assert len(told) == 2 and told[0] == told[1]
        if verdict is None:
            assert told[0] == []
        else:
            members = told[0][0]["members"]
            assert told[0][0]["verdict"] == verdict and len(told[0]) == 1
            assert {one["pid"] for one in members} == {process.pid, *children_of(process.pid)}
            assert all(any(one["waits_for"].startswith(wanted) for one in members) for wanted in waits), members
        # Of one alone it cannot be known.
        assert_is(living.report(process.pid, "--format", "json").json, None, None)


@pytest.fixture(scope="module")
def native_stuck():
    if not shutil.which("gcc"):
        pytest.skip("no compiler here")
    source = os.path.join(cores.PROGRAMS, "native_stuck.c")
    with open(source) as file:
        key = cores.digest(file.read())

    def make(where):
        cores.compile_c([source], os.path.join(where, "native_stuck"), "-pthread", "-rdynamic")
        cores.compile_c([source], os.path.join(where, "opened.so"), "-shared", "-fPIC", "-DOPENED")
        cores.compile_c([source], os.path.join(where, "native_stuck.so"), "-pthread", "-shared", "-fPIC")
    return cores.made_once("native_stuck-2", key, make)


def alone_and_in_python(at):
    three = interpreters.find_three()
    return pytest.mark.parametrize("python", [None, *(three if THOROUGH else three[at:][:1])], ids=str)


def look_at_native(folder, how, python, tmp_path):
    """Reports of the living process and of its core; without Python the exit code says that there is none."""
    program = [python.path, os.path.join(cores.PROGRAMS, "run_main.py"), os.path.join(folder, "native_stuck.so")] \
        if python else [os.path.join(folder, "native_stuck")]
    with living.running([*program, how, os.path.join(folder, "opened.so")]) as process:
        if how == "spin":
            resting.wait_until(lambda: living.cpu_ticks(process.pid) > 1, "spinning")
        else:
            resting.wait_until_at_rest(process.pid)
        if how == "loader":
            resting.wait_until(lambda: sleep_on_futexes(process.pid), "sleep in futexes")
        yield living.report(process.pid, "--format", "json", "--save-core=" + str(tmp_path / "core")).json
        yield analyzer.json_of(tmp_path / "core").json
        if not python and shutil.which("gcore"):
            subprocess.run(["gcore", "-o", str(tmp_path / "snapshot"), str(process.pid)], check=True,
                           capture_output=True, stdin=subprocess.DEVNULL, timeout=600)
            yield analyzer.json_of("%s.%d" % (tmp_path / "snapshot", process.pid)).json


@alone_and_in_python(0)
def test_the_loader(python, native_stuck, tmp_path):
    """A constructor that waits for a thread which opens a library, too."""
    for document in look_at_native(native_stuck, "loader", python, tmp_path):
        assert_is(document, "deadlock", ["the end of thread", "the loader's lock"])
        wait = document["threads"][1]["waits_for"] or document["threads"][0]["waits_for"]
        assert {thread["waits_for"]["kind"] for thread in document["threads"]} == {"join", "loader-lock"}, wait
        assert all(thread["waits_for"]["owner_certain"] for thread in document["threads"])


@alone_and_in_python(1)
def test_a_spin_lock(python, native_stuck, tmp_path):
    for document in look_at_native(native_stuck, "spin", python, tmp_path):
        assert_is(document, None, None)
        spins, = (thread for thread in document["threads"] if not thread["state"] or "idle" not in thread["state"])
        if spins["waits_for"] is None:  # met between two looks at the lock, which is no proof
            continue
        assert spins["waits_for"]["kind"] == "spin" and spins["waits_for"]["owner"] is None
        assert spins["waits_for"]["object"] == "a pthread spin lock" and spins["waits_for"]["address"]


@alone_and_in_python(2)
def test_a_ring(python, native_stuck, tmp_path):
    for document in look_at_native(native_stuck, "ring", python, tmp_path):
        waits = [thread["waits_for"] for thread in document["threads"]]
        if {wait["kind"] for wait in waits} == {"signal"}:
            pytest.skip("the kernel has no io_uring for us")
        ring, = (wait for wait in waits if wait["kind"] == "io-uring")
        assert ring["system_call"] == "io_uring_enter" and ring["object"].startswith("io_uring descriptor ")
