# Not dead: threads and processes that wait for each other, or, with some names, that only look so. The first
# argument says how.
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HOW = sys.argv[1]


def ready():
    os.write(1, b"ready\n")


def rlocks(kinds=(threading.RLock, threading.RLock), timeout=-1):
    one, two, both = kinds[0](), kinds[1](), threading.Barrier(2)

    def enter(first, second, last):
        with first:
            both.wait()
            if last:
                ready()
            second.acquire(timeout=timeout)
    threading.Thread(target=enter, args=(two, one, False), name="other").start()
    enter(one, two, True)


def rlocks_timed():
    rlocks(timeout=600)


def locks():
    one, two, both = threading.Lock(), threading.Lock(), threading.Barrier(2)

    def enter(first, second, last):
        with first:
            both.wait()
            if last:
                ready()
            with second:
                pass
    threading.Thread(target=enter, args=(two, one, False), name="other").start()
    enter(one, two, True)


def lock_and_rlock():
    rlocks((threading.Lock, threading.RLock))


def running_owner():
    """No deadlock: who has the lock is busy."""
    lock = threading.RLock()

    def busy():
        with lock:
            ready()
            while True:
                time.sleep(600)
    threading.Thread(target=busy, daemon=True).start()
    time.sleep(0.1)
    with lock:
        pass


def lock_taken_by_a_handler():
    """A signal's handler wants the lock that the code which it interrupts has."""
    import signal
    lock = threading.Lock()

    def handle(number, frame):
        ready()
        with lock:
            pass
    signal.signal(signal.SIGUSR1, handle)
    with lock:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(600)


def lock_of_a_reader():
    """No deadlock: who has the lock waits for input."""
    lock, (out, into), both = threading.Lock(), os.pipe(), threading.Barrier(2)

    def read():
        with lock:
            both.wait()
            os.read(out, 1)
    threading.Thread(target=read, name="reads", daemon=True).start()
    both.wait()
    ready()
    with lock:
        os.write(into, b"x")


def joins():
    """Two threads that wait for each other's end."""
    threads, both = [], threading.Barrier(2)

    def wait_for(other):
        both.wait()
        while len(threads) < 2:
            time.sleep(0.001)
        if other:
            ready()
        threads[other].join()
    for other in (1, 0):
        thread = threading.Thread(target=wait_for, args=(other,))
        threads.append(thread)
        thread.start()
    threads[0].join()


def importing(of_module):
    """A module that is being imported as `slow` waits for a thread that does something with it."""
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "slow.py"), "w") as file:
        file.write("import __main__\n__main__.of_module()\n")
    sys.path.insert(0, folder)
    globals()["of_module"] = of_module
    try:
        __import__("slow")
    finally:
        shutil.rmtree(folder)


def needs_module(says=True):
    if says:
        ready()
    import slow  # noqa: F401


def import_and_join():
    """What a module starts imports that module, too; it waits for the end of that."""
    def start():
        thread = threading.Thread(target=needs_module, name="imports")
        thread.start()
        thread.join()
    importing(start)


def import_and_lock():
    guard, both = threading.RLock(), threading.Barrier(2)

    def start():
        both.wait()
        ready()
        with guard:
            pass

    def needs():
        with guard:
            both.wait()
            needs_module(False)
    threading.Thread(target=needs, name="imports").start()
    importing(start)


def import_and_executor():
    """A module that has the threads of an executor import it."""
    def start():
        ThreadPoolExecutor(max_workers=1).submit(needs_module).result()
    importing(start)


def import_each_other():
    """No deadlock: Python sees it, and gives one of them a module that is not finished."""
    folder, both = tempfile.mkdtemp(), threading.Barrier(2)
    for one, other in ("left", "right"), ("right", "left"):
        with open(os.path.join(folder, one + ".py"), "w") as file:
            file.write("import __main__\n__main__.both.wait()\nimport %s\n" % other)
    globals()["both"] = both
    sys.path.insert(0, folder)
    threads = [threading.Thread(target=__import__, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shutil.rmtree(folder)
    ready()
    time.sleep(600)


def slow_import():
    """No deadlock: the import goes on after a while."""
    threading.Thread(target=lambda: (time.sleep(0.1), needs_module()), name="imports", daemon=True).start()
    importing(lambda: time.sleep(600))


def gil_and_mutex():
    """The classic one: a thread holds the GIL and wants a mutex whose owner wants the GIL."""
    import ctypes
    module = ctypes.PyDLL(sys.argv[2])
    module.hold_mutex_and_take_gil.argtypes = [ctypes.c_int]
    thread = threading.Thread(target=module.hold_mutex_and_take_gil, args=(1,), name="holds the mutex")
    thread.start()
    while not module.is_held():
        time.sleep(0.001)
    module.lock_with_gil(1)


def gil_and_sleeper():
    """No deadlock: whoever has the mutex does not want the GIL, and lets go of it after a while."""
    import ctypes
    module = ctypes.PyDLL(sys.argv[2])
    threading.Thread(target=ctypes.CDLL(sys.argv[2]).hold_mutex_for, args=(600,), name="holds the mutex").start()
    while not module.is_held():
        time.sleep(0.001)
    module.lock_with_gil(1)


def gil_given_up():
    """No deadlock: whoever has the mutex stands in what gives up the GIL, and has done so."""
    import ctypes
    module = ctypes.PyDLL(sys.argv[2])

    def gives():
        module.hold_mutex_and_give_up()
        time.sleep(0)
    threading.Thread(target=gives, name="gave the GIL up", daemon=True).start()
    while not module.is_given():
        time.sleep(0.001)
    module.lock_with_gil(1)


def child(code):
    return subprocess.Popen([sys.executable, "-S", "-c", "import os, time\n" + code], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)


def fill(descriptor):
    ready()
    while True:
        os.write(descriptor, b"x" * 65536)


def pipes():
    """Parent and child write to each other, and neither reads."""
    fill(child("while True: os.write(1, b'x' * 65536)").stdin.fileno())


def pipes_of_a_sleeper():
    """No deadlock: the child will read."""
    fill(child("time.sleep(600)").stdin.fileno())


def pipe_and_wait():
    """The child's output is not read by the one that waits for its end."""
    one = child("while True: os.write(1, b'x' * 65536)")
    ready()
    one.wait()


def put_much(queue):
    queue.put("x" * 1000000)


def queue_and_wait():
    """From the documentation of multiprocessing: a process that is joined before its items are taken out."""
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=put_much, args=(queue,))
    process.start()
    queue._reader.poll()
    ready()
    process.join()


def file_lock_and_wait():
    """A lock of a file that the child wants and the parent, who waits for the child, has."""
    import fcntl
    file = tempfile.NamedTemporaryFile()
    fcntl.lockf(file, fcntl.LOCK_EX)
    pid = os.fork()
    if not pid:
        other = open(file.name, "w")
        fcntl.lockf(other, fcntl.LOCK_EX)
        os._exit(0)
    ready()
    os.waitpid(pid, 0)


def pipe_and_wait_timed():
    one = child("while True: os.write(1, b'x' * 65536)")
    ready()
    one.wait(600)


globals()[HOW]()
