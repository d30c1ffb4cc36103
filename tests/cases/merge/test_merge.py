"""Merging loses nothing, invents nothing, keeps both orders, and joins at the evaluators."""
import pytest

import analyzer
import cores
import truth

# Generators that delegate while throw() runs have no evaluator of their own, up to 3.10.
SHARED_EVALUATORS = ("generator_throw", "generator_close", "asyncio_cancel")


def frame_key(frame):
    return truth.key_of_json(frame)


@pytest.mark.cases(cores.CASES)
def test_native_frames_are_all_there_in_order(core):
    merged = analyzer.json_of(core.path, "--all").json
    native = analyzer.json_of(core.path, "--mode", "native", "--all").json
    assert [thread["tid"] for thread in merged["threads"] if thread["tid"]] == \
        [thread["tid"] for thread in native["threads"] if thread["tid"]]
    for thread in native["threads"]:
        found = analyzer.physical_pcs(analyzer.thread_by_tid(merged, thread["tid"]))
        expected = analyzer.physical_pcs(thread)
        if core.truth["promises"].get("unwind_may_break"):
            # The Python side may lead the merged walk over the break: it knows more, not less.
            found = found[:len(expected)]
            expected = expected[:len(found)]
        assert found == expected, "LWP %d" % thread["tid"]


@pytest.mark.cases(cores.CASES)
def test_python_frames_are_all_there_in_order(core):
    merged = analyzer.json_of(core.path, "--all").json
    python = analyzer.json_of(core.path, "--mode", "python").json
    for thread in python["threads"]:
        if thread["python_thread_id"] is None:
            assert not analyzer.python_frames(thread)
            continue
        ident = int(thread["python_thread_id"])
        found = [frame_key(frame) for frame in
                 analyzer.python_frames(analyzer.thread_by_ident(merged, ident))]
        expected = [frame_key(frame) for frame in analyzer.python_frames(thread)]
        if ident == core.truth["dying"] and truth.is_chain_cut(core):
            found = found[:len(expected)]
        assert found == expected, "thread %#x" % ident


@pytest.mark.cases(cores.CASES, slow=True)
def test_default_view_is_the_whole_view_without_what_is_hidden(core):
    whole = analyzer.json_of(core.path, "--all").json
    usual = analyzer.json_of(core.path).json

    def shown(thread):
        # Inlined calls are looked up where they are shown; the line of a native frame depends on it.
        return [(frame["kind"], frame["function"], frame["line"]) if frame["kind"] == "python" else
                (frame["kind"], frame["symbol"], frame["pc"])
                for frame in thread["frames"] if not frame["hidden"] and not frame["inlined"]]

    assert [shown(thread) for thread in usual["threads"]] == \
        [shown(thread) for thread in whole["threads"]]
    assert not any(frame["hidden"] for thread in usual["threads"] for frame in thread["frames"])
    assert any(frame["hidden"] for thread in whole["threads"] for frame in thread["frames"])


@pytest.mark.cases(cores.CASES)
def test_python_frames_stand_on_their_evaluators(core):
    """Inward of each run of Python frames comes the evaluator that runs them, or a named gap."""
    document = analyzer.json_of(core.path, "--all").json
    runs = 0
    for thread in document["threads"]:
        frames = [frame for frame in thread["frames"] if not frame["inlined"]]
        for inner, outer in zip([None] + frames, frames):
            if outer["kind"] != "python" or (inner and inner["kind"] == "python"):
                continue
            runs += 1
            assert inner is not None, "Python frames inside the innermost native frame"
            if inner["kind"] == "gap":
                assert core.truth["promises"].get("unwind_may_break") or truth.is_chain_cut(core)
            else:
                python_2 = core.interpreter.minor < (3,)
                assert inner["hidden"] and analyzer.is_evaluator(inner, python_2), inner["symbol"]
    assert runs


@pytest.mark.cases(cores.CASES, when=lambda case, interpreter: case not in SHARED_EVALUATORS or
                   interpreter.minor >= (3, 11))
def test_evaluators_carry_python_frames(core):
    """No evaluator is left without the Python frames it runs."""
    document = analyzer.json_of(core.path, "--all").json
    for thread in document["threads"]:
        frames = [frame for frame in thread["frames"] if not frame["inlined"]]
        for inner, outer in zip(frames, frames[1:] + [None]):
            if analyzer.is_evaluator(inner):
                assert outer is not None and outer["kind"] in ("python", "gap"), inner["pc"]


@pytest.mark.cases(["callbacks"])
def test_the_whole_story_of_one_stack(core):
    """Python and C alternate as the program wrote them."""
    frames = analyzer.json_of(core.path).json["threads"][0]["frames"]
    names = [frame["name"] if frame["kind"] == "python" else frame["symbol"] for frame in frames]
    story = ["die", "bottom", "ways_call", "__hash__", "compare", "qsort", "by_qsort", "by_sub",
             "by_reduce", "by_map", "main", "<module>"]
    positions, start = [], 0
    for step in story:
        found = next((at for at in range(start, len(names))
                      if names[at] == step or step == "qsort" and "sort" in (names[at] or "")), None)
        assert found is not None, "%s is not where it belongs in %s" % (step, names)
        positions.append(found)
        start = found + 1


@pytest.mark.cases(["no_unwind_info"])
def test_a_broken_unwind_keeps_all_python_frames(core):
    document = analyzer.json_of(core.path).json
    ident = core.truth["dying"]
    thread = analyzer.thread_by_ident(document, ident)
    assert [frame_key(frame) for frame in analyzer.python_frames(thread)] == truth.stacks(core)[ident]
    guessed = [frame for frame in thread["frames"] if frame["trust"] in ("scan", "anchor", "frame-pointer")]
    assert analyzer.gaps(thread) or guessed, "the break is neither named nor bridged"
    for gap in analyzer.gaps(thread):
        assert gap["function"], "a gap says why"
