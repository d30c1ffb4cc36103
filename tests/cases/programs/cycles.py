# Recursions of several frames (argument: which, and how deep), in a thread with a stack to fit.
import functools
import sys
import threading

import witness

KIND, DEPTH = witness.MORE[0], int(witness.MORE[1])


def first(depth):
    return second(depth)


def second(depth):
    return third(
        depth)


def third(depth):
    if depth:
        return first(depth - 1)
    return bottom()


def through_c(depth):
    """Back into Python from C, with C's own frames in between."""
    if not depth:
        return bottom()
    return functools.reduce(lambda _, one: through_c(one - 1), [0, depth])


def twice(depth):
    """One recursion inside another."""
    if depth:
        return twice(depth - 1)
    return first(DEPTH)


def bottom():
    witness.die(deep=True)


sys.setrecursionlimit(DEPTH * 20 + 1000)
threading.stack_size(256 * 1024 * 1024)
thread = threading.Thread(target={"three": first, "through_c": through_c, "twice": twice}[KIND], args=(DEPTH,))
thread.start()
thread.join()
