# Recursion, some hundred or some thousand frames deep (argument), in a thread with a stack to fit.
import sys
import threading

import witness

DEPTH = int(witness.MORE[0])


def down(depth):
    if depth:
        return down(depth - 1) + 1
    witness.die(deep=True)
    return 0


def main():
    down(DEPTH)


sys.setrecursionlimit(DEPTH + 1000)
threading.stack_size(512 * 1024 * 1024 if DEPTH > 5000 else 32 * 1024 * 1024)
thread = threading.Thread(target=main, name="deep")
thread.start()
thread.join()
