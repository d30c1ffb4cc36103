"""Threads in the odd moments of an interpreter: collecting, finalising, forked, gone, without frames."""
import glob
import os

import pytest

import analyzer
import cores
import interpreters
import living
import resting

OTHER_SUITES = True
NOT_THERE = "the native thread of this Python thread is not there"


def names_of(thread):
    return [frame["name"] for frame in analyzer.python_frames(thread)]


def native_symbols(thread):
    return [frame["symbol"] for frame in thread["frames"] if frame["kind"] == "native"]


def document_of(core):
    document = analyzer.json_of(core.path).json
    analyzer.assert_fits_schema(document)
    assert "crashed" in document["threads"][0]["state"]
    for thread in document["threads"]:
        reasons = [gap["function"] for gap in analyzer.gaps(thread)]
        assert reasons == ([NOT_THERE] if "terminated" in thread["state"] else [])
    return document


@pytest.mark.cases(["state_weakref_callback", "state_collector_callback", "state_collector_native"])
def test_inside_the_collector(core):
    crashed = document_of(core)["threads"][0]
    assert {"crashed", "main", "holds-gil", "collecting-garbage"} <= set(crashed["state"])
    mode = core.made_by["command"][-1]
    names = names_of(crashed)
    assert names[-2:] == [mode, "<module>"]
    assert ("die" in names) == (mode != "collector_native")


COLLECTS = """
import gc, threading, time
class Ring:
    def __init__(self): self.itself = self
    def __del__(self):
        print("ready", flush=True)
        time.sleep(600)
def spins():
    while True: pass
thread = threading.Thread(target=spins)
thread.daemon = True
thread.start()
Ring()
gc.collect()
"""


def test_collector_that_has_released_the_gil(interpreter):
    """It is told by its lists on the stack, whoever holds the GIL and whether the interpreter is stripped."""
    if interpreter.free_threaded:
        pytest.skip("its collector has no lists")
    with living.running([interpreter.path, "-s", "-c", COLLECTS]) as process:
        resting.wait_until_at_rest(process.pid, but=next(tid for tid in living.thread_states(process.pid)
                                                         if tid != process.pid))
        for mode in ("merged", "python"):
            document = living.report(process.pid, "--format", "json", "--mode", mode).json
            collecting = {thread["tid"]: "collecting-garbage" in thread["state"] for thread in document["threads"]}
            assert collecting == {tid: tid == process.pid for tid in collecting} and len(collecting) == 2, collecting


@pytest.mark.cases(["state_finalizing"])
def test_while_the_interpreter_ends(core):
    document = document_of(core)
    crashed = document["threads"][0]
    assert {"main", "holds-gil", "finalizing"} <= set(crashed["state"])
    assert names_of(crashed) == ["__del__"]
    others = document["threads"][1:]
    assert len(others) == 1 and "idle" in others[0]["state"]
    assert not {"finalizing", "holds-gil", "main"} & set(others[0]["state"])


@pytest.mark.cases(["state_fork_in_thread", "state_at_fork"])
def test_child_of_fork(core):
    """Only the thread that forked is there."""
    document = document_of(core)
    assert len(document["threads"]) == 1
    crashed = document["threads"][0]
    assert int(crashed["python_thread_id"]) == core.truth["dying"]
    assert "holds-gil" in crashed["state"] and "die" in names_of(crashed)
    if "fork_in_thread" in core.case:
        assert "forks" in names_of(crashed) and crashed["name"] == "forks"


@pytest.mark.cases(["state_raw_fork"])
def test_child_of_a_fork_behind_its_back(core):
    """The interpreter still lists threads that the child does not have."""
    document = document_of(core)
    assert len(document["threads"]) == 2
    gone = next(thread for thread in document["threads"] if thread["name"] == "sleeper")
    assert "terminated" in gone["state"] and "idle" not in gone["state"]
    assert not native_symbols(gone)
    assert "terminated" not in document["threads"][0]["state"]
    assert "terminated" in analyzer.run(core.path).stdout


@pytest.mark.cases(["state_abandoned"])
def test_thread_that_ended(core):
    document = document_of(core)
    assert len(document["threads"]) == 2
    ended = document["threads"][1]
    assert ended["state"] == ["terminated"] and names_of(ended) == []


@pytest.mark.cases(["state_no_frame"])
def test_attached_without_python_code(core):
    document = document_of(core)
    crashed, main = document["threads"]
    assert names_of(crashed) == [] and crashed["python_thread_id"] is not None
    assert "holds-gil" in crashed["state"] and "main" not in crashed["state"]
    assert "ways_attached_thread" in native_symbols(crashed)
    assert names_of(main)[-2:] == ["no_frame", "<module>"]
    assert "main" in main["state"] and not {"holds-gil", "waits-for-gil"} & set(main["state"])


