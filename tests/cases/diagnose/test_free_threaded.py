"""What threads of a free-threaded interpreter keep each other from: sections of objects, stops of all, once flags."""
import os

import analyzer
import cores
import interpreters
import living
import pytest
import resting
from test_thread_deadlocks import assert_is, core_of_the_kernel

PROGRAM = os.path.join(cores.PROGRAMS, "free_threaded.py")
LIST, STOP, STOPPED = 'the lock of list "items"', "the other threads to stop", "the end of a stop of all threads"
MUTEX = "a pthread mutex"
# (how, of the cycle: what each member waits for, {thread: (kind, object, owner, certain)})
CASES = [
    ("section", [LIST, MUTEX], {"has_mutex_and_appends": ("python-mutex", LIST, "in_section", True),
                                "in_section": ("mutex", MUTEX, "has_mutex_and_appends", True)}),
    ("world", [STOP, MUTEX], {"has_mutex_and_collects": ("stop-the-world", STOP, "blocks", True),
                              "MainThread": ("stop-the-world", STOPPED, "has_mutex_and_collects", True)}),
    ("running_section", None, {"appends": ("python-mutex", LIST, "runs_in_section", False), "runs_in_section": None}),
    # A thread that is not attached has given back the mutexes of its sections.
    ("sleeping_section", None, {"appends": "sleep"}),
    ("sort", None, {"appends": "sleep", "sorts": "sleep"}),
    ("once", None, {"waits_once": ("python-mutex", "a _PyOnceFlag or _PyRWMutex", None, False)}),
    ("event", None, {"waits_pyevent": ("event", "a PyEvent", None, False)}),
    ("mutexes", None, {"takes_first_then_second": ("python-mutex", "a PyMutex", None, False),
                       "takes_second_then_first": ("python-mutex", "a PyMutex", None, False)}),
]
FREE = [one for one in interpreters.find_all() if one.free_threaded and one.minor in ((3, 13), (3, 14))]


def assert_as_wanted(document, cycle, wanted):
    threads = {thread["name"]: thread for thread in document["threads"]}
    for name, what in wanted.items():
        wait = threads[name]["waits_for"]
        if not isinstance(what, tuple):
            assert (wait and wait["kind"]) == what, (name, wait)
            continue
        owner = what[2] and threads[what[2]]["tid"]
        assert (wait["kind"], wait["object"], (wait["owner"] or {}).get("tid"), wait["owner_certain"]) == (
            what[0], what[1], owner, what[3]), (name, wait)
    assert_is(document, cycle and "deadlock", cycle)


def is_there(pid, how):
    """Whether all sleep but for the one that runs for ever; of those that are stopped the first without a time limit."""
    calls = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/syscall" % (pid, tid)) as file:
            calls[int(tid)] = file.read().split()
    running = sum(call[0] == "running" for call in calls.values())
    stopped = calls[pid][0] == "202" and calls[pid][4] == "0x0"
    return len(calls) == 3 and running <= (how == "running_section") and (stopped or how != "world")


@pytest.mark.skipif(not FREE, reason="no free-threaded CPython here (PSC_TEST_INTERPRETERS names others)")
@pytest.mark.parametrize("how,cycle,wanted", CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("one", FREE, ids=repr)
def test_threads(one, how, cycle, wanted, tmp_path):
    with living.running([one.path, "-s", PROGRAM, how], cwd=str(tmp_path), preexec_fn=cores._allow_cores) as process:
        resting.wait_until(lambda: is_there(process.pid, how), "threads that wait")
        resting.let_pass(0.3)
        assert_as_wanted(living.report(process.pid, "--format", "json").json, cycle, wanted)
        if cores.kernel_writes_here():
            path = core_of_the_kernel(process, tmp_path)
            assert_as_wanted(analyzer.json_of(path).json, cycle, wanted)
            os.unlink(path)
