"""Threads and tasks that wait for each other: those that do, and those that only look so."""
import contextlib
import os

import pytest

import analyzer
import cores
import interpreters
import living
import resting
from index_packages import packages_of

PROGRAM = os.path.join(cores.PROGRAMS, "stuck_tasks.py")
THOROUGH = os.environ.get("PSC_TEST_THOROUGH") == "1"
VERSIONS = [(3, 8), (3, 11), (3, 12), (3, 13)]

# (how, verdict, kinds of members: t thread, k task); None: nothing may be said.
KNOTS = [
    ("own_loop", "deadlock", "t"),
    ("timed", "stall", "t"),
    ("other_loop", None, None),
    ("executor_and_lock", "likely", "kkt"),
    ("one_worker", "deadlock", "t"),
    ("two_futures", "deadlock", "tt"),
    ("full_pool", "deadlock", "t"),
    ("busy_pool", None, None),
    ("task_locks", "likely", "kk"),
    ("task_lock_twice", "likely", "k"),
    ("condition", None, None),
    ("first_of_two", None, None),
    ("slow_queue", None, None),
    ("task_locks_timed", "stall", None),
]
TRIO = [("trio_locks", "deadlock", "kk"), ("trio_nursery", "deadlock", "kk"), ("trio_timed", "stall", "kk")]


def cases(knots):
    """Each with one interpreter after the other; thoroughly: each with all."""
    found = [one for one in interpreters.find_wanted() if not one.root and not one.is_system and one.minor in VERSIONS]
    return [pytest.param(one, *knot, id="%s-%s" % (knot[0], one.label)) for at, knot in enumerate(knots)
            for one in (found if THOROUGH else found[at % len(found):][:1])]


@contextlib.contextmanager
def stuck(interpreter, how, *more, path=None):
    environment = dict(os.environ, PYTHONPATH=path) if path else None
    with living.running([interpreter.path, "-s", PROGRAM, how, *more], env=environment) as process:
        resting.wait_until_at_rest(process.pid)
        yield process


def assert_is(document, verdict, kinds):
    analyzer.assert_fits_schema(document)
    found = document["deadlocks"]
    if verdict is None:
        assert found == []
        return
    assert [one["verdict"] for one in found] == [verdict], found
    members = found[0]["members"]
    assert kinds in (None, "".join(sorted("k" if one["task"] else "t" for one in members))), members
    threads = {thread["tid"] for thread in document["threads"]}
    # trio does not say which thread runs its loop.
    assert all(one["tid"] in threads or one["task"] and one["tid"] is None for one in members), members
    if verdict != "stall":
        assert all(one["certain"] for one in members) == (verdict == "deadlock")
    assert any(one["timed"] for one in members) == (verdict == "stall")


def look(interpreter, how, tmp_path, *more, path=None):
    """The report of the living process, and that of its core."""
    core = tmp_path / "core"
    with stuck(interpreter, how, *more, path=path) as process:
        alive = living.report(process.pid, "--tasks", "--format", "json", "--save-core=" + str(core)).json
        text = living.report(process.pid, "--tasks", "--no-source").stdout
    return alive, analyzer.json_of(core, "--tasks").json, text


@pytest.mark.parametrize("one,how,verdict,kinds", cases(KNOTS))
def test_futures_and_tasks(one, how, verdict, kinds, tmp_path):
    alive, core, text = look(one, how, tmp_path)
    assert_is(alive, verdict, kinds)
    assert_is(core, verdict, kinds)
    head = text.split("\n\n", 1)[0]
    words = {"deadlock": "  deadlock of ", "likely": "  likely a deadlock of ", "stall": "  a stall, until "}
    assert [word for word in words if "\n" + words[word] in head] == ([verdict] if verdict else [])


@pytest.mark.parametrize("one,how,verdict,kinds", cases(TRIO))
def test_trio(one, how, verdict, kinds, tmp_path):
    path = packages_of(one, "trio==0.27.0")
    alive, core, _ = look(one, how, tmp_path, path=path)
    assert_is(alive, verdict, kinds)
    assert_is(core, verdict, kinds)
