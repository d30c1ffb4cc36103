"""Threads of a free-threaded interpreter that keep each other from going on: free_threaded.py HOW

ctypes.PyDLL calls while the thread state is attached, as an extension does that does not let go of it.
"""
import ctypes
import gc
import sys
import threading
import time

attached, detached, api = ctypes.PyDLL(None), ctypes.CDLL(None), ctypes.pythonapi
items = [1]
native = ctypes.create_string_buffer(64)  # a pthread_mutex_t
once, event, first, second = (ctypes.c_byte(0) for _ in range(4))
ONCE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
begun = threading.Event()
ready = threading.Event()


def start(function):
    thread = threading.Thread(target=function, name=function.__name__, daemon=True)
    thread.start()
    return thread


def asleep(name):
    """Once the thread of that name does not run any more, for a while."""
    tid, quiet = next(thread.native_id for thread in threading.enumerate() if thread.name == name), 0
    while quiet < 20:
        with open("/proc/self/task/%d/stat" % tid) as file:
            quiet = quiet + 1 if file.read().rsplit(")", 1)[1].split()[0] == "S" else 0
        threading.Event().wait(0.005)


def section():
    section.kept = ctypes.create_string_buffer(64)
    api.PyCriticalSection_Begin(section.kept, ctypes.py_object(items))


def in_section():
    section()
    begun.set()
    attached.pthread_mutex_lock(native)


def runs_in_section():
    section()
    begun.set()
    while True:
        pass


def sleeps_in_section():
    section()
    begun.set()
    time.sleep(1000)


def has_mutex_and_appends():
    detached.pthread_mutex_lock(native)
    ready.set()
    begun.wait()
    asleep("in_section")
    items.append(2)


def appends():
    items.append(2)
    time.sleep(1000)


def blocks():
    begun.set()
    attached.pthread_mutex_lock(native)


def has_mutex_and_collects():
    detached.pthread_mutex_lock(native)
    ready.set()
    begun.wait()
    asleep("blocks")
    gc.collect()


def sorts():
    begun.set()
    items.sort(key=lambda _: time.sleep(1000))


def makes_once():
    def make(_):
        begun.set()
        time.sleep(1000)
        return 0
    makes_once.kept = ONCE(make)
    api._PyOnceFlag_CallOnceSlow(ctypes.byref(once), makes_once.kept, None)


def waits_once():
    api._PyOnceFlag_CallOnceSlow(ctypes.byref(once), makes_once.kept, None)


def waits_pyevent():
    api.PyEvent_Wait(ctypes.byref(event))


def takes_first_then_second():
    api.PyMutex_Lock(ctypes.byref(first))
    begun.set()
    ready.wait()
    api.PyMutex_Lock(ctypes.byref(second))


def takes_second_then_first():
    api.PyMutex_Lock(ctypes.byref(second))
    ready.set()
    begun.wait()
    api.PyMutex_Lock(ctypes.byref(first))


FIRST_AND_SECOND = {
    "section": (has_mutex_and_appends, ready, in_section),
    "running_section": (runs_in_section, begun, appends),
    "sleeping_section": (sleeps_in_section, begun, appends),
    "sort": (sorts, begun, appends),
    "world": (has_mutex_and_collects, ready, blocks),
    "once": (makes_once, begun, waits_once),
    "event": (waits_pyevent, None, waits_pyevent),
    "mutexes": (takes_first_then_second, begun, takes_second_then_first),
}
one, between, other = FIRST_AND_SECOND[sys.argv[1]]
start(one)
if between:
    between.wait()
print("ready", flush=True)
thread = start(other)
while thread.is_alive():
    thread.join(0.5)  # Where all are stopped it comes back and has to wait for that.
