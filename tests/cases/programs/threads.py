# Threads that sleep, wait for a lock, a queue, a condition, and for the GIL; the main thread is killed.
import ctypes
import threading
import time

import witness
import queue  # behind witness, which gives it to 2.7

held = threading.Lock()
held.acquire()
empty = queue.Queue()
condition = threading.Condition()


def sleeps():
    time.sleep(600)


def waits_for_lock():
    with held:
        pass


def waits_for_item():
    empty.get()


def waits_for_condition():
    with condition:
        condition.wait()


def spins():
    while True: pass  # one line: the truth is taken a moment before the end


def worker(function):
    function()


busy = []
for function in (sleeps, waits_for_lock, waits_for_item, waits_for_condition, spins):
    thread = threading.Thread(target=worker, args=(function,), name="worker " + function.__name__)
    thread.daemon = True
    thread.start()
    if function is spins:
        busy.append(thread.ident)
witness.wait_until_others_rest(4)
witness.promise(waits_for_gil=busy, holds_gil=threading.get_ident(), signal="SIGSEGV",
                code="SI_USER")
# PyDLL keeps the GIL, and C gives the spinning thread time to wait for it.
holding = ctypes.PyDLL(witness.LIBWAYS)
witness.testify(), holding.ways_rest_and_kill()
