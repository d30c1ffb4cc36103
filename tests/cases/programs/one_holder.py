# Threads that sleep with a lock, one after the other: at no moment does more than one hold it.
import sys
import threading
import time

LOCK = threading.Lock()


def hold(seconds):
    time.sleep(seconds)


def take_turns(seconds):
    while True:
        with LOCK:
            hold(seconds)


def rest():
    threading.Event().wait()


COUNT, SECONDS = int(sys.argv[1]), float(sys.argv[2])
for _ in range(COUNT):
    threading.Thread(target=take_turns, args=(SECONDS,), daemon=True).start()
    threading.Thread(target=rest, daemon=True).start()
print("ready", flush=True)
rest()
