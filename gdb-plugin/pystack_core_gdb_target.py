"""What gdb has open, as a target of the library: a core file's path, or a process that gdb holds."""
import os
import re
from typing import List

import gdb

import pystack_core_library as psc
from pystack_core_session import Wrong

# Signals whose default is to end the process with a core file (signal(7)), but for SIGTRAP, which
# breakpoints use.
DEADLY_SIGNALS = {3, 4, 6, 7, 8, 11, 24, 25, 31}
SIGINFO_THREAD_LIMIT = 100


# ---- what gdb knows ----

def parameter(name, otherwise=None):
    try:
        return gdb.parameter(name)
    except (gdb.error, RuntimeError):
        return otherwise


def ask(command):
    return gdb.execute(command, to_string=True)


def connection_kind():
    """"core", "native", "remote", or another name of gdb's; None without a target."""
    inferior = gdb.selected_inferior()
    if hasattr(inferior, "connection"):  # gdb 12
        kind = inferior.connection.type if inferior.connection else None
        return "remote" if kind == "extended-remote" else kind
    text = ask("info target")
    for words, kind in (("Local core dump file:", "core"), ("Remote ", "remote"), ("Native ", "native"),
                        ("child process", "native")):
        if words in text:
            return kind
    return None


def core_path():
    found = re.search(r"Local core dump file:\s*[`'](.*)', file type", ask("info target"))
    if not found:
        raise Wrong("gdb does not say which core file it has open.")
    return found.group(1)


def file_settings():
    """gdb's settings of where files are, as the library takes them."""
    sysroot = parameter("sysroot") or ""
    if sysroot.startswith("target:"):
        sysroot = sysroot[len("target:"):]
    inferior = gdb.selected_inferior()
    if sysroot in ("", "/") and connection_kind() == "native":
        sysroot = foreign_root(inferior.pid)
    maps = re.findall(r"^  `(.*)' -> `(.*)'\.$", ask("show substitute-path"), re.M)
    separate = (parameter("debug-file-directory") or "").split(os.pathsep)
    libraries = (parameter("solib-search-path") or "").split(os.pathsep)
    return psc.FileSettings(sysroot=sysroot if sysroot not in ("", "/") else None,
                            library_directories=[one for one in libraries if one],
                            debug_directory=separate[0] or None,
                            source_maps=["%s=%s" % one for one in maps])


def foreign_root(pid):
    """The root of a process with a mount namespace of its own (a container), else None."""
    try:
        here, there = (os.stat("/proc/%s/ns/mnt" % one) for one in ("self", pid))
    except OSError:
        return None
    return None if here.st_ino == there.st_ino else "/proc/%d/root" % pid


def executable():
    name = gdb.current_progspace().filename
    return name if name and os.path.isfile(name) else None


def check_target():
    inferior = gdb.selected_inferior()
    if not inferior.pid and not inferior.threads():
        raise Wrong("There is no process and no core file.")


def lwp_of(thread):
    return thread.ptid[1] or thread.ptid[0]


def selected_thread():
    thread = gdb.selected_thread()
    if thread is None or not thread.is_valid():
        raise Wrong("No thread is selected.")
    return thread


# ---- a process that gdb holds ----

class keep_selection:
    """gdb's selected thread and frame are the same afterwards."""

    def __enter__(self):
        self.thread = gdb.selected_thread()
        try:
            self.frame = gdb.selected_frame()
        except gdb.error:
            self.frame = None

    def __exit__(self, *_):
        if self.thread is not None and self.thread.is_valid():
            self.thread.switch()
            if self.frame is not None and self.frame.is_valid():
                self.frame.select()


def read_register(frame, name):
    return int(frame.read_register(name)) & 0xffffffffffffffff


def read_siginfo():
    """The signal that the selected thread has stopped for, when it is a deadly one."""
    try:
        info = gdb.parse_and_eval("$_siginfo")
        number, code = int(info["si_signo"]), int(info["si_code"])
        if number not in DEADLY_SIGNALS:
            return None
        fields = info["_sifields"]
        if code <= 0:
            return psc.Signal(number, code, sender=int(fields["_kill"]["si_pid"]))
        return psc.Signal(number, code, address=int(fields["_sigfault"]["si_addr"]) & 0xffffffffffffffff)
    except gdb.error:
        return None


