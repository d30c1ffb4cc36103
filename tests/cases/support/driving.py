"""Drives a program from system call to system call, to end it or to fail it at a chosen one."""
import ctypes
import os
import signal
import struct
import subprocess

PTRACE_TRACEME, PTRACE_POKEUSER, PTRACE_CONT, PTRACE_SYSCALL = 0, 6, 7, 24
PTRACE_SETOPTIONS, PTRACE_GET_SYSCALL_INFO = 0x4200, 0x420e
OPTIONS = 0x100001 | 0x08  # EXITKILL, TRACESYSGOOD, TRACECLONE
ORIG_RAX, RAX = 15 * 8, 10 * 8  # struct user_regs_struct
ENTRY, EXIT = 1, 2
CALL_STOP = signal.SIGTRAP | 0x80
WALL = 0x40000000

# x86-64 numbers of what the tests name.
CALLS = {0: "read", 1: "write", 9: "mmap", 12: "brk", 17: "pread64", 20: "writev", 46: "sendmsg", 61: "wait4",
         101: "ptrace", 310: "process_vm_readv"}
REQUESTS = {0x4206: "seize", 0x4207: "interrupt", 0x4204: "registers", 17: "detach"}

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Call:
    """A system call that is about to be made by a driven program."""

    def __init__(self, number, tid, name, pid):
        self.number, self.tid, self.name, self.pid = number, tid, name, pid
        self.error = None

    def fail(self, error):
        """It is not made, and returns this errno; brk returns the old end of the heap."""
        self.error = error
        libc.ptrace(PTRACE_POKEUSER, self.tid, ORIG_RAX, ctypes.c_void_p(2**64 - 1))


def name_call(number, first_argument):
    if CALLS.get(number) == "ptrace":
        return REQUESTS.get(first_argument, "ptrace")
    return CALLS.get(number, "other")


def read_call(tid):
    """(entry, number, first argument) or (exit, result, ...)"""
    info = ctypes.create_string_buffer(88)
    if libc.ptrace(PTRACE_GET_SYSCALL_INFO, tid, ctypes.c_void_p(88), ctypes.addressof(info)) <= 0:
        return None
    return (info.raw[0], *struct.unpack_from("<QQ", info.raw, 24))


def drive(command, visit, **more):
    """
    Runs the command and calls visit(call) before each system call of it and of its threads, counted
    from 1. Returns the exit code; negative: the signal that ended it.
    """
    process = subprocess.Popen(command, preexec_fn=lambda: libc.ptrace(PTRACE_TRACEME, 0, None, None), **more)
    os.waitpid(process.pid, WALL)
    libc.ptrace(PTRACE_SETOPTIONS, process.pid, None, OPTIONS)
    libc.ptrace(PTRACE_SYSCALL, process.pid, None, None)
    count, pending, heap_end = 0, {}, 0
    while True:
        tid, status = os.waitpid(-1, WALL)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if tid != process.pid:
                continue
            process.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
            return process.returncode
        deliver = os.WSTOPSIG(status)
        if deliver == CALL_STOP:
            deliver, call = 0, read_call(tid)
            if call and call[0] == ENTRY:
                count += 1
                pending[tid] = Call(count, tid, name_call(*call[1:]), process.pid)
                visit(pending[tid])
            elif call and call[0] == EXIT and tid in pending:
                heap = pending[tid].name == "brk"
                if pending[tid].error:
                    result = heap_end if heap else 2**64 - pending[tid].error
                    libc.ptrace(PTRACE_POKEUSER, tid, RAX, ctypes.c_void_p(result))
                elif heap:
                    heap_end = call[1]
        elif deliver in (signal.SIGTRAP, signal.SIGSTOP):
            deliver = 0  # exec and clone
        libc.ptrace(PTRACE_SYSCALL, tid, None, deliver)
