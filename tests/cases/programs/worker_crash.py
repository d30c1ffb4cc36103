# A thread that is not the main one reads a null pointer (ctypes.string_at) while the main one joins it.
import ctypes
import threading
import time

import witness


class Job:
    def run(self, depth):
        if depth:
            return self.run(depth - 1)
        time.sleep(0.3)
        return self.crash()

    def crash(self):
        witness.testify(), ctypes.string_at(0)


witness.promise(extra=["string_at"], signal="SIGSEGV", code="SEGV_MAPERR", fault_address="0x0")
thread = threading.Thread(target=Job().run, args=(5,), name="the one that dies")
thread.start()
thread.join()
