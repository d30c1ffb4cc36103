"""Waits for an RLock whose owner is not in the process any more; or for a plain Lock, which does not know.

Usage: lost_owner.py fork|end|fork_plain|end_plain

fork: a thread of the parent has it, and was not copied; end: a thread ended and did not give it back.
Says "ready PID" of the process that waits.
"""
import os
import sys
import threading

guard = threading.Lock() if sys.argv[1].endswith("plain") else threading.RLock()
held = threading.Event()


def hold():
    guard.acquire()
    held.set()
    if sys.argv[1].startswith("fork"):
        threading.Event().wait()


thread = threading.Thread(target=hold)
thread.daemon = True
thread.start()
held.wait()
if sys.argv[1].startswith("end"):
    thread.join()
    print("ready", flush=True)
    print(os.getpid(), flush=True)
    guard.acquire()
child = os.fork()
if not child:
    guard.acquire()
print("ready", flush=True)
print(child, flush=True)
os.waitpid(child, 0)
