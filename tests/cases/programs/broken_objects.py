# Breaks an object, as extension modules with a fault do, says which one, and lets the interpreter stumble on it.
import ctypes
import gc
import sys

WORD = ctypes.sizeof(ctypes.c_void_p)
ITEMS = 24  # PyListObject.ob_item
DEALLOCATE = 48  # PyTypeObject.tp_dealloc


class Thing(object):
    pass


def poke(address, value):
    ctypes.c_size_t.from_address(address).value = value


def say(kind, thing):
    print("%s %#x" % (kind, id(thing)))
    sys.stdout.flush()


def main(way):
    gc.disable()
    thing = Thing()
    things = [thing]
    if way == "type":
        del things
        say("Thing", thing)
        poke(id(thing) + WORD, 0x4141414141414141)
        del thing
    elif way == "freed":
        del things
        say("Thing", thing)
        poke(id(thing) + WORD, 0xdddddddddddddddd)
        del thing
    elif way == "function":
        del things
        say("Thing", thing)
        poke(id(Thing) + DEALLOCATE, 0)
        del thing
    elif way == "item":
        say("list", things)
        poke(ctypes.c_size_t.from_address(id(things) + ITEMS).value, 0x1234560)
        del things
    elif way == "collector":
        gc.collect()
        say("list", things)
        poke(ctypes.c_size_t.from_address(id(things) + ITEMS).value, 0x1234560)
        gc.collect()
    elif way == "elsewhere":
        say("none", things)
        ctypes.string_at(8)


main(sys.argv[1])
