# Threads that C started: one that never saw Python, one that calls back into it.
import ctypes
import time

import witness

CALLBACK = ctypes.CFUNCTYPE(None)


def from_outside():
    time.sleep(600)


callback = CALLBACK(from_outside)
witness.ways().ways_start_thread(CALLBACK(0))
witness.ways().ways_start_thread(callback)
witness.wait_until_others_rest(2)
witness.promise(native_only_threads=1)
witness.die()
