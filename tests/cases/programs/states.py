# Dies in the odd moments of an interpreter's life: MORE[0] says which.
import ctypes
import gc
import os
import signal
import sys
import threading
import time
import types
import weakref

import witness

MODE = witness.MORE[0]
everything = []


class Node(object):
    pass


def die(*_):
    # os.kill keeps the GIL.
    witness.testify(), os.kill(os.getpid(), signal.SIGSEGV)


def sleeper():
    time.sleep(600)


def start(function, name):
    thread = threading.Thread(target=function, name=name)
    thread.daemon = True
    thread.start()
    return thread


def sleepers():
    """How many other threads wait in the kernel."""
    states = []
    for number in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/stat" % number) as file:
            states.append(file.read().rpartition(")")[2].split()[0])
    return states.count("S")


def rest(count=1):
    """Until that many other threads stay where they are; they have the GIL while this one sleeps."""
    if not os.path.isdir("/proc/self/task"):  # in the root of another suite
        return time.sleep(0.5)
    quiet = 0
    while quiet < 10:
        time.sleep(0.02)
        quiet = quiet + 1 if sleepers() == count else 0


class LastWords(object):
    """Of a module that is torn down; its globals may be gone."""

    def __init__(self):
        self.testify = witness.testify
        self.kill = os.kill
        self.arguments = (os.getpid(), signal.SIGSEGV)

    def __del__(self):
        self.kill(*self.arguments)


def weakref_callback():
    node = Node()
    node.me = node
    everything.append(weakref.ref(node, die))
    del node
    gc.collect()


def collector_callback():
    gc.callbacks.append(lambda phase, info: phase == "start" and die())
    gc.collect()


def collector_native():
    """The collector itself comes upon a trashed pointer."""
    broken = [Node()] * 4
    witness.testify()
    offset = 24 if not hasattr(sys, "getobjects") else 40
    items = ctypes.c_void_p.from_address(id(broken) + offset)
    ctypes.c_void_p.from_address(items.value).value = 16
    gc.collect()


def finalizing():
    start(sleeper, "sleeper")
    rest()
    witness.testify()
    # Not of __main__, whose globals the other thread keeps alive.
    sys.modules["extra"] = types.ModuleType("extra")
    sys.modules["extra"].last_words = LastWords()


def fork_in_thread():
    start(sleeper, "sleeper")

    def forks():
        rest(2)
        child = os.fork()
        if not child:
            die()
        os.waitpid(child, 0)
        os._exit(0)

    start(forks, "forks").join()


def at_fork():
    start(sleeper, "sleeper")
    rest()
    os.register_at_fork(after_in_child=die)
    os.waitpid(os.fork(), 0)
    os._exit(0)


def raw_fork():
    """fork() behind the interpreter's back: the states of threads that are not there stay."""
    start(sleeper, "sleeper")
    rest()
    # PyDLL keeps the GIL.
    child = ctypes.PyDLL(None).fork()
    if not child:
        die()
    os.waitpid(child, 0)
    os._exit(0)


def abandoned():
    """A C thread that ended without giving its thread state back."""
    witness.ways().ways_abandon()
    die()


def no_frame():
    """A C thread that has attached itself, and runs nothing of Python."""
    witness.testify()
    witness.ways().ways_attach_and_die()


def own_gil():
    """Interpreters with a GIL each; two of them hold theirs."""
    try:
        import _interpreters as module
        numbers = [module.create("isolated") for _ in range(2)]
        run = module.exec
    except ImportError:
        import _xxsubinterpreters as module
        numbers = [module.create(isolated=True) for _ in range(2)]
        run = module.run_string
    sources = ["def spins():\n    while True: pass\nspins()\n",
               "import time\ndef sleeps():\n    time.sleep(600)\nsleeps()\n"]
    for number, source in zip(numbers, sources):
        thread = start(lambda number=number, source=source: run(number, source), "runs")
        everything.append(thread)
    rest()
    witness.promise(threads={str(thread.ident): int(number) for thread, number in zip(everything, numbers)})
    die()


globals()[MODE]()
