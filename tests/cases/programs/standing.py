"""Says "ready" and sleeps, with something of everything to be read: threads, tasks, exceptions, values of all kinds."""
import asyncio
import collections
import datetime
import decimal
import sys
import threading
import time


class Node:
    def __init__(self, name, parent=None):
        self.name, self.parent, self.children = name, parent, []
        if parent:
            parent.children.append(self)


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left, self.right = left, right


def sleep_with_values(started):
    root = Node("root")
    leaf = Node("leaf", Node("middle", root))
    mapping = {number: str(number) * 3 for number in range(50)}
    nested = [[(1, 2.5, None), {"key": b"bytes", "deep": [[["end"]]]}], {1, 2, 3}, frozenset("ab"), range(3)]
    large, negative, text = 1 << 200, -5, "t\u00e4xt \U0001f40d"
    moment = datetime.datetime(2024, 2, 29, 12, 30)
    ordered = collections.OrderedDict(a=1, b=collections.deque([1, 2]))
    money, pair = decimal.Decimal("1.50"), Slotted(leaf, mapping)
    generator = (number for number in nested)
    next(generator)
    try:
        raise ValueError("being handled")
    except ValueError:
        try:
            raise KeyError(text) from ValueError("its cause")
        except KeyError as error:
            started.wait()
            time.sleep(1000)
            print(large, negative, moment, ordered, money, pair, error)


async def waits(number, others):
    if others:
        await asyncio.gather(*others)
    await asyncio.sleep(1000 + number)


async def main(started):
    tasks = [asyncio.ensure_future(waits(number, [])) for number in range(3)]
    tasks.append(asyncio.ensure_future(waits(3, tasks[:2])))
    asyncio.get_running_loop().call_later(0.05, stands, started)
    await asyncio.gather(*tasks)


def stands(started):
    started.wait()
    print("ready")
    sys.stdout.flush()
    time.sleep(1000)


barrier = threading.Barrier(3)
for _ in range(2):
    threading.Thread(target=sleep_with_values, args=(barrier,), daemon=True).start()
asyncio.run(main(barrier))
