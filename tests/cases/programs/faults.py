# Dies in one way (argument 3), perhaps below a signal handler (4) or in a thread (5); libfaults.so is argument 1.
# Before that it writes down (argument 2) what a report has to say of it.
import ctypes
import json
import mmap
import signal
import sys
import threading

LIBRARY, PROMISE, WAY = sys.argv[1:4]
HANDLER = sys.argv[4] if len(sys.argv) > 4 else ""
library = ctypes.CDLL(LIBRARY)
for name in ("memory_of_program", "memory_of_code", "memory_without", "memory_behind_file"):
    getattr(library, name).restype = ctypes.c_uint64
OPTIONS = {"siginfo": 4, "stack": 0x08000000, "nodefer": 0x40000000}
NONE, READ_WRITE = 0, 3
SEGV, FPE = "SIGSEGV", "SIGFPE"


def number(value):
    return ctypes.c_uint64(value)


def access(way, at, doing, cause, instruction, offset=0, code="SEGV_MAPERR", named=SEGV, **more):
    """A fault with an address; the first register of the instruction holds `at`."""
    return getattr(library, "faults_" + way), [number(at)], dict(
        signal=named, code=code, fault_address=hex(at + offset), access=doing, cause=cause,
        instruction=instruction, holds=hex(at), **more)


def refused(way, arguments, cause, instruction, named=SEGV, code="SI_KERNEL", **more):
    """A fault whose signal has no address of memory."""
    return getattr(library, "faults_" + way), arguments, dict(
        signal=named, code=code, cause=cause, instruction=instruction, **more)


def non_canonical(way, at, doing, cause, instruction, words):
    return refused(way, [number(at)], cause, instruction, access=doing, words=words, holds=hex(at))


