"""Who has malloc()'s lock: it does not say so, but who works on the same arena is likely to be it."""
import json
import os

import pytest

import analyzer
import cores
import interpreters
import living
from resting import wait_until

SOURCE, PROGRAM = [os.path.join(cores.PROGRAMS, name) for name in ("malloc_lock.c", "malloc_lock.py")]
FUTEX = "202"  # asm/unistd_64.h
VERSIONS = [(3, 8), (3, 12), (3, 13)]
TRIES = 3


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("library") / "libmalloc_lock.so")
    cores.compile_c([SOURCE], path, "-g", "-O1", "-shared", "-fPIC", "-pthread")
    return path


def programs():
    return [one for one in interpreters.find_wanted()
            if not one.root and (analyzer.THOROUGH or not one.is_system and one.minor in VERSIONS)]


def assert_owner(document, told):
    analyzer.assert_fits_schema(document)
    wait = analyzer.thread_by_tid(document, told["waiter"])["waits_for"]
    assert wait["kind"] == "malloc-lock" and wait["address"], wait
    assert wait["owner"]["tid"] == told["owner"] and not wait["owner_certain"], wait
    if told["owner"] != told["waiter"]:
        assert document["deadlocks"] == []  # its owner is in a signal handler, which comes back
        return
    deadlock, = document["deadlocks"]
    assert deadlock["summary"].startswith("likely a deadlock") and len(deadlock["members"]) == 1, deadlock


@pytest.mark.parametrize("function", ["wait_for_other", "wait_for_itself"])
@pytest.mark.parametrize("python", programs(), ids=repr)
def test_owner(python, function, library, tmp_path):
    told, core = tmp_path / "told", tmp_path / "core"

    def waits():
        with open("/proc/%d/task/%d/syscall" % (process.pid, json.loads(told.read_text())["waiter"])) as file:
            return file.read().split()[0] == FUTEX

    # Where the signal comes decides what the stack has of the arena: now and then that does not do.
    for _ in range(TRIES):
        told.unlink(missing_ok=True)
        with living.running([python.path, PROGRAM, library, function, str(told)]) as process:
            wait_until(waits, "thread that waits for malloc()")
            alive = living.report(process.pid, "--format", "json", "--save-core=" + str(core)).json
        if analyzer.thread_by_tid(alive, json.loads(told.read_text())["waiter"])["waits_for"]["owner"]:
            break
    assert_owner(alive, json.loads(told.read_text()))
    assert_owner(analyzer.json_of(core).json, json.loads(told.read_text()))
