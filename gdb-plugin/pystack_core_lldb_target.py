"""What lldb has open, as a target of the library: a core file's path, or a process that lldb holds."""
import os
import re

import lldb

import pystack_core_library as psc
from pystack_core_session import Wrong

ELF_TYPE_CORE = 4
# Signals whose default is to end the process with a core file (signal(7)), but for SIGTRAP, which
# breakpoints use.
DEADLY_SIGNALS = {3, 4, 6, 7, 8, 11, 24, 25, 31}
STOPPED = (lldb.eStateStopped, lldb.eStateCrashed, lldb.eStateSuspended)
GONE = (lldb.eStateExited, lldb.eStateDetached, lldb.eStateInvalid, lldb.eStateUnloaded)


# ---- core files ----

def mapped_cores():
    """The core files that this lldb has mapped: it does not say which one a target was made of."""
    found = set()
    with open("/proc/self/maps") as file:
        paths = {line.split(None, 5)[5].rstrip("\n") for line in file if "/" in line}
    for path in paths:
        try:
            with open(path, "rb") as file:
                header = file.read(18)
        except OSError:
            continue
        if header[:4] == b"\x7fELF" and header[16] == ELF_TYPE_CORE:
            found.add(path)
    return sorted(found)


def core_path(process):
    if hasattr(process, "GetCoreFile"):  # lldb 17
        path = process.GetCoreFile().fullpath
        if path:
            return path
    paths = mapped_cores()
    if len(paths) != 1:
        raise Wrong("lldb does not say which core file this target is of (%d are open)." % len(paths))
    return paths[0]


def kind(process):
    if "core" in (process.GetPluginName() or ""):
        return "core"
    return "native" if process.GetTarget().GetPlatform().GetName() == "host" else "remote"


def executable(target):
    path = target.GetExecutable().fullpath
    return path if path and os.path.isfile(path) else None


def check_process(process):
    if not process or not process.IsValid() or process.GetState() in GONE:
        raise Wrong("There is no process and no core file.")
    if process.GetState() not in STOPPED:
        raise Wrong("The process is running; interrupt it first.")


# ---- a process that lldb holds ----

def read_siginfo(thread):
    """The signal that the thread has stopped for, when it is a deadly one."""
    if thread.GetStopReason() not in (lldb.eStopReasonSignal, lldb.eStopReasonException):
        return None
    number = thread.GetStopReasonDataAtIndex(0) if thread.GetStopReasonDataCount() else 0
    if number not in DEADLY_SIGNALS:
        return None
    # lldb 15; what the kernel gave: si_signo, si_errno, si_code, then what the code says.
    info = thread.GetSiginfo() if hasattr(thread, "GetSiginfo") else None
    if info is None or not info.IsValid() or info.GetError().Fail():
        return psc.Signal(number)
    error = lldb.SBError()
    code = info.GetChildMemberWithName("si_code").GetValueAsSigned(0)
    if code <= 0:
        sender = info.GetValueForExpressionPath("._sifields._kill.si_pid").GetValueAsSigned(error, 0)
        return psc.Signal(number, code, sender=sender if error.Success() else 0)
    address = info.GetValueForExpressionPath("._sifields._sigfault.si_addr").GetValueAsUnsigned(error, 0)
    return psc.Signal(number, code, address=address) if error.Success() else psc.Signal(number)


def held_thread(thread, machine):
    frame = thread.GetFrameAtIndex(0)
    registers = []
    for name in machine.registers:
        value = frame.FindRegister(name)
        if not value.IsValid():
            raise Wrong("This is not a process of %s; only that is handled." % psc.MACHINE_TITLES)
        registers.append(value.GetValueAsUnsigned())
    base = frame.FindRegister(machine.thread_pointer)  # lldb 14 has no fs_base: then the library looks for it
    return psc.Thread(thread.GetThreadID(), registers, base.GetValueAsUnsigned() if base.IsValid() else 0,
                      name=thread.GetName())


def held_process(process):
    if kind(process) != "native":
        raise Wrong("Only processes on this machine and core files are handled.")
    machine = psc.find_machine(process.GetTarget().GetTriple().split("-")[0])
    if machine is None:
        raise Wrong("This is not a process of %s; only that is handled." % psc.MACHINE_TITLES)
    pid = process.GetProcessID()
    threads, signal = [], psc.Signal()
    for thread in process:
        one = held_thread(thread, machine)
        found = read_siginfo(thread)
        if found and not signal.number:
            signal = found
            one.crashed = True
        threads.append(one)

    def read(address, size):
        error = lldb.SBError()
        data = process.ReadMemory(address, size, error)
        return data if error.Success() else b""

    try:
        with open("/proc/%d/maps" % pid, "rb") as file:
            mappings = psc.parse_maps(os.fsdecode(file.read()))
        with open("/proc/%d/auxv" % pid, "rb") as file:
            auxv = file.read()
    except OSError as reason:
        raise Wrong("The process cannot be read: %s." % reason) from None
    return psc.HeldProcess(pid, mappings, threads, read=read, memory_path="/proc/%d/mem" % pid, auxv=auxv,
                           signal=signal, machine=machine)


# ---- settings ----

def setting(debugger, name):
    values = lldb.SBDebugger.GetInternalVariableValue(name, debugger.GetInstanceName())
    return [values.GetStringAtIndex(i) for i in range(values.GetSize())]


def file_settings(debugger):
    maps = [re.match(r'^\[\d+\] "(.*)" -> "(.*)"$', line) for line in setting(debugger, "target.source-map")]
    folders = setting(debugger, "target.debug-file-search-paths")
    return psc.FileSettings(library_directories=setting(debugger, "target.exec-search-paths"),
                            debug_directory=folders[0] if folders and folders[0].startswith("/") else None,
                            source_maps=["%s=%s" % one.groups() for one in maps if one])
