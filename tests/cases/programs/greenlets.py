# Greenlets at different places, one of them with C between its Python frames; each notes its own
# stack just before it is switched from.
import gc
import sys
import threading
import time

import greenlet

import witness

stacks = {}
everything = []
made = threading.Event()


def note():
    frame = sys._getframe(1)
    stack = []
    while frame is not None:
        stack.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
        frame = frame.f_back
    stacks["%#x" % id(greenlet.getcurrent())] = stack


def plain(depth):
    if depth:
        return plain(depth - 1)
    note(), greenlet.getcurrent().parent.switch()


def through_c():
    sorted([1], key=in_key)


def in_key(item):
    list(map(in_map, [item]))


def in_map(item):
    note(), greenlet.getcurrent().parent.switch()


def generates():
    for item in generator():
        pass


def generator():
    yield 1
    note(), greenlet.getcurrent().parent.switch()


class Derived(greenlet.greenlet):
    def run(self):
        self.hub = greenlet.greenlet(plain)
        self.hub.switch(1)
        note(), self.parent.switch()


def make(kind, *arguments):
    one = kind if isinstance(kind, greenlet.greenlet) else greenlet.greenlet(kind)
    everything.append(one)
    one.switch(*arguments)


def thread():
    make(plain, 2)
    made.set()
    time.sleep(600)


for function, arguments in [(plain, (0,)), (plain, (5,)), (through_c, ()), (generates, ()), (Derived(), ())]:
    make(function, *arguments)
everything.append(everything[-1].hub)
if hasattr(gc, "freeze"):
    gc.freeze()  # sets aside what there is by now
other = threading.Thread(target=thread, name="other")
other.daemon = True
other.start()
made.wait()
created = greenlet.greenlet(plain)
ended = greenlet.greenlet(lambda: None)
ended.switch()


main = greenlet.getcurrent()


def dies():
    stacks["%#x" % id(main)] = None  # suspended here
    witness.promise(stacks=stacks, created="%#x" % id(created), ended="%#x" % id(ended),
                    types={"%#x" % id(one): type(one).__module__ + "." + type(one).__name__
                           for one in everything},
                    version=greenlet.__version__)
    witness.die()


def starts_the_last():
    everything.append(greenlet.greenlet(dies))
    note(), everything[-1].switch()


everything.append(greenlet.greenlet(starts_the_last))
everything[-1].switch()
