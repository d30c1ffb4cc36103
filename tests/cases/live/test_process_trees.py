"""A process and its descendants."""
import contextlib
import json
import os
import re
import signal

import pytest

import analyzer
import interpreters
import living
import resting

RANKS = """
import os, sys, threading, time

def barrier():
    time.sleep(600)

def step(rank):
    barrier() if rank != 5 else late()

def late():
    time.sleep(600)

ready, tell = os.pipe()
for rank in range(8):
    if os.fork() == 0:
        threading.Thread(target=barrier, name="helper", daemon=True).start()
        os.write(tell, b"x")
        step(rank)
got = b""
while len(got) < 8:
    got += os.read(ready, 8)
print("ready", flush=True)
os.wait()
"""


@contextlib.contextmanager
def ranks(interpreter):
    with living.running([interpreter.path, "-s", "-c", RANKS], start_new_session=True) as process:
        try:
            resting.wait_until_at_rest(process.pid, *children_of(process))
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def children_of(process):
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
        return [int(pid) for pid in file.read().split()]


def test_tree_in_one_report(interpreter):
    with ranks(interpreter) as process:
        result = living.report(process.pid, "--children")
        children = children_of(process)
    assert result.returncode == analyzer.EXIT_COMPLETE, result.describe()
    headings = [line for line in result.stdout.splitlines() if line.startswith("Thread")]
    assert len(children) == 8
    for pid in [process.pid, *children]:
        assert "process %d:" % pid in result.stdout
    # The parent, seven that wait, the one that is late, and a helper of each.
    assert len(headings) == 4, headings
    together = next(line for line in headings if "7 threads" in line)
    assert sum(str(pid) in re.findall(r"\d+", together) for pid in children) == 7
    helpers = next(line for line in headings if "8 threads" in line)
    assert all("%d/" % pid in helpers for pid in children), helpers


def test_tree_as_json(interpreter):
    with ranks(interpreter) as process:
        result = living.report(process.pid, "--children", "--format", "json")
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(documents) == 9 and documents[0]["target"]["pid"] == process.pid
    for document in documents:
        analyzer.assert_fits_schema(document)


def test_tree_of_which_a_part_cannot_be_shown():
    """A zombie among the children is named, and the others are shown."""
    system = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    program = ("import os, time\n"
               "if os.fork() == 0: os._exit(0)\n"
               "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)\n"
               "print('ready', flush=True); time.sleep(600)\n")
    with living.running([system.path, "-s", "-c", program]) as process:
        result = living.report(process.pid, "--children")
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    assert "is a zombie" in result.stderr and "time.sleep" not in result.stderr
    assert "Thread %d" % process.pid in result.stdout


@pytest.mark.parametrize("mode", ["merged", "python"])
def test_tree_with_processes_without_python(mode):
    """They are shown, and nothing is missing."""
    system = interpreters.find_system() or pytest.skip("no /usr/bin/python3 here")
    program = ("import subprocess\n"
               "child = subprocess.Popen(['sh', '-c', 'read x; exit'], stdin=subprocess.PIPE)\n"
               "print('ready', flush=True); child.wait()\n")
    with living.running([system.path, "-s", "-c", program]) as process:
        # The child may still be loading its libraries, with a stack that nothing describes.
        resting.wait_until_at_rest(process.pid, *children_of(process))
        result = living.report(process.pid, "--children", "--mode", mode)
    assert result.returncode == analyzer.EXIT_COMPLETE and not result.stderr, result.describe()
    assert "no Python interpreter found" in result.stdout and "Popen.wait" in result.stdout
