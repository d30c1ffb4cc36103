"""Tasks of trio or curio that wait, one for each thing that there is to wait for: its name says for what.

Usage: library_waits.py trio|curio FILE

Writes {name: {"kind", "address", "holders", "certain", "timed"}} to FILE, as JSON, once all are where they stay.
"""
import json
import os
import socket
import sys
import threading

SAID = {}


def say(name, kind, thing=None, holders=(), certain=False, timed=False):
    SAID[name] = {"kind": kind, "address": None if thing is None else id(thing), "holders": list(holders),
                  "certain": certain, "timed": timed}


def ready():
    with open(sys.argv[2] + ".new", "w") as file:
        json.dump(SAID, file)
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    print("ready", flush=True)


async def with_trio():
    import trio
    lock, fair, full, limiter, event = (trio.Lock(), trio.StrictFIFOLock(), trio.Semaphore(1), trio.CapacityLimiter(1),
                                        trio.Event())
    condition, left = trio.Condition(), socket.socketpair()
    into, out = trio.open_memory_channel(0)
    idle_into, idle_out = trio.open_memory_channel(1)

    async def holder():
        async with lock, fair, full, limiter:
            await trio.sleep_forever()

    async def waits_lock():
        await lock.acquire()

    async def waits_fair():
        async with fair:
            pass

    async def waits_semaphore():
        async with full:
            pass

    async def waits_limiter():
        async with limiter:
            pass

    async def waits_event():
        await event.wait()

    async def waits_condition():
        async with condition:
            await condition.wait()

    async def waits_send():
        await into.send(1)

    async def waits_receive():
        await idle_out.receive()

    async def waits_socket():
        one = trio.socket.from_stdlib_socket(left[0])
        await one.recv(1)

    async def waits_time():
        await trio.sleep(600)

    async def waits_thread():
        await trio.to_thread.run_sync(event_of_thread.wait)

    async def waits_tasks():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever, name="inner")

    event_of_thread = threading.Event()
    say("waits_lock", "lock", lock, ["holder"], certain=True)
    say("waits_fair", "lock", fair, ["holder"], certain=True)
    say("waits_semaphore", "semaphore", full, ["holder"])
    say("waits_limiter", "semaphore", limiter, ["holder"], certain=True)
    say("waits_event", "event", event)
    say("waits_condition", "condition", condition)
    say("waits_send", "queue")
    say("waits_receive", "queue")
    say("waits_socket", "socket")
    say("waits_thread", "future")
    say("waits_time", "sleep", timed=True)
    say("waits_tasks", "tasks", holders=["inner"], certain=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(holder, name="holder")
        await trio.testing.wait_all_tasks_blocked()
        for one in (waits_lock, waits_fair, waits_semaphore, waits_limiter, waits_event, waits_condition, waits_send,
                    waits_receive, waits_socket, waits_time, waits_thread, waits_tasks):
            nursery.start_soon(one, name=one.__name__)
        await trio.testing.wait_all_tasks_blocked(0.05)
        ready()


async def with_curio():
    import curio
    lock, rlock, full, event, condition = curio.Lock(), curio.RLock(), curio.Semaphore(1), curio.Event(), curio.Condition()
    queue = curio.Queue()

    async def holder():
        async with lock, rlock, full:
            await curio.sleep(600)

    async def waits_lock():
        async with lock:
            pass

    async def waits_rlock():
        async with rlock:
            pass

    async def waits_semaphore():
        async with full:
            pass

    async def waits_event():
        await event.wait()

    async def waits_condition():
        async with condition:
            await condition.wait()

    async def waits_get():
        await queue.get()

    async def waits_time():
        await curio.sleep(600)

    holds = await curio.spawn(holder)
    await curio.sleep(0.05)

    async def waits_join():
        await holds.join()
    for one in waits_lock, waits_rlock, waits_semaphore, waits_event, waits_condition, waits_get, waits_time, waits_join:
        await curio.spawn(one)
    say("waits_lock", "lock", lock, ["holder"], certain=False)
    say("waits_rlock", "lock", rlock, ["holder"], certain=True)
    say("waits_semaphore", "semaphore", full, ["holder"], certain=False)
    say("waits_event", "event", event)
    say("waits_condition", "condition", condition)
    say("waits_get", "queue", queue)
    say("waits_time", "sleep", timed=True)
    say("waits_join", "tasks", holders=["holder"], certain=True)
    await curio.sleep(0.1)
    ready()
    await curio.sleep(600)


if sys.argv[1] == "trio":
    import trio
    import trio.testing
    trio.run(with_trio)
else:
    import curio
    curio.run(with_curio)
