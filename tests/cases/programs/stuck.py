# Not dead: threads and tasks that wait for each other, or, with some names, that only look so. The
# first argument says how.
import asyncio
import multiprocessing  # noqa: F401
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


async def answer():
    return 1


def own_loop(timeout=None):
    async def main():
        loop = asyncio.get_event_loop()
        ready()
        asyncio.run_coroutine_threadsafe(answer(), loop).result(timeout)
    asyncio.run(main())


def timed():
    own_loop(600)


def other_loop():
    """No deadlock: the loop of another thread runs, and its coroutine waits for what may come."""
    loop = asyncio.new_event_loop()

    async def wait():
        ready()
        await asyncio.Event().wait()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(wait(), loop).result()


def executor_and_lock():
    async def main():
        loop, lock = asyncio.get_event_loop(), asyncio.Lock()

        async def need():
            async with lock:
                pass

        def work():
            future = asyncio.run_coroutine_threadsafe(need(), loop)
            ready()
            future.result()
        async with lock:
            await loop.run_in_executor(None, work)
    asyncio.run(main())


def one_worker():
    """From the documentation of concurrent.futures."""
    executor = ThreadPoolExecutor(max_workers=1)

    def wait_on_future():
        future = executor.submit(pow, 5, 2)
        ready()
        future.result()
    executor.submit(wait_on_future).result()


def two_futures():
    """From there, too."""
    executor = ThreadPoolExecutor(max_workers=2)
    both = threading.Barrier(2)
    futures = []

    def wait_on(other):
        both.wait()
        while len(futures) < 2:
            time.sleep(0.001)
        if other:
            ready()
        futures[other].result()
    for other in (1, 0):
        futures.append(executor.submit(wait_on, other))
    futures[0].result()


def full_pool():
    executor = ThreadPoolExecutor(max_workers=3)
    both = threading.Barrier(3)
    left = [3]

    def outer():
        both.wait()
        future = executor.submit(pow, 5, 2)
        left.pop() if left else None
        future.result()
    futures = [executor.submit(outer) for _ in range(3)]
    ready()
    futures[0].result()


def busy_pool():
    """No deadlock: one of two threads is busy, and will come to it."""
    executor = ThreadPoolExecutor(max_workers=2)
    executor.submit(time.sleep, 600)

    def outer():
        future = executor.submit(pow, 5, 2)
        ready()
        future.result()
    executor.submit(outer).result()


def task_locks(kinds=(asyncio.Lock, asyncio.Lock)):
    async def enter(first, second, both):
        async with first:
            both.append(1)
            while len(both) < 2:
                await asyncio.sleep(0)
            async with second:
                pass

    async def main():
        one, two, both = kinds[0](), kinds[1](), []
        tasks = [asyncio.ensure_future(enter(one, two, both)), asyncio.ensure_future(enter(two, one, both))]
        await asyncio.sleep(0.1)
        ready()
        await asyncio.wait(tasks)
    asyncio.run(main())


def task_locks_timed():
    async def enter(first, second, both):
        async with first:
            both.append(1)
            while len(both) < 2:
                await asyncio.sleep(0)
            await asyncio.wait_for(second.acquire(), 600)

    async def main():
        one, two, both = asyncio.Lock(), asyncio.Lock(), []
        tasks = [asyncio.ensure_future(enter(one, two, both)), asyncio.ensure_future(enter(two, one, both))]
        await asyncio.sleep(0.1)
        ready()
        await asyncio.wait(tasks)
    asyncio.run(main())


def task_lock_twice():
    async def main():
        lock = asyncio.Lock()
        asyncio.get_event_loop().call_later(0.1, ready)
        async with lock:
            async with lock:
                pass
    asyncio.run(main())


def condition():
    """No deadlock: both have entered the condition, and wait for it to be notified."""
    async def wait(condition):
        async with condition:
            await condition.wait()

    async def main():
        one = asyncio.Condition()
        tasks = [asyncio.ensure_future(wait(one)) for _ in range(2)]
        await asyncio.sleep(0.1)
        ready()
        await asyncio.wait(tasks)
    asyncio.run(main())


def first_of_two():
    """No deadlock: one of those that it waits for does not wait for it."""
    async def main():
        tasks = []

        async def wait(for_one):
            if for_one:
                await asyncio.wait([tasks[1], tasks[2]], return_when=asyncio.FIRST_COMPLETED)
            else:
                await tasks[0]
        tasks += [asyncio.ensure_future(wait(True)), asyncio.ensure_future(wait(False)),
                  asyncio.ensure_future(asyncio.sleep(600))]
        await asyncio.sleep(0.1)
        ready()
        await asyncio.wait(tasks)
    asyncio.run(main())


def slow_queue():
    """No deadlock: a consumer that is slow."""
    async def main():
        queue = asyncio.Queue(1)

        async def produce():
            while True:
                await queue.put(1)

        async def consume():
            while True:
                await queue.get()
                await asyncio.sleep(600)
        tasks = [asyncio.ensure_future(produce()), asyncio.ensure_future(consume())]
        await asyncio.sleep(0.1)
        ready()
        await asyncio.wait(tasks)
    asyncio.run(main())


def trio_locks():
    import trio

    async def enter(first, second, event):
        async with first:
            event.append(1)
            while len(event) < 2:
                await trio.sleep(0)
            async with second:
                pass

    async def main():
        one, two, both = trio.Lock(), trio.Lock(), []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(enter, one, two, both)
            nursery.start_soon(enter, two, one, both)
            await trio.sleep(0.1)
            ready()
    trio.run(main)


def trio_nursery():
    """A lock that is held around the nursery, whose task wants it."""
    import trio

    async def want(lock):
        async with lock:
            pass

    async def main():
        lock = trio.Lock()
        async with lock:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(want, lock)
                await trio.sleep(0.1)
                ready()
    trio.run(main)


def trio_timed():
    import trio

    async def enter(first, second, event):
        async with first:
            event.append(1)
            while len(event) < 2:
                await trio.sleep(0)
            with trio.move_on_after(600):
                async with second:
                    pass

    async def main():
        one, two, both = trio.Lock(), trio.Lock(), []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(enter, one, two, both)
            nursery.start_soon(enter, two, one, both)
            await trio.sleep(0.1)
            ready()
    trio.run(main)


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
