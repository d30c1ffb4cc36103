"""Threads that wait, one for each thing that there is to wait for: its name says for what.

Usage: waits.py FILE [die]

Writes {name: {"tid", "kind", "object", "address", "owner", "certain"}} to FILE, as JSON, once all are
where they are going to stay: what the report has to say of each; then it waits for its end, or aborts.
"""
import ctypes
import _imp
import json
import os
import queue
import sys
import threading

try:
    from threading import get_native_id
except ImportError:  # up to 3.7
    def get_native_id():
        return ctypes.CDLL(None).syscall(186)

EXPECTED = {}
TIDS = {}
begun = threading.Semaphore(0)

jobs_lock = threading.Lock()
near_lock = threading.Lock()
state_lock = threading.RLock()
condition = threading.Condition()
plain_condition = threading.Condition(threading.Lock())
event = threading.Event()
semaphore = threading.Semaphore(0)
work = queue.Queue()
full = queue.Queue(1)
full.put(1)
barrier = threading.Barrier(2)
simple = queue.SimpleQueue() if hasattr(queue, "SimpleQueue") else None
stay = threading.Event()
reader = os.fdopen(os.pipe()[0], "rb")
mutex = ctypes.c_byte(1)  # a PyMutex that somebody has


class Service:
    def __init__(self):
        self.guard = threading.Lock()

    def hold(self):
        with self.guard:
            begin("holds_guard", None)
            stay.wait()

    def use(self):
        begin("attribute", "lock", "threading.Lock \"self.guard\"", self.guard, "holds_guard", False)
        with self.guard:
            pass


service = Service()
# The same names of a file, a class and a method as in the library.
OTHER_QUEUE = """
class Queue:
    def get(self, ready):
        with ready:
            ready.wait()
"""
other_queue = {"__name__": "jobs.queue"}
exec(compile(OTHER_QUEUE, "jobs/queue.py", "exec"), other_queue)
other_ready = threading.Condition()


def begin(name, kind, text=None, thing=None, owner=None, certain=False):
    """Called by the thread that is going to wait."""
    TIDS[name] = get_native_id()
    if kind:
        EXPECTED[name] = {"kind": kind, "object": text, "address": None if thing is None else id(thing),
                          "owner": owner, "certain": certain}
    begun.release()


def holds_lock():
    with jobs_lock:
        begin("holds_lock", None)
        stay.wait()


def waits_lock():
    begin("waits_lock", "lock", "threading.Lock \"jobs_lock\"", jobs_lock, "holds_lock", False)
    with jobs_lock:
        pass


def waits_acquire():
    begin("waits_acquire", "lock", "threading.Lock \"jobs_lock\"", jobs_lock, "holds_lock", False)
    jobs_lock.acquire(True, 5000)


def left_block():
    with near_lock:  # what its block has left on the stack is no sign of who has it now
        pass
    begin("left_block", None)
    stay.wait()


def holds_unseen():
    near_lock.acquire()  # nothing of this stays on the stack
    begin("holds_unseen", None)
    stay.wait()


def waits_unseen():
    begin("waits_unseen", "lock", "threading.Lock \"near_lock\"", near_lock)
    with near_lock:
        pass


def holds_rlock():
    with state_lock:
        begin("holds_rlock", None)
        stay.wait()


def waits_rlock():
    begin("waits_rlock", "rlock", "threading.RLock \"state_lock\"", state_lock, "holds_rlock", True)
    with state_lock:
        pass


def holds_condition():
    with condition:
        condition.notify()
        begin("holds_condition", None)
        stay.wait()


def enters_condition():
    begin("enters_condition", "rlock", "threading.RLock of \"condition\"", condition, "holds_condition", True)
    with condition:
        pass


def notified():
    """Its wait is over, but it has not the lock."""
    with condition:
        begin("notified", "rlock", "threading.RLock of \"condition\"", condition, "holds_condition", True)
        condition.wait()


class Reluctant(threading.Condition):
    """Its wait() is on the stack, but waits for something else."""
    def _release_save(self):
        near_lock.acquire()


reluctant = Reluctant(threading.Lock())


def pretends_condition():
    begin("pretends_condition", "lock", "threading.Lock \"near_lock\"", near_lock)
    with reluctant:
        reluctant.wait()