def find_machine(frame):
    name = frame.architecture().name()
    machine = psc.find_machine(name)
    if machine is None:
        raise Wrong("This is a process of %s; only %s is handled." % (name, psc.MACHINE_TITLES))
    return machine


def held_thread(thread, frame, machine):
    registers = [read_register(frame, name) for name in machine.registers]
    try:
        thread_pointer = read_register(frame, machine.thread_pointer)
    except (gdb.error, ValueError):
        thread_pointer = 0
    return psc.Thread(lwp_of(thread), registers, thread_pointer, name=thread.name)


def held_threads(inferior):
    """All threads that are stopped, their machine, the signal that one of them died of, how many run."""
    listed: List[psc.Thread] = []
    signal, running, machine = None, 0, None
    with keep_selection():
        selected = gdb.selected_thread()
        for thread in sorted(inferior.threads(), key=lambda one: (one != selected, one.num)):
            if not thread.is_valid() or thread.is_running():
                running += 1
                continue
            thread.switch()
            frame = gdb.newest_frame()
            machine = find_machine(frame)
            one = held_thread(thread, frame, machine)
            if signal is None and len(listed) < SIGINFO_THREAD_LIMIT:
                signal = read_siginfo()
                one.crashed = signal is not None
            listed.append(one)
    return listed, machine, signal, running


MAPPING_LINE = re.compile(r"^[ \t]*0x([0-9a-f]+)[ \t]+0x([0-9a-f]+)[ \t]+0x[0-9a-f]+[ \t]+0x([0-9a-f]+)"
                          r"(?:[ \t]+([r-][w-][x-][sp-]))?(?:[ \t]+([^ \t\n].*?))?[ \t]*$", re.M)


def remote_mappings():
    try:
        text = ask("info proc mappings")
    except gdb.error as reason:
        raise Wrong("The target does not list its mappings: %s" % reason) from None
    mappings = []
    for start, end, offset, letters, path in MAPPING_LINE.findall(text):
        mappings.append(psc.Mapping(int(start, 16), int(end, 16), int(offset, 16), path or None,
                                    psc.parse_permissions(letters)))
    return mappings


def remote_auxv():
    try:
        text = ask("info auxv")
    except gdb.error:
        return b""
    words = []
    for number, value in re.findall(r"^(\d+)\s.*?\s(0x[0-9a-f]+|\d+)(?: \".*\")?$", text, re.M):
        words += [int(number), int(value, 0)]
    return b"".join(word.to_bytes(8, "little") for word in words)


def read_proc(pid, name):
    with open("/proc/%d/%s" % (pid, name), "rb") as file:
        return file.read()


def held_process():
    inferior = gdb.selected_inferior()
    listed, machine, signal, running = held_threads(inferior)
    if not listed:
        raise Wrong("The process is running; interrupt it first.")

    def read(start, size):
        return bytes(inferior.read_memory(start, size))

    process = psc.HeldProcess(inferior.pid, [], listed, read=read, signal=signal, machine=machine)
    # While gdb goes back in a recording, memory is what gdb says it was.
    if connection_kind() == "native" and gdb.current_recording() is None:
        try:
            maps = read_proc(inferior.pid, "maps")
            process.auxv = read_proc(inferior.pid, "auxv")
        except OSError as reason:
            raise Wrong("The process cannot be read: %s" % reason) from None
        process.mappings = psc.parse_maps(os.fsdecode(maps))
        process.memory_path = "/proc/%d/mem" % inferior.pid
    else:
        process.mappings = remote_mappings()
        process.auxv = remote_auxv()
    if running:
        gdb.write("warning: %d thread%s running and left out.\n"
                  % (running, " is" if running == 1 else "s are"), gdb.STDERR)
    return process


def open_target():
    if connection_kind() == "core":
        return psc.open_core(core_path(), executable(), file_settings())
    return psc.open_held_process(held_process(), executable(), file_settings())
