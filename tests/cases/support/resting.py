"""Waits for conditions, with a deadline: for processes that wait, files that come. No test sleeps by itself."""
import contextlib
import os
import time

WAIT = 120


def wait_until(condition, what, seconds=WAIT, pause=0.002):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "no " + what
        time.sleep(pause)


def let_pass(seconds):
    """Some time, where what follows has to hold at any moment. Nothing is waited for."""
    time.sleep(seconds)


def switches(pid, but):
    """
    State of each thread but one, and how often it was switched away from: the same again when all have
    waited in between. Who waits for the GIL looks for it every 5 ms. A thread that is just ending is gone.
    """
    found = {}
    for tid in set(os.listdir("/proc/%d/task" % pid)) - {str(but)}:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open("/proc/%d/task/%s/status" % (pid, tid)) as file:
            found[tid] = [line for line in file if line.startswith(("State:", "voluntary", "nonvol"))]
    return found


def wait_until_at_rest(*pids, but=None):
    """Until no thread of these processes, but the one of that id, has done anything for a while."""
    end = time.monotonic() + WAIT
    before, now = None, [switches(pid, but) for pid in pids]
    while before != now or not all("(sleeping)" in thread[0] or "(zombie)" in thread[0]
                                   for process in now for thread in process.values()):
        assert time.monotonic() < end, "no rest: %s" % now
        time.sleep(0.05)
        before, now = now, [switches(pid, but) for pid in pids]
