# C recursion (argument: how deep) between two Python frames.
import ctypes
import threading

import witness

DEPTH = int(witness.MORE[0])
CALLBACK = ctypes.CFUNCTYPE(None)


def bottom():
    witness.die()


def main():
    witness.ways().ways_descend(ctypes.c_long(DEPTH), CALLBACK(bottom))


witness.promise(native_at_least=DEPTH)
threading.stack_size(256 * 1024 * 1024)
thread = threading.Thread(target=main, name="deep in C")
thread.start()
thread.join()
