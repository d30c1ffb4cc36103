"""--tasks: greenlets that wait to be switched to, each against what it noted itself before.

Debian's greenlet where it is installed; others from the package index, once for each pair of
versions below PSC_TEST_ROOTS, with PSC_TEST_SUITES=1.
"""
import os
import re
import subprocess

import pytest

import analyzer
import cores
import interpreters
from index_packages import packages_of

# One of each layout: the plain struct, and the C++ object as its members moved.
VERSIONS = {
    (2, 7): ["1.1.3", "2.0.2"], (3, 6): ["0.4.17", "1.1.3", "2.0.2"], (3, 7): ["1.1.3", "2.0.2"], (3, 8): ["1.0.0", "3.1.1"],
    (3, 9): ["1.1.3", "2.0.2", "3.2.4"], (3, 10): ["1.1.3", "3.0.3", "3.5.6"], (3, 11): ["2.0.2", "3.5.6"],
    (3, 12): ["3.0.3", "3.1.1", "3.5.6"], (3, 13): ["3.1.1", "3.2.4", "3.5.6"],
}


def pairs():
    return [pytest.param(one, version, id="%s-%s" % (one.label, version))
            for one in interpreters.find_wanted() + interpreters.find_also()
            if not one.root and not one.is_system for version in VERSIONS.get(one.minor, [])]


def assert_greenlets_are(core):
    document = analyzer.json_of(core.path, "--tasks").json
    analyzer.assert_fits_schema(document)
    assert document["warnings"] == []
    truth = core.truth["promises"]
    found = {greenlet["id"]: greenlet for greenlet in document["greenlets"]}
    for number, stack in truth["stacks"].items():
        greenlet = found[number]
        frames = [[frame["file"], frame["line"], frame["name"]] for frame in greenlet["frames"]]
        if stack is None:  # the main one
            assert [frame[2] for frame in frames] == ["<module>"]
        else:
            assert frames == stack
        assert greenlet["state"] == "suspended" and not greenlet["frames_cut"]
    for number, name in truth["types"].items():
        assert number not in found or found[number]["type"] == name
    assert found[truth["created"]]["state"] == "created" and found[truth["created"]]["frames"] == []
    # Those that run or have ended are not there.
    assert set(found) == set(truth["stacks"]) | {truth["created"]}
    threads = {thread["name"]: thread["tid"] for thread in document["threads"]}
    on_other = [greenlet for greenlet in document["greenlets"] if greenlet["thread"] == threads["other"]]
    assert len(on_other) == 1 and [frame["name"] for frame in on_other[0]["frames"]] == ["plain"] * 3
    assert_parents_are_on_the_stack(document["threads"][0])
    text = analyzer.run("--tasks", core.path).stdout
    assert "\ngreenlet \u00b7 %d greenlets\n" % len(found) in text
    assert text.count("Greenlet 0x") + text.count("Greenlets 0x") >= 2 and "\u00b7 not started" in text


def assert_parents_are_on_the_stack(thread):
    """The greenlet that runs was started from one that was started from the main one: each from within the call."""
    names = [frame["name"] for frame in analyzer.python_frames(thread)]
    assert names[-3:] == ["dies", "starts_the_last", "<module>"]
    shown = [frame for frame in thread["frames"] if not frame["hidden"]]
    assert not [frame for frame in shown if frame["kind"] == "gap" or "_EvalFrame" in str(frame["symbol"])]
    switches = [at for at, frame in enumerate(shown) if frame["kind"] == "native" and "greenlet" in frame["module"]]
    of = [next(at for at, frame in enumerate(shown) if frame["name"] == name) for name in names[-3:]]
    assert of == sorted(of) and all(any(inner < at < outer for at in switches) for inner, outer in zip(of, of[1:]))


@pytest.mark.parametrize("one,version", pairs())
def test_greenlets_of_the_index(one, version):
    folder = packages_of(one, "greenlet==" + version)
    assert_greenlets_are(cores.make_core("greenlets", one, folder))


def test_greenlets_of_the_distribution(system):
    if subprocess.run([system.path, "-s", "-c", "import greenlet"], capture_output=True).returncode:
        pytest.skip("%s has no greenlet: install python3-greenlet" % system.label)
    assert_greenlets_are(cores.make_core("greenlets", system))


def test_gevent():
    """Its hub runs, and what it spawned waits in it."""
    interpreter = interpreters.find_version(3, 12)
    if interpreter is None:
        pytest.skip("no CPython 3.12 here")
    core = cores.make_core("gevent", interpreter, packages_of(interpreter, "gevent==24.11.1"))
    document = analyzer.json_of(core.path, "--tasks").json
    stacks = sorted([frame["name"] for frame in greenlet["frames"]] for greenlet in document["greenlets"])
    assert stacks.count(["sleep", "sleeps"]) == 3 and stacks.count(["sleep", "sleeps", "deeper"]) == 1
    assert {greenlet["type"] for greenlet in document["greenlets"]} >= {"gevent._gevent_cgreenlet.Greenlet"}
    # Where its own part of the stack ends, what earlier calls have left there is no caller of it.
    frames = analyzer.json_of(core.path, "--all").json["threads"][0]["frames"]
    for guess in frames:
        if guess["trust"] == "scan" and not guess["inlined"]:
            assert re.search("[Cc]all|[Ss]witch|unction|Eval", guess["function"]), guess


def test_a_greenlet_that_was_switched_to_again(tmp_path):
    """The one it was started from has gone on since: between the two is a gap, and nothing that only looks like frames."""
    for one, version in [(pair.values[0], pair.values[1]) for pair in pairs()]:
        folder = os.path.join(interpreters.SUITE_FOLDER, "packages", one.label, "greenlet-" + version)
        if not os.path.isdir(folder):
            continue
        core = cores.make_core("greenlet_again", one, folder)
        thread = analyzer.json_of(core.path).json["threads"][0]
        names = [frame["name"] for frame in analyzer.python_frames(thread)]
        assert names[-6:] == ["dies", "again", "inner", "switches_again", "starts", "<module>"], (one.label, version)
        assert "\ngreenlet \u00b7 those that wait to be switched to: --tasks\n" in analyzer.run(core.path).stdout
        kinds = [frame["kind"] for frame in thread["frames"] if not frame["hidden"]]
        assert kinds.count("gap") == 1 or (kinds.count("gap") == 2 and kinds[-1] == "gap")
