# Many threads (argument), each some frames deep, that all wait; the main thread dies.
import sys
import threading

import witness

COUNT, DEPTH = int(witness.MORE[0]), int(witness.MORE[1])
gate = threading.Event()


def descend(depth):
    if depth == 0:
        return gate.wait()
    if depth % 5 == 0:
        return sorted([1], key=lambda item: descend(depth - 1))
    return descend(depth - 1)


# A megabyte of touched memory for each: cores of such programs are large.
ballast = [bytearray(b"x") * int(float(witness.MORE[2]) * 1024 * 1024) for _ in range(COUNT)]
threads = [threading.Thread(target=descend, args=(DEPTH,), name="worker-%d" % number, daemon=True)
           for number in range(COUNT)]
for thread in threads:
    thread.start()
witness.wait_until_others_rest(COUNT)
witness.die()