MOV_READ, MOV_WRITE, CALL = r"mov \(%r..\),%rdx", r"mov %r..,0x18\(%r..\)", r"call \*%r.."
WAYS = {
    "null_write": lambda: access("write", 0, "write", "null-pointer", MOV_WRITE, 0x18, words="near a null pointer"),
    "null_read": lambda: access("read", 0, "read", "null-pointer", MOV_READ, words="a null pointer"),
    "add": lambda: access("add", 0x40, "write", "null-pointer", r"lock addq \$0x1,\(%r..\)"),
    "vector": lambda: access("vector_write", 0x40, "write", "null-pointer", r"movups %xmm0,\(%r..\)"),
    "wild": lambda: access("read", 0x123456789000, "read", "wild-pointer", MOV_READ, words="not mapped"),
    "kernel": lambda: access("read", 0xffff888000001000, "read", "wild-pointer", MOV_READ, words="of the kernel"),
    "call": lambda: access("call", 0x30, "execute", "null-pointer", CALL),
    "call_data": lambda: access("call", library.memory_without(READ_WRITE), "execute", "no-execute", CALL,
                                code="SEGV_ACCERR", words="without execution"),
    "code": lambda: access("write", library.memory_of_code(), "write", "read-only", MOV_WRITE, 0x18,
                           code="SEGV_ACCERR", words="read-only code"),
    "none": lambda: access("read", library.memory_without(NONE), "read", "wild-pointer", MOV_READ,
                           code="SEGV_ACCERR", words="without any access"),
    "file": lambda: access("read", library.memory_behind_file((PROMISE + ".data").encode()), "read", "file-truncated",
                           MOV_READ, code="BUS_ADRERR", named="SIGBUS", words="behind the end of its file"),
    "copy_to": lambda: (library.faults_copy, [number(0x40), number(library.memory_of_program())], dict(
        signal=SEGV, fault_address="0x40", access="write", cause="null-pointer", instruction="rep movsb .*")),
    "copy_from": lambda: (library.faults_copy, [number(library.memory_of_program()), number(0x40)], dict(
        signal=SEGV, fault_address="0x40", access="read", cause="null-pointer", instruction="rep movsb .*")),
    "freed_python": lambda: non_canonical("read", 0xdddddddddddddddd, "read", "freed-memory", MOV_READ, "freed memory"),
    "text": lambda: non_canonical("write", 0x646c726f77206f6c, "write", "wild-pointer", MOV_WRITE, '"lo world"'),
    "call_wild": lambda: non_canonical("call", 0xbebebebebebebebe, "execute", "wild-pointer", CALL, "AddressSanitizer"),
    "return": lambda: refused("return", [number(0x4141414141414141)], "wild-pointer", "ret", access="execute",
                              words="the return address on the stack"),
    "aligned": lambda: refused("aligned", [number(library.memory_of_program() + 4)], "other",
                               r"movaps \(%r..\),%xmm0", access="read", words="not aligned to 16 bytes"),
    "halt": lambda: refused("halt", [], "illegal-instruction", "hlt", words="privileged"),
    "divide": lambda: refused("divide", [number(0)], "division", "idiv %r..", FPE, "FPE_INTDIV", holds="0x0",
                              words="by zero"),
    "overflow": lambda: refused("divide", [number(2 ** 64 - 1)], "division", "idiv %r..", FPE, "FPE_INTDIV",
                                holds=hex(2 ** 64 - 1), words="does not fit"),
    "undefined": lambda: refused("undefined", [], "illegal-instruction", "ud2", "SIGILL", "ILL_ILLOPN"),
    "breakpoint": lambda: refused("breakpoint", [], "other", "int3", "SIGTRAP"),
    "freed": lambda: (library.faults_freed, [], dict(
        signal=SEGV, access="read", cause="freed-memory", words="what free() leaves")),
    # In use again: what free() has left there is no longer what it says.
    "reused": lambda: (library.faults_reused, [number(0x123456789000)], dict(
        signal=SEGV, access="read", cause="wild-pointer", words="not mapped")),
    "reused_as_it_was": lambda: (library.faults_reused, [number(0)], dict(
        signal=SEGV, access="read", cause="wild-pointer", words="not mapped")),
    "flipped": lambda: (library.faults_copy, [number(library.memory_of_program() ^ 1 << 43),
                                              number(library.memory_of_program())],
                        dict(signal=SEGV, access="write", cause="wild-pointer", words="one bit flipped")),
    "flipped_twice": lambda: (library.faults_copy, [number(library.memory_of_program() ^ 5 << 41),
                                                    number(library.memory_of_program())],
                              dict(signal=SEGV, access="write", cause="wild-pointer", words="not mapped")),
    "deep": lambda: (library.faults_deep, [0], dict(
        signal=SEGV, access="write", cause="stack-overflow", words="stack overflow")),
    "abort": lambda: (ctypes.CDLL(None).abort, [], dict(signal="SIGABRT")),
    # No faults below a handler.
    "busy": lambda: (map_and_read, [], {}),
    "caught": lambda: (library.near_abort, [], dict(signal="SIGABRT", raised_again=HANDLER == "faulthandler")),
    "caught_raise": lambda: (library.near_raise, [11], dict(
        signal=SEGV, access=None, instruction=None, raised_again=HANDLER == "faulthandler")),
    "alarm": lambda: (library.near_alarm, [b"abort"], dict(signal="SIGABRT", raised_again=HANDLER == "faulthandler")),
    "alarm_fault": lambda: (library.near_alarm, [b"fault"], dict(
        signal=SEGV, fault_address="0x98", access="read", raised_again=HANDLER == "faulthandler")),
    "sent": lambda: (library.near_spin, [(PROMISE + ".ready").encode()], dict(
        signal=SEGV, access=None, instruction=None, words="sent", raised_again=HANDLER == "faulthandler")),
}


def map_and_read():
    """Memory that comes and goes all the time; it never faults."""
    while True:
        made = mmap.mmap(-1, 1 << 20)
        made[::4096] = b"x" * 256
        bytearray(1 << 22)[::4096]
        made.close()


def handle():
    if HANDLER == "faulthandler":
        import faulthandler
        faulthandler.enable(open(PROMISE + ".faulthandler", "w"))
    elif HANDLER == "python":  # It is noted, to be called when the instruction is done: never.
        for one in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL):
            signal.signal(one, lambda *arguments: None)
    elif HANDLER:
        how, *options = HANDLER.split("+")
        library.handle(how.encode(), sum(OPTIONS[option] for option in options))


def innermost(call, arguments):
    call(*arguments)


def main():
    call, arguments, promise = WAYS[WAY]()
    if WAY.startswith(("caught", "alarm")):
        library.near_caught()
    handle()
    with open(PROMISE, "w") as file:
        json.dump(promise, file)
    if "thread" in sys.argv[5:]:
        thread = threading.Thread(target=innermost, args=(call, arguments))
        thread.start()
        thread.join()
    innermost(call, arguments)


signal.signal(signal.SIGALRM, signal.SIG_DFL)
main()
