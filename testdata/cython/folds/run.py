"""Dies in the way that is named: run.py WAY."""
import os
import sys

import folds


def subclass():
    class Overriding(folds.Base):
        def method(self, value):
            return super().method(value)
    return Overriding()(1)


def set_item():
    folds.Base()[1] = 2


def coroutine():
    folds.coroutine(1).send(None)


class Pause:
    def __await__(self):
        yield

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self


async def between(thing):
    return await thing


def resume(coroutine):
    for _ in range(5):
        coroutine.send(None)


WAYS = {
    "parallel": lambda: folds.parallel_block(8),
    "fused": lambda: folds.fused_def(1.5),
    "fused_cpdef": lambda: folds.fused_cpdef(1.5),
    "cpdef": lambda: folds.plain_cpdef(1),
    "recursion": lambda: folds.recursion(2),
    "generator": lambda: list(folds.generator(2)),
    "delegating": lambda: list(folds.delegating(2)),
    "resumed": lambda: list(folds.hands_on_more(2)),
    "awaited": lambda: resume(folds.awaiting(Pause())),
    "awaited_by_python": lambda: resume(between(folds.awaiting(Pause()))),
    "awaited_through_python": lambda: resume(folds.awaiting_any(between(folds.pausing(Pause())))),
    "expression": lambda: folds.expression(2),
    "coroutine": coroutine,
    "public": lambda: folds.calls_public(2),
    "inline": lambda: folds.calls_inline(os.abort),
    "cinit": lambda: folds.Base(1, dies="cinit"),
    "init": lambda: folds.Base(1, dies="init"),
    "getitem": lambda: folds.Base()["key"],
    "setitem": set_item,
    "len": lambda: len(folds.Base()),
    "add": lambda: folds.Base() + 1,
    "call": lambda: folds.Derived()(1),
    "next": lambda: next(folds.Base()),
    "getattr": lambda: folds.Base().missing,
    "compare": lambda: folds.Base() < 1,
    "property": lambda: folds.Base().value,
    "dealloc": lambda: folds.Base(7),
    "subclass": subclass,
    "method": lambda: folds.Plain().method(),
    "namesake": folds.namesake,
    "early": lambda: folds.early(folds.Early({}, "abc"), 1),
}


def main():
    folds.stop = os.abort
    WAYS[sys.argv[1]]()


main()
