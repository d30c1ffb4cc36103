"""Builds of CPython that are not the usual ones: free-threaded; skipped by name when none is here."""
import os

import pytest

import analyzer
import cores
import interpreters
import truth

OTHER_SUITES = True


def builds(what, having):
    """Of each minor version one; PSC_TEST_INTERPRETERS names those that no search finds."""
    found = {one.minor: one for one in interpreters.find_all() if having(one)}
    return [pytest.param(one, id=one.label) for one in found.values()] or [
        pytest.param(None, id="none", marks=pytest.mark.skip(reason="no %s CPython here" % what))]


FREE_THREADED = builds("free-threaded", lambda one: one.free_threaded)


@pytest.mark.cases(["hot_threads"])
def test_threads_with_specialised_code(core):
    """Lines, and from 3.11 columns, of code that was specialised, by each thread on its own or not."""
    document = analyzer.json_of(core.path).json
    positions = 0
    for ident, stack in core.truth["stacks"].items():
        frames = analyzer.python_frames(analyzer.thread_by_ident(document, int(ident)))
        assert [truth.key_of_json(frame) for frame in frames] == [truth.key_of(frame) for frame in stack]
        for frame, said in list(zip(frames, stack))[1:]:
            if said["position"] and None not in said["position"]:
                assert [frame["line"], frame["end_line"], frame["column"] - 1, frame["end_column"] - 1] == \
                    said["position"]
                positions += 1
    assert len(core.truth["stacks"]) == 7
    assert positions or core.interpreter.minor < (3, 11)


@pytest.mark.parametrize("free_threaded", FREE_THREADED)
def test_free_threaded_has_no_gil(free_threaded):
    result = analyzer.json_of(cores.make_core("threads", free_threaded).path)
    assert result.json["target"]["python"]["free_threaded"] is True
    for thread in result.json["threads"]:
        assert not {"holds-gil", "waits-for-gil"} & set(thread["state"]), thread
    assert "free-threaded" in analyzer.run(cores.make_core("threads", free_threaded).path).stdout.splitlines()[2]
    assert analyzer.run(cores.make_core("threads", free_threaded).path).stdout.splitlines()[2].endswith("no GIL")


@pytest.mark.parametrize("free_threaded", FREE_THREADED)
def test_free_threaded_with_its_gil(free_threaded, tmp_path):
    """PYTHON_GIL=1, or an extension that needs it, turns the GIL on."""
    program = os.path.join(cores.PROGRAMS, "threads.py")
    ways = os.path.join(cores.native_helpers(), "libways.so")
    cores.run_to_core([free_threaded.path, "-s", program, str(tmp_path), ways], str(tmp_path),
                      {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHON_GIL": "1"})
    core = cores.Core(str(tmp_path), free_threaded, "threads")
    document = analyzer.json_of(core.path).json
    ident = core.truth["promises"]["holds_gil"]
    assert "holds-gil" in analyzer.thread_by_ident(document, ident)["state"]
    for waiting in core.truth["promises"]["waits_for_gil"]:
        assert "waits-for-gil" in analyzer.thread_by_ident(document, waiting)["state"]
    assert "GIL held by" in analyzer.run(core.path).stdout.splitlines()[2]
