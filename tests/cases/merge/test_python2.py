"""What is different in Python 2.7: its objects, its classes without types, its exceptions."""
import os

import pytest

import analyzer
import cores
import interpreters
import living
import test_merge
import truth

OTHER_SUITES = True
ONLY_2 = {"when": lambda case, interpreter: interpreter.minor < (3,)}
MERGED = ["threads", "worker_crash", "callbacks", "importing", "language", "recursion_900", "native_threads"]


@pytest.mark.cases(MERGED, **ONLY_2)
def test_merged_stacks(core):
    test_merge.test_native_frames_are_all_there_in_order(core)
    test_merge.test_python_frames_are_all_there_in_order(core)
    test_merge.test_default_view_is_the_whole_view_without_what_is_hidden(core)
    test_merge.test_python_frames_stand_on_their_evaluators(core)


@pytest.mark.cases(["callbacks"], **ONLY_2)
def test_the_whole_story(core):
    test_merge.test_the_whole_story_of_one_stack(core)


@pytest.mark.cases(["threads"], **ONLY_2)
def test_who_holds_the_gil(core):
    document = analyzer.json_of(core.path).json
    holder = analyzer.thread_by_ident(document, core.truth["promises"]["holds_gil"])
    assert "holds-gil" in holder["state"] and holder["name"] == "MainThread"
    assert sum("holds-gil" in thread["state"] for thread in document["threads"]) == 1


@pytest.mark.cases(["objects_2"], **ONLY_2)
def test_values(core):
    document = analyzer.json_of(core.path, "--locals").json
    frames = analyzer.frames_by_name(document, core.truth["dying"])
    shown = frames["values"]["locals"]
    promised = core.truth["promises"]["values"]
    wrong = ["%s: %r, not %r" % (name, shown.get(name), said) for name, said in promised.items()
             if (shown.get(name) != said["is"] if "is" in said
                 else not (shown.get(name) or "").startswith(said["begins"]))]
    assert not wrong, "\n".join(wrong)
    assert len(promised) > 40
    found = frames["arguments"]["locals"]
    assert list(found)[:4] == core.truth["promises"]["order"][:4]
    assert [found[name] for name in core.truth["promises"]["order"]] == \
        ["1", "2", "(3, 4)", "{'extra': 'more'}", "'later'"]


@pytest.mark.cases(["objects_2"], **ONLY_2)
def test_names(core):
    """Methods have the class that they were found in, old classes too; file names are UTF-8."""
    document = analyzer.json_of(core.path).json
    thread = analyzer.thread_by_ident(document, core.truth["dying"])
    assert thread["name"] == "that of 2.7"
    frames = analyzer.python_frames(thread)
    methods = [frame["function"] for frame in frames if "." in frame["function"]]
    assert methods == ["New.method", "New.attribute", "New.by_class", "New.method", "Old.by_class",
                       "Old.method", "Thread.run", "Thread.__bootstrap_inner", "Thread.__bootstrap"]
    assert "dossier/\u00e9t\u00e9.py" in {frame["file"] for frame in frames}


@pytest.mark.cases(["exceptions_2"], **ONLY_2)
def test_exceptions(core):
    document = analyzer.json_of(core.path).json
    analyzer.assert_fits_schema(document)
    promises = core.truth["promises"]
    thread = document["threads"][0]
    raised = thread["exception"]
    assert (raised["type"], raised["message"], raised["state"]) == ("KeyError", "'missing'", "raised")
    assert [place["name"] for place in raised["traceback"]] == ["last", "fails", "fails"]
    handled = [truth.flat_exception(one)[0] for one in thread["other_exceptions"]]
    for one, said in zip(handled, (promises["inner"], promises["outer"])):
        assert (one["type"], one["message"], one["traceback"]) == \
            (said["type"], said["message"], said["traceback"])
    assert len(handled) == 2
    waiting = analyzer.thread_by_ident(document, promises["worker"])["exception"]
    assert (waiting["type"], waiting["message"]) == (promises["waiting"]["type"], promises["waiting"]["message"])


PYTHON_2 = [pytest.param(one, id=one.label) for one in interpreters.find_all() if one.minor == (2, 7)] or [
    pytest.param(None, id="2.7", marks=pytest.mark.skip(reason="no CPython 2.7 here"))]


@pytest.mark.parametrize("python_2", PYTHON_2)
def test_living_process(python_2):
    """Every look shows whole stacks, whoever has the GIL or nobody."""
    names: set = set()
    functions: set = set()
    with living.running([python_2.path, "-s", os.path.join(cores.PROGRAMS, "busy_2.py")]) as process:
        for _ in range(20):
            result = living.report(process.pid, "--format", "json", "--all")
            assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
            assert sum("holds-gil" in thread["state"] for thread in result.json["threads"]) <= 1
            for thread in result.json["threads"]:
                frames = analyzer.python_frames(thread)
                names.add(thread["name"])
                functions.update(frame["name"] for frame in frames)
                if frames and frames[0]["name"] in ("fib", "compute", "<lambda>", "numbers"):
                    assert frames[-1]["name"] in ("<module>", "__bootstrap")
                assert not analyzer.gaps(thread)
        assert process.poll() is None
    assert {"MainThread", "compute", "sort", "generate", "wait"} <= names
    assert {"fib", "compute", "sort", "generate", "wait", "start_and_end"} <= functions
