"""Locks of multiprocessing: one lock by one name in all processes, who has it, and processes that wait for each other."""
import contextlib
import json
import os
import signal

import pytest

import analyzer
import cores
import interpreters
import living
import resting

PROGRAM = os.path.join(cores.PROGRAMS, "shared_locks.py")
VERSIONS = [(3, 8), (3, 12), (3, 13)]
# (how it starts others, way, verdict; None: no deadlock, whether the owner is named)
WAYS = [("fork", "locks", "likely", True), ("spawn", "rlocks", "deadlock", True), ("fork", "sleeper", None, True),
        ("fork", "copied", None, False)]
MORE = [("fork", "locks_timed", "stall", True), ("fork", "semaphores", None, False), ("forkserver", "locks", "likely", True)]


def cases():
    """The first with each interpreter, the others by turns; thoroughly all with all."""
    found = [one for one in interpreters.find_wanted() if not one.root and not one.is_system and one.minor in VERSIONS]
    return [pytest.param(one, *way, id="%s-%s-%s" % (way[0], way[1], one.label))
            for at, way in enumerate(WAYS + (MORE if analyzer.THOROUGH else []))
            for number, one in enumerate(found)
            if analyzer.THOROUGH or not at or (at + number) % len(found) == 0]


def semaphore_waits(pid):
    """The reports of all, and what those threads wait for that are in a lock which processes share."""
    report = living.report(pid, "--children", "--format", "json")
    documents = [json.loads(line) for line in report.stdout.splitlines()]
    return documents, {document["target"]["pid"]: thread["waits_for"] for document in documents
                       for thread in document["threads"] if thread["waits_for"] and "shared" in thread["waits_for"]}


@contextlib.contextmanager
def started(one, method, way, folder):
    with living.running([one.path, "-s", PROGRAM, method, way], cwd=str(folder), start_new_session=True) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wanted_waits(way):
    return 1 if way in ("sleeper", "copied") else 2


@pytest.mark.parametrize("one,method,way,verdict,named", cases())
def test_processes(one, method, way, verdict, named, tmp_path):
    def is_stuck():
        """Those that are to wait for a lock do. On a busy machine not all is known of the living each time."""
        found[:] = [semaphore_waits(process.pid)]
        return len(found[0][1]) == wanted_waits(way) and all(bool(wait["owner"]) == named for wait in found[0][1].values())

    found: list[tuple[list, dict]] = []
    with started(one, method, way, tmp_path) as process:
        resting.wait_until(is_stuck, "waits in locks of multiprocessing", resting.WAIT)
        documents, waits = found[0]
        resting.wait_until(lambda: way != "sleeper" or " of process %d (likely)" % documents[-1]["target"]["pid"]
                           in living.report(process.pid, "--children", "--no-source").stdout, "its words", resting.WAIT)
        alone = living.report(process.pid, "--format", "json").json
    for document in documents:
        analyzer.assert_fits_schema(document)
    owners = {pid: wait["owner"] and wait["owner"]["pid"] for pid, wait in waits.items()}
    if not named:
        assert set(owners.values()) == {None}
    elif way == "sleeper":
        assert owners == {process.pid: documents[-1]["target"]["pid"]}
    else:  # each waits for the other
        assert len(owners) == 2 and {owners[owner]: owner for owner in owners} == owners
    assert len({wait["shared"] for wait in waits.values()}) == wanted_waits(way)
    assert all(wait["owner_certain"] == (way == "rlocks") for wait in waits.values())
    told = [deadlock for document in documents for deadlock in document["deadlocks"]]
    assert [deadlock["verdict"] for deadlock in told] == ([verdict, verdict] if verdict else [])
    assert alone["deadlocks"] == []  # of one process it is not known
