# Tasks of every state; what the interpreter says of each is the truth. MORE[0] "python": _asyncio is
# missing, and all of asyncio is Python code.
import gc
import sys
import types

import witness

if witness.MORE[:1] == ["python"]:
    sys.modules["_asyncio"] = None
import asyncio  # noqa: E402

tasks = {}


class Server:
    async def read(self):
        await self.future

    async def serve(self):
        self.future = asyncio.get_event_loop().create_future()
        await self.read()


class Awaitable:
    def __init__(self, coroutine):
        self.coroutine = coroutine

    def __await__(self):
        return (yield from self.coroutine.__await__())


async def sleeps():
    await asyncio.sleep(600)


async def through_awaitable():
    await Awaitable(sleeps())


@types.coroutine
def old_coroutine():
    yield from asyncio.sleep(600)


async def awaits_old_coroutine():
    await old_coroutine()


async def numbers():
    for number in (1, 2):
        yield number
        await asyncio.sleep(600)


async def steps():
    try:
        yield 1
    except ValueError:
        pass
    finally:
        await asyncio.sleep(600)


class HasAnext:
    async def __anext__(self):
        await sleeps()


async def noted():
    asyncio.future_add_to_awaited_by(tasks["sleeps"], tasks["noted"])
    await asyncio.sleep(600)


async def noted_through_futures():
    loop = asyncio.get_running_loop()
    first, second = loop.create_future(), loop.create_future()
    asyncio.future_add_to_awaited_by(tasks["sleeps"], first)
    asyncio.future_add_to_awaited_by(tasks["serve"], first)
    asyncio.future_add_to_awaited_by(first, second)
    await second


async def iterates():
    async for number in numbers():
        pass


async def waits_for(name):
    await tasks[name]


async def gathers():
    await asyncio.gather(tasks["sleeps"], tasks["serve"])


async def gathers_gathers():
    await asyncio.gather(asyncio.gather(tasks["sleeps"], tasks["iterates"]), tasks["serve"])


async def waits():
    await asyncio.wait([tasks["sleeps"], tasks["serve"]])


async def shields():
    await asyncio.shield(tasks["serve"])


async def has_timeout():
    await asyncio.wait_for(tasks["iterates"], 600)


async def queues():
    await asyncio.Queue().get()


async def locks(lock):
    async with lock:
        pass


async def never():
    pass


async def groups():
    async with asyncio.TaskGroup() as group:
        tasks["member"] = group.create_task(sleeps())


def stack_of(coroutine):
    """[(file, line, name)], outermost first, as cr_await and its like tell."""
    stack = []
    while coroutine is not None:
        for letters in ("cr", "gi", "ag"):
            frame = getattr(coroutine, letters + "_frame", None)
            if frame is not None:
                stack.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
                coroutine = getattr(coroutine, letters + ("_await" if letters != "gi" else "_yieldfrom"))
                break
        else:
            if type(coroutine).__name__ not in ("coroutine_wrapper", "async_generator_asend",
                                                "async_generator_athrow", "anext_awaitable"):
                break
            coroutine = gc.get_referents(coroutine)[0]
    return stack


def make(name, coroutine):
    task = asyncio.get_event_loop().create_task(coroutine)
    if hasattr(task, "set_name"):
        task.set_name(name)
    tasks[name] = task


EDGES = {
    "waits_for_sleeps": ["sleeps"],
    "gathers": ["sleeps", "serve"],
    "gathers_gathers": ["sleeps", "iterates", "serve"],
    "waits": ["sleeps", "serve"],
    "shields": ["serve"],
    "has_timeout": ["iterates"],
    "knot_1": ["knot_2"], "knot_2": ["knot_3"], "knot_3": ["knot_1"],
    "waits_for_knot": ["knot_2"],
}
READY = ["ready"]
CREATED = ["created", "step_created"]


async def begin_steps():
    """Tasks of one step of an async generator each."""
    ways = {"step_anext": lambda generator: generator.__anext__(), "step_asend": lambda generator: generator.asend(1),
            "step_athrow": lambda generator: generator.athrow(ValueError),
            "step_aclose": lambda generator: generator.aclose()}
    if sys.version_info >= (3, 10):
        ways["step_default"] = lambda generator: anext(generator, None)  # noqa: F821
        make("anext_of_object", anext(HasAnext(), None))  # noqa: F821
    for name, way in sorted(ways.items()):
        generator = steps()
        await generator.__anext__()
        make(name, way(generator))


async def main():
    lock = asyncio.Lock()
    await lock.acquire()
    for name, coroutine in [("serve", Server().serve()), ("sleeps", sleeps()),
                            ("through_awaitable", through_awaitable()),
                            ("awaits_old_coroutine", awaits_old_coroutine()), ("iterates", iterates()),
                            ("waits_for_sleeps", waits_for("sleeps")), ("gathers", gathers()),
                            ("gathers_gathers", gathers_gathers()), ("waits", waits()),
                            ("shields", shields()), ("has_timeout", has_timeout()), ("queues", queues()),
                            ("locks", locks(lock)), ("knot_1", waits_for("knot_2")),
                            ("knot_2", waits_for("knot_3")), ("knot_3", waits_for("knot_1")),
                            ("waits_for_knot", waits_for("knot_2")), ("ready", sleeps())]:
        make(name, coroutine)
    if hasattr(asyncio, "TaskGroup"):
        make("groups", groups())
        EDGES["groups"] = ["member"]
    await begin_steps()
    if hasattr(asyncio, "future_add_to_awaited_by"):
        make("noted", noted())
        make("noted_through_futures", noted_through_futures())
        EDGES.update(noted=["sleeps"], noted_through_futures=["sleeps", "serve"])
    for i in range(3):
        await asyncio.sleep(0)
    tasks["ready"].cancel()
    make("created", never())
    generator = steps()
    await generator.__anext__()
    make("step_created", generator.__anext__())
    main_task = getattr(asyncio, "current_task", getattr(asyncio.Task, "current_task", None))()
    tasks["main"] = main_task
    if hasattr(main_task, "set_name"):
        main_task.set_name("main")
    die_with_truth()


def die_with_truth():
    everything = getattr(asyncio, "all_tasks", getattr(asyncio.Task, "all_tasks", None))()
    assert {task for task in everything if not task.done()} == set(tasks.values()), (everything, tasks)
    truth = {}
    for name, task in tasks.items():
        coroutine = task._coro if hasattr(task, "_coro") else task.get_coro()
        truth["%#x" % id(task)] = {
            "name": task.get_name() if hasattr(task, "get_name") else None,
            "key": name,
            "frames": stack_of(coroutine)[::-1] if name != "main" else None,
            "state": "running" if name == "main" else "created" if name in CREATED else
                     "ready" if name in READY else "waiting",
            "waits_for": sorted("%#x" % id(tasks[other]) for other in EDGES.get(name, [])),
        }
    witness.promise(tasks=truth, knot=sorted("%#x" % id(tasks[name]) for name in ("knot_1", "knot_2", "knot_3")))
    witness.die()


asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main()) if sys.version_info < (3, 7) \
    else asyncio.run(main())
