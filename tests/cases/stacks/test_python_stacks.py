"""The Python frames of every thread are those that the interpreter itself reported."""
import itertools
import linecache

import pytest

import analyzer
import cores
import truth

OTHER_SUITES = True
LONGEST_NAME = 1024  # docs/limits.md

DEEP_CASES = [name for name, (program, _, _) in cores.CASES.items()
              if "deep=True" in open(cores.PROGRAMS + "/" + program).read()]


def expected_and_found(core, document, ident, stack):
    """Two lists of (file, line, name); frames above the testimony (promised "extra") are removed."""
    found = analyzer.python_frames(analyzer.thread_by_ident(document, ident))
    if ident == core.truth["dying"]:
        extra = core.truth["promises"].get("extra", [])
        assert [frame["name"] for frame in found[:len(extra)]] == extra
        found = found[len(extra):]
    return stack, [truth.key_of_json(frame) for frame in found]


@pytest.mark.cases(cores.CASES)
def test_frames_equal_the_truth(core):
    document = analyzer.json_of(core.path).json
    for ident, stack in truth.stacks(core).items():
        expected, found = expected_and_found(core, document, ident, stack)
        assert found == expected, "thread %#x" % ident


@pytest.mark.cases(cores.CASES, slow=True)
def test_mode_python_equals_the_truth(core):
    """Without an unwinder: what f_back loses (3.9 throw()) stays lost, and only that."""
    document = analyzer.json_of(core.path, "--mode", "python").json
    for ident, stack in truth.stacks(core).items():
        expected, found = expected_and_found(core, document, ident, stack)
        if ident == core.truth["dying"] and truth.is_chain_cut(core):
            expected = expected[:max(len(found), 1)]
        assert found == expected, "thread %#x" % ident


@pytest.mark.cases(cores.CASES)
def test_no_thread_is_lost_or_invented(core):
    document = analyzer.json_of(core.path).json
    idents = {thread["python_thread_id"] for thread in document["threads"]} - {None}
    assert {int(ident) for ident in idents} >= set(truth.stacks(core))
    tids = [thread["tid"] for thread in document["threads"] if thread["tid"]]
    assert len(tids) == len(set(tids))


@pytest.mark.cases(DEEP_CASES)
def test_qualified_names(core):
    document = analyzer.json_of(core.path).json
    for ident, stack in core.truth["stacks"].items():
        frames = analyzer.python_frames(analyzer.thread_by_ident(document, int(ident)))
        for frame, said in zip(frames, stack):
            if said["qualname"] is not None:
                assert frame["function"] == said["qualname"]
            elif len(said["name"]) > LONGEST_NAME:
                assert frame["function"] == said["name"][:LONGEST_NAME] + "..."
            else:
                assert frame["function"].split(".")[-1] == said["name"].split(".")[-1]


@pytest.mark.cases(DEEP_CASES, when=lambda case, interpreter: interpreter.minor >= (3, 11))
def test_positions(core):
    """Columns count characters from 1; the interpreter's count UTF-8 bytes from 0."""
    document = analyzer.json_of(core.path).json
    compared = 0
    for ident, stack in core.truth["stacks"].items():
        frames = analyzer.python_frames(analyzer.thread_by_ident(document, int(ident)))
        # The dying frame is at another call of its line than when it testified.
        for frame, said in itertools.islice(zip(frames, stack), 1, None):
            if said["position"] is None or None in said["position"] or not said["file"].startswith("/"):
                continue
            line, end_line, column, end_column = said["position"]
            here = (core.interpreter.root or "") + said["file"]
            text = linecache.getline(here, line).encode()
            end_text = linecache.getline(here, end_line).encode()
            assert (frame["line"], frame["end_line"]) == (said["line"], end_line)
            assert frame["column"] == len(text[:column].decode()) + 1
            assert frame["end_column"] == len(end_text[:end_column].decode()) + 1
            compared += 1
    assert compared


@pytest.mark.cases(cores.CASES)
def test_thread_names(core):
    document = analyzer.json_of(core.path).json
    for ident, name in core.truth["names"].items():
        if int(ident) in truth.stacks(core) and not name.startswith("Dummy-"):
            found = analyzer.thread_by_ident(document, int(ident))["name"]
            assert truth.escaped(found or "") == truth.escaped(name)
