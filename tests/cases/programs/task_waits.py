# Not dead: a task of asyncio for each thing that one can wait for; of each it is said what that is.
import asyncio
import json
import os
import socket
import sys
import time

truth = {}


def start(coroutine, name, kind, **more):
    task = asyncio.get_event_loop().create_task(coroutine)
    if hasattr(task, "set_name"):
        task.set_name(name)
    truth[name] = dict(kind=kind, id="%#x" % id(task), **more)
    return task


async def stay_in(lock, seconds=600):
    async with lock:
        await asyncio.sleep(seconds)


async def enter(lock):
    async with lock:
        pass


async def wait_in(condition):
    async with condition:
        await condition.wait()


async def join(queue):
    await queue.put(1)
    await queue.join()


async def fill(queue):
    await queue.put(1)
    await queue.put(2)


async def run_in_executor():
    await asyncio.get_event_loop().run_in_executor(None, time.sleep, 600)


async def read(reader):
    await reader.read(5)


async def wait_for(awaitable):
    await asyncio.wait_for(awaitable, 500)


async def wait_for_one(tasks):
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def with_timeout(awaitable):
    async with asyncio.timeout(400):
        await awaitable


async def main():
    loop = asyncio.get_event_loop()
    lock, other, semaphore, event = asyncio.Lock(), asyncio.Lock(), asyncio.Semaphore(1), asyncio.Event()
    condition, queue, full, joined = asyncio.Condition(), asyncio.Queue(), asyncio.Queue(1), asyncio.Queue()
    sleeps = start(stay_in(lock), "sleeps", "sleep", left=600)
    start(stay_in(semaphore), "in semaphore", "sleep", left=600)
    await asyncio.sleep(0)
    start(enter(lock), "lock", "lock", address=id(lock), holders=["sleeps"])
    start(enter(semaphore), "semaphore", "semaphore", address=id(semaphore), holders=["in semaphore"])
    start(enter(other), "free", None)
    start(event.wait(), "event", "event", address=id(event))
    start(wait_in(condition), "condition", "condition", address=id(condition))
    start(queue.get(), "get", "queue", address=id(queue), action="get")
    start(fill(full), "put", "queue", address=id(full), action="put")
    start(join(joined), "join", "queue", address=id(joined), action="join")
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    start(loop.sock_recv(ours, 10), "socket", "socket", descriptor=ours.fileno())
    reader, writer = await asyncio.open_connection(sock=theirs)
    start(read(reader), "stream", "stream", descriptor=theirs.fileno())
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "import sys; sys.stdin.read()", stdin=-1)
    start(child.wait(), "child", "child", pid=child.pid)
    start(run_in_executor(), "executor", "future")
    start(wait_for(event.wait()), "wait_for", "tasks" if sys.version_info < (3, 12) else "event", left=500)
    start(wait_for_one([sleeps]), "wait", "tasks")
    if hasattr(asyncio, "timeout"):
        start(with_timeout(event.wait()), "timeout", "event", left=400, address=id(event))
    await asyncio.sleep(0.1)
    while len(os.listdir("/proc/self/task")) < 2:
        await asyncio.sleep(0.01)
    start(stay_in(condition, 300), "in condition", "sleep", left=300)
    await asyncio.sleep(0)
    start(enter(condition), "enter condition", "lock", address=id(condition._lock), holders=["in condition"])
    await asyncio.sleep(0.1)
    del truth["free"]
    with open(sys.argv[1], "w") as file:
        json.dump(truth, file)
    print("ready", flush=True)
    await asyncio.sleep(1000)


asyncio.run(main())
