# Calls of every kind, over and over; says first where its thread state and the evaluator are.
import ctypes
import sys


class Thrown(Exception):
    pass


def leaf(a, b=2):
    return a


def many(*a, **k):
    return len(a)


def inner():
    try:
        yield 1
        yield 2
    except Thrown:
        yield 3


def outer():
    yield from inner()


class Node:
    def __init__(self):
        self.x = 1

    def __del__(self):
        leaf(1)

    @property
    def p(self):
        return leaf(5)


def key(n):
    return -n


def fail():
    raise Thrown


def call():
    leaf(1)
    many(1, *(2,), k=3)


def call_through_c():
    sorted([1, 2], key=key)


def iterate():
    for _ in outer():
        pass
    list(leaf(i) for i in (1,))


def throw():
    generator = outer()
    next(generator)
    generator.throw(Thrown())
    generator.close()


def finalize():
    node = Node()
    node.p


def unwind():
    try:
        fail()
    except Thrown:
        pass


def run(kinds):
    for kind in kinds:
        kind()


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


get = ctypes.pythonapi.PyThreadState_Get
get.restype = ctypes.c_void_p
print("ready", get(), address(ctypes.pythonapi._PyEval_EvalFrameDefault))
sys.stdout.flush()
kinds = [globals()[name] for name in sys.argv[1:]]
while True:
    run(kinds)
