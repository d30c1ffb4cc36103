# Tasks in nurseries; what trio itself says of each is the truth.
import gc

import trio

import witness


async def sleeps():
    await trio.sleep(600)


async def waits(event):
    await event.wait()


async def numbers():
    yield 1
    await trio.sleep(600)


async def iterates():
    async for number in numbers():
        pass


async def never():
    pass


async def opens_two():
    async with trio.open_nursery() as outer:
        outer.start_soon(sleeps, name="outer")
        async with trio.open_nursery() as inner:
            inner.start_soon(sleeps, name="inner")
            inner.start_soon(sleeps, name="inner 2")


def stack_of(coroutine):
    """[(file, line, name)], innermost first, as cr_await and its like tell."""
    stack = []
    while coroutine is not None:
        for letters in ("cr", "gi", "ag"):
            frame = getattr(coroutine, letters + "_frame", None)
            if frame is not None:
                stack.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
                coroutine = getattr(coroutine, letters + ("_await" if letters != "gi" else "_yieldfrom"))
                break
        else:
            if type(coroutine).__name__ not in ("coroutine_wrapper", "async_generator_asend"):
                break
            coroutine = gc.get_referents(coroutine)[0]
    return stack[::-1]


def tell(task, truth, running):
    children = [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    state = "running" if task is running else "created" if task.name == "created" else "waiting"
    if task.name == "woken":
        state = "ready"
    truth["%#x" % id(task)] = {"name": task.name, "state": state, "children": sorted("%#x" % id(one) for one in children),
                               "frames": None if task is running else stack_of(task.coro)}
    for child in children:
        tell(child, truth, running)


async def main():
    event, other = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        for function, arguments, name in [(sleeps, (), "sleeps"), (waits, (event,), "waits"), (waits, (other,), "woken"),
                                          (iterates, (), "iterates"), (opens_two, (), "opens_two")]:
            nursery.start_soon(function, *arguments, name=name)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(never, name="created")
        other.set()
        truth = {}
        tell(trio.lowlevel.current_root_task(), truth, trio.lowlevel.current_task())
        witness.promise(tasks=truth)
        witness.die()


import trio.testing  # noqa: E402
trio.run(main)
