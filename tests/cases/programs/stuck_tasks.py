# Not dead: tasks that wait for each other, for their loop or for its threads, or, with some names, that only look
# so. The first argument says how.
import asyncio
import os
import sys
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


globals()[HOW]()
