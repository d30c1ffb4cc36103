"""Targets and traces of libpystack_core for the debuggers' Pythons. Knows neither gdb nor lldb."""
import os
import sys
from typing import Any, Callable, List, Optional

import pystack_core_header as c
import pystack_core_records as records
from pystack_core_header import ctypes
from pystack_core_loader import LibraryUnusable, load  # noqa: F401

SCOPES = {c.PSC_SCOPE_LOCAL: "local", c.PSC_SCOPE_CLOSURE: "closure", c.PSC_SCOPE_GLOBAL: "global",
          c.PSC_SCOPE_BUILTIN: "builtin"}
PERMISSIONS = {"r": c.PSC_DEBUGGER_READ, "w": c.PSC_DEBUGGER_WRITE, "x": c.PSC_DEBUGGER_EXECUTE}


class Failed(Exception):
    """The library could not do it; the message is its own."""


def _bytes(text):
    return None if text is None else os.fsencode(text)


def _string_array(strings):
    return (ctypes.c_char_p * max(len(strings), 1))(*[os.fsencode(one) for one in strings])


# ---- what a debugger tells ----

class Machine:
    """What the debuggers call a machine and its registers; `number` is e_machine."""

    def __init__(self, number, title, debugger_names, registers, thread_pointer):
        self.number, self.title, self.debugger_names = number, title, debugger_names
        self.registers, self.thread_pointer = registers, thread_pointer


X86_64 = Machine(62, "x86-64", ["i386:x86-64", "x86_64"],
                 ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                  "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"], "fs_base")
MACHINES = [X86_64]
MACHINE_TITLES = " and ".join(one.title for one in MACHINES)


def find_machine(debugger_name):
    """The row of MACHINES that a debugger calls so, or None."""
    return next((one for one in MACHINES if debugger_name in one.debugger_names), None)


class Mapping:
    def __init__(self, start, end, offset, path, permissions):
        self.start, self.end, self.offset = start, end, offset
        self.path, self.permissions = path, permissions


class Thread:
    """`registers` are in the order of Machine.registers."""

    def __init__(self, tid, registers, thread_pointer, name=None, crashed=False):
        self.tid, self.registers, self.thread_pointer = tid, registers, thread_pointer
        self.name, self.crashed = name, crashed


class Signal:
    def __init__(self, number=0, code=0, sender=0, address=0):
        self.number, self.code, self.sender, self.address = number, code, sender, address


class HeldProcess:
    """A stopped process as its debugger sees it.

    read(address, size) returns bytes, or raises; what it raises first is raised again when the
    library has come back. memory_path is used in its place where it can be opened.
    """

    def __init__(self, pid, mappings, threads, read=None, memory_path=None, executable=None, auxv=b"",
                 signal=None, machine=X86_64):
        self.machine = machine
        self.pid, self.mappings, self.threads = pid, mappings, threads
        self.read, self.memory_path = read, memory_path
        self.executable, self.auxv, self.signal = executable, auxv, signal or Signal()


class FileSettings:
    """Where the files of the target are on this machine, as the debugger's settings say."""

    def __init__(self, sysroot=None, library_directories=(), debug_directory=None, source_maps=()):
        self.sysroot, self.debug_directory = sysroot, debug_directory
        self.library_directories, self.source_maps = list(library_directories), list(source_maps)


def parse_permissions(letters):
    """Bits of "r-xp"; "" when they are not known."""
    bits = sum(bit for letter, bit in PERMISSIONS.items() if letter in letters)
    return bits | (c.PSC_DEBUGGER_PERMISSIONS_KNOWN if letters else 0)


def parse_maps(text):
    """The mappings of /proc/PID/maps."""
    mappings = []
    for line in text.splitlines():
        parts = line.split(None, 5)
        if len(parts) < 5:
            continue
        start, end = (int(part, 16) for part in parts[0].split("-"))
        mappings.append(Mapping(start, end, int(parts[2], 16), parts[5] if len(parts) > 5 else None,
                                parse_permissions(parts[1])))
    return mappings


# ---- calls ----

_asks: List[Callable[[], bool]] = []


def ask_for_interrupts(question):
    """For a debugger whose Ctrl-C is no KeyboardInterrupt: question() is true when it was pressed."""
    _asks[:] = [question]


def check_interrupt():
    if any(question() for question in _asks):
        raise KeyboardInterrupt


def _call(name, interrupts, *arguments):
    """Calls the library. What its callbacks met is in `interrupts` then.

    An interrupt that comes where a callback of ours begins goes to Python's hook for such: it is kept too.
    """
    function = getattr(load(), name)
    hook: Any = getattr(sys, "unraisablehook", None)

    def keep(report):
        if issubclass(report.exc_type, KeyboardInterrupt):
            interrupts.append(KeyboardInterrupt())
        else:
            hook(report)

    if hook is None:  # Python 3.7
        return function(*arguments)
    sys.unraisablehook = keep
    try:
        return function(*arguments)
    finally:
        sys.unraisablehook = hook


