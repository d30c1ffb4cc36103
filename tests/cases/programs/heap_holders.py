"""Objects that are held in ways that are known: heap_holders.py [NUMBER of sessions]. truth.json has their addresses."""
import functools
import gc
import json
import os
import sys
import threading
import xml.etree.ElementTree


class Session(object):
    def __init__(self, number):
        self.number = number
        self.rows = [str(number) * 3, number]
        self.buffer = bytearray(3000)


class Slotted(object):
    __slots__ = ("kept",)


class Config(object):
    cache = {}


live = {"sessions": []}
slotted = Slotted()
function_closure = None
# Its children lie in memory that code in C keeps beside the object.
tree = xml.etree.ElementTree.fromstring("<all>%s</all>" % "".join("<one><two/></one>" for _ in range(50)))
partial = None


def closure():
    inside = Session(-1)

    def inner():
        return inside
    return inner, inside


def waits(entered, leave, seen):
    thread_local = Session(-2)
    seen.append(hex(id(thread_local)))
    entered.set()
    leave.wait()
    return thread_local


def work(count):
    global function_closure, partial
    only_here = [Session(-3)]
    live["sessions"] += [Session(number) for number in range(count)]
    Config.cache["deep"] = {"list": [1, Session(-4)]}
    slotted.kept = Session(-5)
    partial = functools.partial(print, key=Session(-7))
    function_closure, inside = closure()
    inside = hex(id(inside))
    entered, leave, seen = threading.Event(), threading.Event(), []
    other = threading.Thread(target=waits, args=(entered, leave, seen))
    other.daemon = True
    other.start()
    entered.wait()
    cycle = [Session(-6)]
    cycle.append(cycle)
    garbage = hex(id(cycle))
    del cycle
    with open("truth.json", "w") as file:
        json.dump({"item": hex(id(live["sessions"][7])), "list": hex(id(live["sessions"])), "local": hex(id(only_here)),
                   "deep": hex(id(Config.cache["deep"]["list"][1])), "slot": hex(id(slotted.kept)), "closure": inside,
                   "tree": hex(id(tree)), "child": hex(id(tree[7])), "leaf": hex(id(tree[7][0])),
                   "partial": hex(id(partial.keywords["key"])),
                   "thread": seen[0], "garbage": garbage, "thread_id": other.native_id, "main_id": os.getpid()}, file)
    os.abort()


gc.disable()
work(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
