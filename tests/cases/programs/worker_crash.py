# A thread that is not the main one reads a null pointer (ctypes.string_at) while the main one joins it;
# testify() waits until that one does.
import ctypes
import threading

import witness


class Job:
    def run(self, depth):
        if depth:
            return self.run(depth - 1)
        # The last of them.
        return self.crash()

    def crash(self):
        witness.testify(), ctypes.string_at(0)


witness.promise(extra=["string_at"], signal="SIGSEGV", code="SEGV_MAPERR", fault_address="0x0")
thread = threading.Thread(target=Job().run, args=(5,), name="the one that dies")
thread.start()
thread.join()
