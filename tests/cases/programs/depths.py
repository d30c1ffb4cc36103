"""Threads with deep stacks of Python, C and generators; the further in a frame is the sooner it is another: depths.py DEPTH"""
import functools
import json
import random
import sys
import threading

DEPTH = int(sys.argv[1])
sys.setrecursionlimit(DEPTH * 4 + 1000)
threading.stack_size(64 << 20)


def count():
    return sum(number * number % 7 for number in range(500))


def plain(depth, chance):
    return again(depth, chance)


def sorts(depth, chance):
    return sorted([depth], key=lambda one: again(one, chance))


def yields(depth, chance):
    def numbers():
        yield again(depth, chance)

    return list(numbers())


def delegates(depth, chance):
    def inner():
        yield again(depth, chance)

    def outer():
        yield from inner()

    return max(outer(), default=0, key=str)


class Iterated:
    def __init__(self, depth, chance):
        self.depth, self.chance = depth, chance

    def __iter__(self):
        again(self.depth, self.chance)
        return iter([1])

    def __eq__(self, other):
        return again(self.depth, self.chance) is other


def iterates(depth, chance):
    return list(Iterated(depth, chance))


def compares(depth, chance):
    return Iterated(depth, chance) in [1]


def reduces(depth, chance):
    return functools.reduce(lambda one, other: again(depth, chance), [1, 2])


def raises(depth, chance):
    try:
        raise KeyError(depth)
    except KeyError:
        return again(depth, chance)
    finally:
        count()


KINDS = [plain] * 6 + [sorts, yields, delegates, iterates, compares, reduces, raises]


# From one line, then from the other: each frame is called twice as often as the one that calls it.
def again(depth, chance):
    if depth <= 0:
        json.dumps([depth] * 50)
        return count()
    chance.choice(KINDS)(depth - 1, chance)
    return chance.choice(KINDS)(depth - 1, chance)


def work(seed):
    chance = random.Random(seed)
    while True:
        again(DEPTH, chance)


for number in range(3):
    threading.Thread(target=work, args=(number,), daemon=True).start()
print("ready", flush=True)
work(3)
