# Tasks that others spawned; what curio itself says of each is the truth.
import curio

import witness


async def sleeps():
    await curio.sleep(600)


async def joins():
    task = await curio.spawn(sleeps)
    await task.join()


async def never():
    pass


async def main():
    await curio.spawn(sleeps)
    await curio.spawn(joins)
    await curio.sleep(0.05)
    await curio.spawn(never)
    me = await curio.current_task()
    kernel = next(one for one in __import__("gc").get_objects() if isinstance(one, curio.Kernel))
    truth = {}
    for task in kernel._tasks.values():
        frames = []
        coroutine = task.coro
        while hasattr(coroutine, "cr_frame") or hasattr(coroutine, "gi_frame"):
            letters = "cr" if hasattr(coroutine, "cr_frame") else "gi"
            frame = getattr(coroutine, letters + "_frame")
            frames.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
            coroutine = getattr(coroutine, "cr_await" if letters == "cr" else "gi_yieldfrom")
        truth["%#x" % id(task)] = {
            "name": task.name, "children": sorted("%#x" % id(one) for one in kernel._tasks.values() if one.parentid == task.id),
            "state": "running" if task is me else "created" if task.name == "never" else "waiting",
            "awaits": None if task is me or task.name == "never" else task.state,
            "frames": None if task is me else frames[::-1]}
    witness.promise(tasks=truth)
    witness.die()


curio.run(main)
