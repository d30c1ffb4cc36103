# Not dead: processes that wait for locks of multiprocessing which another one has, or that only look so. Arguments:
# how they are started, and which.
import multiprocessing
import os
import sys
import time


def take_and_want(first, second, has, go, timeout):
    first.acquire()
    has.set()
    go.wait()
    second.acquire(timeout=timeout)


def knot(context, kind, timeout=None):
    one, two, has, go = kind(), kind(), context.Event(), context.Event()
    context.Process(target=take_and_want, args=(two, one, has, go, timeout)).start()
    with one:
        has.wait()
        go.set()
        two.acquire()


def locks(context):
    knot(context, context.Lock)


def rlocks(context):
    knot(context, context.RLock)


def locks_timed(context):
    knot(context, context.Lock, 600)


def semaphores(context):
    """Nobody is known to have them: several may, and who gives them back need not have taken them."""
    knot(context, lambda: context.Semaphore(1))


def stay_in(lock, has):
    with lock:
        has.set()
        time.sleep(600)


def sleeper(context):
    """No deadlock: who has the lock sleeps."""
    lock, has = context.Lock(), context.Event()
    context.Process(target=stay_in, args=(lock, has)).start()
    has.wait()
    lock.acquire()


def copied(context):
    """No owner: what os.fork() has copied says, too, that its process has the lock."""
    lock = context.RLock()
    lock.acquire()
    if not os.fork():
        time.sleep(600)
    context.Process(target=lock.acquire).start()
    time.sleep(600)


if __name__ == "__main__":
    os.write(1, b"ready\n")
    globals()[sys.argv[2]](multiprocessing.get_context(sys.argv[1]))