@pytest.mark.cases(["state_own_gil"])
def test_interpreters_with_a_gil_each(core):
    """Each thread with the frames and the state of its own interpreter."""
    document = document_of(core)
    truth = core.truth["promises"]["threads"]
    spins = sleeps = None
    for ident, interpreter in truth.items():
        thread = analyzer.thread_by_ident(document, int(ident))
        names = names_of(thread)
        spins = thread if "spins" in names else spins
        sleeps = thread if "sleeps" in names else sleeps
        assert names[:2] in (["spins", "<module>"], ["sleeps", "<module>"])
        assert "main" not in thread["state"] and thread["interpreter"] == interpreter
        assert [frame["interpreter"] for frame in analyzer.python_frames(thread)][:3] == [interpreter, interpreter, 0]
    assert "holds-gil" in spins["state"] and "idle" not in spins["state"]
    assert "holds-gil" not in sleeps["state"] and "idle" in sleeps["state"]
    first = document["threads"][0]
    assert "holds-gil" in first["state"]
    assert [(one["gil_holder"], one["own_gil"]) for one in document["target"]["python"]["interpreters"]] == \
        [(first["tid"], True)] + [({str(spins["python_thread_id"]): spins["tid"]}.get(ident), True) for ident in truth]
    text = analyzer.run(core.path).stdout
    assert " · 3 interpreters · GILs held by %d (interpreter 0), %d (interpreter %d)\n" % (
        first["tid"], spins["tid"], spins["interpreter"]) in text
    assert text.count(" · holds the GIL of interpreter 0") == 1
    assert text.count(" · holds the GIL of interpreter %d" % spins["interpreter"]) == 1


@pytest.mark.parametrize("allocation", [30, 300, 3000, 7000, 12000])
def test_inside_py_initialize(interpreter, allocation):
    """At some allocation of an interpreter that starts: the native stack is whole, and what there is
    of Python has its place in it."""
    result = analyzer.run("--format", "json", "--all", cores.make_early_core(interpreter, allocation))
    document = result.json
    analyzer.assert_fits_schema(document)
    assert len(document["threads"]) == 1
    thread = document["threads"][0]
    assert analyzer.gaps(thread) == [] and "terminated" not in thread["state"]
    names = [frame["function"] for frame in thread["frames"]]
    assert "malloc" in names and "_start" in names
    evaluators = [frame for frame in thread["frames"] if analyzer.is_evaluator(frame)]
    frames = analyzer.python_frames(thread)
    # One each up to 3.10; 3.11 runs several in one.
    assert len(frames) == len(evaluators) if interpreter.minor < (3, 11) else len(frames) >= len(evaluators)
    if allocation == 12000:
        assert frames and "holds-gil" in thread["state"]
    if allocation == 30:
        assert not frames and len(document["warnings"]) == 1


def test_interpreter_without_a_frame(interpreter):
    """Embedded, and nothing of Python was called."""
    prefix = os.path.dirname(os.path.dirname(interpreter.file))
    found = glob.glob(os.path.join(prefix, "lib", "libpython%d.%d*.so.*" % interpreter.minor))
    if not found:
        pytest.skip("no shared libpython of %s" % interpreter.label)
    document = analyzer.run("--format", "json", cores.make_bare_core(interpreter, found[0])).json
    analyzer.assert_fits_schema(document)
    assert len(document["threads"]) == 1
    thread = document["threads"][0]
    assert {"crashed", "main", "holds-gil"} <= set(thread["state"])
    assert names_of(thread) == [] and analyzer.gaps(thread) == []
    assert "main" in native_symbols(thread) and document["warnings"] == []


@pytest.mark.cases(["threads"], when=lambda case, interpreter: interpreter not in interpreters.find_wanted())
def test_who_has_the_gil_and_who_waits(core):
    """As test_crash.py has it for the other versions; some of these are stripped."""
    document, promises = document_of(core), core.truth["promises"]

    def idents(state):
        return {int(thread["python_thread_id"]) for thread in document["threads"] if state in thread["state"]}

    assert idents("holds-gil") == {promises["holds_gil"]}
    assert idents("waits-for-gil") == set(promises["waits_for_gil"])
    named = {int(ident) for ident in core.truth["names"]}
    assert idents("idle") == named - {core.truth["dying"]} - set(promises["waits_for_gil"])
    assert idents("main") == {core.truth["main"]}
