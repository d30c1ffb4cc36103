# One way to die each (argument): abort, SIGFPE, SIGILL, SIGBUS, a null or wild call, a C stack overflow ...
import ctypes
import os
import signal
import sys

import witness

WAY = witness.MORE[0]
CODES = {
    "abort": dict(signal="SIGABRT"),
    "kill": dict(signal="SIGSEGV", code="SI_USER"),
    "divide": dict(signal="SIGFPE", code="FPE_INTDIV"),
    "illegal": dict(signal="SIGILL"),
    "bus": dict(signal="SIGBUS", code="BUS_ADRERR"),
    "write_null": dict(signal="SIGSEGV", code="SEGV_MAPERR", fault_address="0x0"),
    "null_call": dict(signal="SIGSEGV", fault_address="0x0"),
    "wild_call": dict(signal="SIGSEGV", fault_address="0x1234"),
    "overflow": dict(signal="SIGSEGV", native_at_least=500),
    "trap": dict(signal="SIGTRAP"),
    "fatal": dict(signal="SIGABRT"),
}


def ending(way):
    library = witness.ways()
    if way == "abort":
        return os.abort, ()
    if way == "kill":
        return os.kill, (os.getpid(), signal.SIGSEGV)
    if way == "fatal":
        fatal = ctypes.pythonapi.Py_FatalError
        fatal.restype = None
        return fatal, (b"the end, as asked",)
    if way == "bus":
        path = os.path.join(witness.FOLDER, "short")
        with open(path, "wb"):
            pass
        return library.ways_bus, (path.encode(),)
    return getattr(library, "ways_" + way), ()


def main():
    call, arguments = ending(WAY)
    witness.testify(), call(*arguments)


witness.promise(**CODES[WAY])
main()