def _make_interrupt(interrupts):
    def call(_):
        try:
            if not interrupts:
                check_interrupt()
        except BaseException as reason:
            interrupts.append(reason)
        return 1 if interrupts else 0

    return c.OpenOptionsInterrupted(call)


def _make_writer(take, interrupts):
    def write(_, address, size):
        try:
            if not interrupts:
                check_interrupt()
                take(ctypes.string_at(address, size))
        except BaseException as reason:
            interrupts.append(reason)
        return 1 if interrupts else 0

    return c.WriteFn(write)


def _make_reader(read, interrupts):
    def call(_, address, buffer, size):
        # After the first interrupt nothing is read any more, so that the library comes back soon.
        if interrupts:
            return 0
        try:
            data = read(address, size)
            ctypes.memmove(buffer, data, min(len(data), size))
            return min(len(data), size)
        except KeyboardInterrupt as reason:
            interrupts.append(reason)
        except Exception:
            pass  # memory that is not there
        return 0

    return c.DebuggerRead(call)


# ---- targets and traces ----

class _Handle:
    """Something of the library that must be given back; use it with `with`."""
    _release = ""  # the function that gives it back
    kept: Any = None  # what the library calls until it is closed

    def __init__(self, interrupts):
        self.pointer: Optional[ctypes.c_void_p] = ctypes.c_void_p()
        self.interrupts = interrupts

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def close(self):
        pointer, self.pointer = self.pointer, None
        if pointer:
            getattr(load(), self._release)(pointer)

    def _run(self, name, *arguments):
        """Calls the library with an error behind the arguments."""
        error = c.Error()
        status = _call(name, self.interrupts, *arguments, ctypes.byref(error))
        if self.interrupts:
            reason = self.interrupts[0]
            del self.interrupts[:]
            raise reason
        if status:
            raise Failed(error.message.decode("utf-8", "replace"))

    def _make(self, made, name, *arguments):
        """Calls the library for a new handle, which is put into `made`."""
        try:
            self._run(name, *arguments, ctypes.byref(made.pointer))
        except BaseException:
            made.close()
            raise
        return made

    def _text(self, name, first, last):
        """Calls the library for a text; arguments up to where the writer comes, and those behind its context."""
        pieces: List[bytes] = []
        self._run(name, *first, _make_writer(pieces.append, self.interrupts), None, *last)
        return b"".join(pieces).decode("utf-8", "replace")


class Trace(_Handle):
    _release = "psc_trace_destroy"

    def warnings(self):
        library = load()
        return [library.psc_trace_warning(self.pointer, i).decode("utf-8", "replace")
                for i in range(library.psc_trace_warning_count(self.pointer))]

    def _print(self, **settings):
        options = c.PrintOptions(size=ctypes.sizeof(c.PrintOptions), **settings)
        return self._text("psc_print", [self.pointer, ctypes.byref(options)], [])

    def python_frame(self, thread, frame):
        """Where that frame of document(show_all=True) is in the target; 0 when it is not one of Python."""
        return load().psc_trace_python_frame(self.pointer, thread, frame)

    def text(self, show_all=False, color=False, no_group=False, no_fold=False, max_frames=0):
        return self._print(format=c.PSC_FORMAT_TEXT, all=int(show_all), color=int(color), no_group=int(no_group),
                           no_fold=int(no_fold), max_frames=max_frames)

    def json_text(self, show_all=False):
        return self._print(format=c.PSC_FORMAT_JSON, all=int(show_all))

    def document(self, show_all=False):
        """The JSON object; its frames are records."""
        reader = records.Reader()
        options = c.PrintOptions(size=ctypes.sizeof(c.PrintOptions), format=c.PSC_FORMAT_JSON,
                                 all=int(show_all))
        writer = _make_writer(reader.feed, self.interrupts)
        self._run("psc_print", self.pointer, ctypes.byref(options), writer, None)
        return reader.document()


class Heap(_Handle):
    _release = "psc_heap_close"

    def text(self, as_json=False, limit=0, **wanted):
        """What psc_heap_print() writes. `wanted` has some of largest, type, where, object, held, findings."""
        contents = 0
        for name, bit in (("largest", c.PSC_HEAP_LARGEST), ("type", c.PSC_HEAP_LISTED), ("where", c.PSC_HEAP_LISTED),
                          ("object", c.PSC_HEAP_OBJECT), ("held", c.PSC_HEAP_HOLDERS),
                          ("findings", c.PSC_HEAP_FINDINGS)):
            contents |= bit if wanted.get(name) else 0
        options = c.HeapPrintOptions(size=ctypes.sizeof(c.HeapPrintOptions), contents=contents, limit=limit,
                                     format=c.PSC_HEAP_JSON if as_json else c.PSC_HEAP_TEXT,
                                     type=_bytes(wanted.get("type")), where=_bytes(wanted.get("where")),
                                     object=wanted.get("object") or 0, held=_bytes(wanted.get("held")))
        return self._text("psc_heap_print", [self.pointer, ctypes.byref(options)], [None])

    def warnings(self):
        library = load()
        return [library.psc_heap_warning(self.pointer, i).decode("utf-8", "replace")
                for i in range(library.psc_heap_warning_count(self.pointer))]


