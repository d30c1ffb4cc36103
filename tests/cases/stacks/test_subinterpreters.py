"""Several interpreters, and several of them on one thread: one merged stack of all."""
import os

import pytest

import analyzer
import cores
import living
import resting

OTHER_SUITES = True


@pytest.mark.cases(["subinterpreters"])
def test_frames_of_all_interpreters_in_one_stack(core):
    document = analyzer.json_of(core.path, "--locals").json
    analyzer.assert_fits_schema(document)
    thread = document["threads"][0]
    assert "crashed" in thread["state"]
    frames = [frame for frame in analyzer.python_frames(thread) if frame["name"] not in ("run", "new")]
    assert [frame["name"] for frame in frames] == \
        ["inside", "<module>", "between", "<module>", "outermost", "<module>"]
    values = [frame.get("locals", {}).get("value") for frame in frames]
    assert values == ["'inner'", None, "'middle'", None, "'outer'", None]
    assert analyzer.gaps(thread) == []
    assert [frame["interpreter"] for frame in frames] == [3, 3, 2, 2, 0, 0] and thread["interpreter"] == 3
    assert all(frame["interpreter"] is None for frame in thread["frames"] if frame["kind"] != "python")


@pytest.mark.cases(["subinterpreters"])
def test_each_run_of_frames_names_its_interpreter(core):
    document = analyzer.json_of(core.path).json
    tid = document["threads"][0]["tid"]
    # Those that share the main one's GIL; 3.12 gives those of _xxsubinterpreters one of their own.
    ones = document["target"]["python"]["interpreters"]
    assert [one["id"] for one in ones] == [0, 1, 2, 3] and ones[0]["own_gil"] and tid in [one["gil_holder"] for one in ones]
    assert len({one["own_gil"] for one in ones[1:]}) == 1
    text = analyzer.run(core.path).stdout
    named = [line.split(" (interpreter ")[1] for line in text.splitlines() if " (interpreter " in line and "#" in line]
    assert named == ["3)", "2)", "0)"], text
    assert " · 4 interpreters" in text


@pytest.mark.cases(["subinterpreters"])
def test_order_without_unwinding(core):
    """--mode python has no native frames to go by, but what evaluators leave on the C stack."""
    thread = analyzer.json_of(core.path, "--mode", "python").json["threads"][0]
    names = [frame["name"] for frame in thread["frames"] if frame["name"] not in ("run", "new")]
    assert names == ["inside", "<module>", "between", "<module>", "outermost", "<module>"]


@pytest.mark.cases(["subinterpreters"])
def test_order_by_address(core):
    """Native frames of os.abort() inside, of the interpreters' calls between."""
    thread = analyzer.json_of(core.path).json["threads"][0]
    kinds = [frame["kind"] for frame in thread["frames"] if frame["name"] in
             ("inside", "between", "outermost") or frame["kind"] == "native"]
    first = kinds.index("python")
    assert "native" in kinds[:first]
    between = [index for index, kind in enumerate(kinds) if kind == "python"]
    assert all(later - earlier > 1 for earlier, later in zip(between, between[1:]))


@pytest.mark.parametrize("has_its_id", ["runner", "inside", "maker"])
def test_interpreter_that_another_thread_made(interpreter, has_its_id):
    """Up to 3.12 its state keeps the id of the thread that made it, or of one that has got the stack of that."""
    if interpreter.minor < (3, 8):
        pytest.skip("it has no module for interpreters")
    program = os.path.join(cores.PROGRAMS, "interpreter_of_another.py")
    with living.running([interpreter.path, program, has_its_id]) as process:
        resting.wait_until_at_rest(process.pid)
        # A thread of the process each; none stands for the one that has ended.
        count = 4 if has_its_id == "maker" else 3
        tid = assert_runs_another(process, (), count)
        assert_runs_another(process, ("--mode", "python"), count)
        assert assert_runs_another(process, ("--thread", str(tid)), 1) == tid
        # Of 3.8 and 3.9 nothing tells the order, nor the thread, without their stack.
        if interpreter.minor >= (3, 10):
            assert_runs_another(process, ("--no-pause",), count)


def assert_runs_another(process, options, count):
    """The thread "runner" runs interpreter 1, as does the one inside it: of `count` threads. Its id is returned."""
    result = living.report(process.pid, "--format", "json", *options)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.stdout
    assert len(result.json["threads"]) == count
    thread, = [one for one in result.json["threads"] if one["name"] == "runner"]
    frames = [(frame["name"], frame["interpreter"]) for frame in analyzer.python_frames(thread)]
    assert frames[:3] == [("works", 1), ("<module>", 1), ("runs", 0)], (options, result.stdout)
    assert thread["interpreter"] == 1 and thread["exception"]["message"] == "inner"
    assert thread["other_exceptions"][0]["message"] == "'outer'"
    insider = [one for one in result.json["threads"] if "rests_inside" in [frame["name"] for frame in one["frames"]]]
    assert [one["interpreter"] for one in insider] == ([] if "--thread" in options else [1])
    # Its own frames, and none of another thread's.
    assert all("works" not in [frame["name"] for frame in one["frames"]] for one in result.json["threads"] if one != thread)
    return thread["tid"]
