# An interpreter that one thread made and another one runs; a thread inside it. The argument tells whose id the
# interpreter's state has, which is that of the thread that made it: of the "runner", which has got the stack of that
# thread; of the thread "inside", which has got it; or of the "maker" itself, which lives on.
import os
import sys
import threading
import time

try:
    import _interpreters as module
    create, run = lambda: module.create("legacy"), module.exec
except ImportError:
    import _xxsubinterpreters as module
    run = module.run_string

    def create():
        try:
            return module.create(isolated=False)
        except TypeError:
            return module.create()

SOURCE = """
import threading, time
def rests_inside():
    time.sleep(600)
def works():
    try:
        raise ValueError("inner")
    except ValueError:
        thread = threading.Thread(target=rests_inside)
        thread.daemon = True
        thread.start()
        print("ready", flush=True)
        time.sleep(600)
works()
"""
made = []


is_made, is_to_end, is_to_run = threading.Event(), threading.Event(), threading.Event()


def makes():
    made.append(create())
    is_made.set()
    is_to_end.wait()


def runs():
    is_to_run.wait()
    try:
        raise KeyError("outer")
    except KeyError:
        run(made[0], SOURCE)


def started(target, name):
    thread = threading.Thread(target=target, name=name)
    thread.daemon = True
    thread.start()
    return thread


def wait_for_end(maker, others):
    """Its stack is free when the kernel has no thread of it any more."""
    is_to_end.set()
    maker.join()
    while len(os.listdir("/proc/self/task")) > others:
        os.sched_yield()


maker = started(makes, "maker")
is_made.wait()
if sys.argv[1] == "runner":
    wait_for_end(maker, 1)
started(runs, "runner")
if sys.argv[1] == "inside":
    wait_for_end(maker, 2)
is_to_run.set()
time.sleep(600)