class Target(_Handle):
    _release = "psc_close"

    def heap(self):
        """A Heap: all objects; it is read now, which may take seconds."""
        return self._make(Heap(self.interrupts), "psc_heap_open", self.pointer, None)

    def capture(self, threads=None, show_all=False, no_source=False, all_modules=False, with_locals=False,
                limits=None, with_tasks=False):
        """A Trace of all threads, or of those whose ids are in the list `threads`; limits as of value().

        with_locals is a bool, or "python"."""
        options = c.CaptureOptions(size=ctypes.sizeof(c.CaptureOptions), detail_hidden=int(show_all),
                                   no_source=int(no_source), all_modules=int(all_modules),
                                   tasks=int(with_tasks),
                                   locals=c.PSC_LOCALS_PYTHON if with_locals == "python" else int(bool(with_locals)),
                                   **{"value_" + name: number for name, number in (limits or {}).items()})
        if threads is not None:
            options.threads = c.PSC_THREADS_LISTED
            options.thread_ids = (ctypes.c_int32 * max(len(threads), 1))(*threads)
            options.thread_id_count = len(threads)
        return self._make(Trace(self.interrupts), "psc_capture", self.pointer, ctypes.byref(options))

    def value(self, frame, what, limits=None):
        """(scope, text) of a name, or of what it leads to, in a Python frame (Trace.python_frame()).

        limits has some of length, items and depth, as struct psc_value_limits.
        """
        scope = ctypes.c_int()
        given = c.ValueLimits(size=ctypes.sizeof(c.ValueLimits), **(limits or {}))
        text = self._text("psc_frame_value_within", [self.pointer, frame, _bytes(what), ctypes.byref(given)],
                          [ctypes.byref(scope)])
        return SCOPES[scope.value], text

    def names(self, frame, what=None):
        """The names there, or those of the attributes of a value."""
        return self._text("psc_frame_names", [self.pointer, frame, _bytes(what)], []).split("\n")[:-1]


def _open(name, first, executable, settings, interrupts, kept):
    options = c.OpenOptions(size=ctypes.sizeof(c.OpenOptions), interrupted=_make_interrupt(interrupts))
    if settings:
        options.sysroot = _bytes(settings.sysroot)
        options.debug_directory = _bytes(settings.debug_directory)
        options.library_directories = _string_array(settings.library_directories)
        options.library_directory_count = len(settings.library_directories)
        options.source_maps = _string_array(settings.source_maps)
        options.source_map_count = len(settings.source_maps)
    target = Target(interrupts)
    target.kept = (options, kept)
    return target._make(target, name, first, _bytes(executable), ctypes.byref(options))


def open_core(path, executable=None, settings=None):
    load()
    return _open("psc_open_core", os.fsencode(path), executable, settings, [], None)


def open_held_process(process, executable=None, settings=None):
    load()
    interrupts: List[BaseException] = []
    mappings = (c.DebuggerMapping * max(len(process.mappings), 1))()
    for at, one in enumerate(process.mappings):
        mappings[at] = c.DebuggerMapping(start=one.start, end=one.end, offset=one.offset,
                                         path=_bytes(one.path), permissions=one.permissions)
    threads = (c.DebuggerThread * max(len(process.threads), 1))()
    for at, one in enumerate(process.threads):
        threads[at] = c.DebuggerThread(tid=one.tid, crashed=int(one.crashed), name=_bytes(one.name),
                                       thread_pointer=one.thread_pointer, register_count=len(one.registers),
                                       registers=(ctypes.c_uint64 * len(one.registers))(*one.registers))
    reader = _make_reader(process.read, interrupts) if process.read else c.DebuggerRead()  # type: ignore[call-overload]
    auxv = ctypes.create_string_buffer(process.auxv, max(len(process.auxv), 1))
    given = c.Debugger(
        size=ctypes.sizeof(c.Debugger), pid=process.pid or 0, read=reader,
        memory_path=_bytes(process.memory_path), executable=_bytes(process.executable),
        machine=process.machine.number,
        mappings=mappings, mapping_count=len(process.mappings), mapping_size=ctypes.sizeof(c.DebuggerMapping),
        threads=threads, thread_count=len(process.threads), thread_size=ctypes.sizeof(c.DebuggerThread),
        auxv=ctypes.addressof(auxv) if process.auxv else None, auxv_size=len(process.auxv),
        signal_number=process.signal.number, signal_code=process.signal.code,
        signal_sender=process.signal.sender, fault_address=process.signal.address)
    return _open("psc_open_debugger", ctypes.byref(given), executable, settings, interrupts, reader)