def waits_condition():
    with plain_condition:
        begin("waits_condition", "condition", "threading.Condition \"plain_condition\"", plain_condition)
        plain_condition.wait()


def waits_event():
    begin("waits_event", "event", "threading.Event \"event\"", event)
    event.wait(5000)


def waits_semaphore():
    begin("waits_semaphore", "semaphore", "threading.Semaphore \"semaphore\"", semaphore)
    semaphore.acquire()


def waits_get():
    begin("waits_get", "queue", "an item of queue.Queue \"work\"", work)
    work.get()


def waits_of_another():
    begin("waits_of_another", "condition", "threading.Condition \"ready\"", other_ready)
    other_queue["Queue"]().get(other_ready)


def waits_put():
    begin("waits_put", "queue", "room in queue.Queue \"full\"", full)
    full.put(2)


def waits_barrier():
    begin("waits_barrier", "barrier", "threading.Barrier \"barrier\"", barrier)
    barrier.wait()


def waits_simple():
    begin("waits_simple", "queue", "queue.SimpleQueue \"simple\"", simple)
    simple.get()


def waits_join():
    begin("waits_join", "join", None, None, "holds_lock", True)
    THREADS["holds_lock"].join()


def holds_file():
    begin("holds_file", None)
    reader.read(1)


def waits_file():
    begin("waits_file", "lock", "the lock of io.BufferedReader \"reader\"", reader, "holds_file", True)
    reader.read(1)


def waits_mutex():
    begin("waits_mutex", "python-mutex", "a PyMutex", None)
    EXPECTED["waits_mutex"]["address"] = ctypes.addressof(mutex)
    ctypes.pythonapi.PyMutex_Lock(ctypes.byref(mutex))


def holds_imports():
    _imp.acquire_lock()
    begin("holds_imports", None)
    stay.wait()


def waits_imports():
    recorded = sys.version_info >= (3, 13)
    begin("waits_imports", "import-lock", "the interpreter's import lock", None, "holds_imports" if recorded else None, recorded)
    _imp.acquire_lock()


HOLDERS = [holds_lock, holds_unseen, holds_rlock, holds_condition, holds_imports, holds_file]
WAITERS = [pretends_condition, waits_lock, waits_acquire, waits_unseen, waits_rlock, enters_condition, waits_condition, waits_event,
           waits_semaphore, waits_get, waits_of_another, waits_put, waits_barrier, waits_join, waits_imports, waits_file]
THREADS = {}


def start(function, name=None):
    thread = threading.Thread(target=function, name=name or function.__name__)
    thread.daemon = True
    THREADS[thread.name] = thread
    thread.start()


def is_reading(tid):
    with open("/proc/self/task/%d/syscall" % tid) as file:
        return file.read().startswith("0 0x%x " % reader.fileno())


def is_asleep(tid):
    with open("/proc/self/task/%d/stat" % tid) as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "S"


def main():
    for function in (left_block, notified):
        start(function)
        begun.acquire()
    while not condition._waiters:
        stay.wait(0.005)
    for function in HOLDERS:
        start(function)
    start(service.hold, "holds_guard")
    for _ in range(len(HOLDERS) + 1):
        begun.acquire()
    while not is_reading(TIDS["holds_file"]):
        stay.wait(0.005)
    if simple is not None:
        WAITERS.append(waits_simple)
    if sys.version_info >= (3, 13):
        WAITERS.append(waits_mutex)
    for function in WAITERS:
        start(function)
    start(service.use, "attribute")
    for _ in range(len(WAITERS) + 1):
        begun.acquire()
    # Asleep several times running: none of them is on its way any more.
    quiet = 0
    while quiet < 20:
        quiet = quiet + 1 if all(is_asleep(tid) for tid in TIDS.values()) else 0
        stay.wait(0.005)
    for name, expected in EXPECTED.items():
        expected["tid"] = TIDS[name]
        if expected["owner"]:
            expected["owner"] = TIDS[expected["owner"]]
    with open(sys.argv[1] + ".new", "w") as file:
        json.dump({"waits": EXPECTED, "holders": [TIDS[name] for name in TIDS if name not in EXPECTED]}, file)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    print("ready", flush=True)
    if len(sys.argv) > 2:
        os.abort()
    stay.wait()


main()
