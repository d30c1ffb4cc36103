"""libpystack_core for the debuggers' Pythons, by ctypes. Knows neither gdb nor lldb.

Works with Python 3.6 and later. Importing it never fails: a debugger's Python may come without a
working ctypes; then, and when the library is missing or of another version, open_*() raise
LibraryUnusable with one sentence, and the caller hands over to the program (find_program()).
"""
import glob
import json
import os

try:
    import ctypes
except Exception as reason:  # PYTHONPATH or LD_LIBRARY_PATH of another Python: any error may come
    ctypes = None
    _no_ctypes = "%s: %s" % (type(reason).__name__, reason)

VERSION = "0.1.0"  # of the library this file was written for; major and minor must be equal
LIBRARY_NAME = "libpystack_core.so.0"
REGISTERS = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
             "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"]
MODE_MERGED, MODE_PYTHON, MODE_NATIVE = 0, 1, 2
ALL_THREADS, CRASHED_THREAD = -1, 0
READ, WRITE, EXECUTE, PERMISSIONS_KNOWN = 1, 2, 4, 8


class LibraryUnusable(Exception):
    """The library cannot be used in this debugger; the message says why."""


class Failed(Exception):
    """The library could not do it; the message is its own."""


# ---- finding ----

def _here():
    return os.path.dirname(os.path.abspath(__file__))


def _existing(candidates):
    for pattern in candidates:
        for path in sorted(glob.glob(pattern)):
            if os.path.isfile(path):
                return path
    return None


def find_library():
    """The path of the library, or its bare name, which the dynamic linker then looks for."""
    given = os.environ.get("PYSTACK_CORE_LIBRARY")
    if given:
        return given
    here = glob.escape(_here())
    folders = [here, here + "/../../lib", here + "/../../lib64", here + "/../../lib/*-linux-*",
               here + "/../build/analyzer"]
    return _existing(folder + "/" + LIBRARY_NAME for folder in folders) or LIBRARY_NAME


def find_program():
    """The path of the program pystack-core, or None."""
    given = os.environ.get("PYSTACK_CORE_PROGRAM")
    if given:
        return given
    here = glob.escape(_here())
    folders = [here, here + "/../../bin", here + "/../build/analyzer"]
    folders += [glob.escape(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    return _existing(folder + "/pystack-core" for folder in folders)


# ---- the C interface (analyzer/include/pystack_core.h) ----

if ctypes:
    READ_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint64,
                                     ctypes.c_void_p, ctypes.c_size_t)
    WRITE_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

    class _Error(ctypes.Structure):
        _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 500)]

    class _OpenOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("library_directory_count", ctypes.c_uint32),
                    ("sysroot", ctypes.c_char_p),
                    ("library_directories", ctypes.POINTER(ctypes.c_char_p)),
                    ("debug_directory", ctypes.c_char_p),
                    ("source_maps", ctypes.POINTER(ctypes.c_char_p)),
                    ("source_map_count", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]

    class _CaptureOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("mode", ctypes.c_int), ("unwinder", ctypes.c_int),
                    ("detail_hidden", ctypes.c_uint32), ("all_inlined", ctypes.c_uint32),
                    ("no_source", ctypes.c_uint32),
                    ("all_modules", ctypes.c_uint32), ("thread", ctypes.c_int32),
                    ("no_pause", ctypes.c_uint32),
                    ("threads", ctypes.POINTER(ctypes.c_int32)), ("thread_count", ctypes.c_uint32),
                    ("locals", ctypes.c_uint32), ("core_path", ctypes.c_char_p),
                    ("core_full", ctypes.c_uint32), ("tasks", ctypes.c_uint32)]

    class _PrintOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("format", ctypes.c_int), ("all", ctypes.c_uint32),
                    ("color", ctypes.c_uint32), ("outermost_first", ctypes.c_uint32),
                    ("no_group", ctypes.c_uint32), ("explain", ctypes.c_uint32),
                    ("one_line", ctypes.c_uint32)]

    class _HostMapping(ctypes.Structure):
        _fields_ = [("start", ctypes.c_uint64), ("end", ctypes.c_uint64), ("offset", ctypes.c_uint64),
                    ("path", ctypes.c_char_p), ("permissions", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32)]

    class _HostThread(ctypes.Structure):
        _fields_ = [("tid", ctypes.c_int32), ("crashed", ctypes.c_uint32),
                    ("thread_pointer", ctypes.c_uint64), ("registers", ctypes.c_uint64 * 17),
                    ("name", ctypes.c_char_p)]

    class _Host(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("pid", ctypes.c_int32), ("read", READ_FUNCTION),
                    ("context", ctypes.c_void_p), ("memory_path", ctypes.c_char_p),
                    ("executable", ctypes.c_char_p), ("mappings", ctypes.POINTER(_HostMapping)),
                    ("threads", ctypes.POINTER(_HostThread)), ("auxv", ctypes.c_void_p),
                    ("mapping_count", ctypes.c_uint32), ("thread_count", ctypes.c_uint32),
                    ("auxv_size", ctypes.c_uint32), ("signal_number", ctypes.c_int32),
                    ("signal_code", ctypes.c_int32), ("signal_sender", ctypes.c_int32),
                    ("fault_address", ctypes.c_uint64)]

    def _pointer_to(structure):
        return ctypes.POINTER(structure)

    # Every public function, its result and its arguments.
    _SIGNATURES = {
        "psc_open_core": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, _pointer_to(_OpenOptions),
                                         _pointer_to(ctypes.c_void_p), _pointer_to(_Error)]),
        "psc_open_host": (ctypes.c_int, [_pointer_to(_Host), ctypes.c_char_p,
                                         _pointer_to(_OpenOptions), _pointer_to(ctypes.c_void_p),
                                         _pointer_to(_Error)]),
        "psc_capture": (ctypes.c_int, [ctypes.c_void_p, _pointer_to(_CaptureOptions),
                                       _pointer_to(ctypes.c_void_p), _pointer_to(_Error)]),
        "psc_print": (ctypes.c_int, [ctypes.c_void_p, _pointer_to(_PrintOptions), WRITE_FUNCTION,
                                     ctypes.c_void_p, _pointer_to(_Error)]),
        "psc_close": (None, [ctypes.c_void_p]),
        "psc_trace_destroy": (None, [ctypes.c_void_p]),
        "psc_trace_warning_count": (ctypes.c_size_t, [ctypes.c_void_p]),
        "psc_trace_warning": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_size_t]),
    }

_library = None


def _fits(version):
    return version.split(".")[:2] == VERSION.split(".")[:2]


def load():
    """The library, loaded once; raises LibraryUnusable."""
    global _library
    if _library is not None:
        return _library
    if ctypes is None:
        raise LibraryUnusable("this debugger's Python has no working ctypes (%s)" % _no_ctypes)
    path = find_library()
    try:
        library = ctypes.CDLL(path)
        library.psc_version.restype = ctypes.c_char_p
        version = library.psc_version().decode()
    except (OSError, AttributeError) as reason:
        raise LibraryUnusable("%s cannot be loaded (%s); PYSTACK_CORE_LIBRARY can name it"
                              % (path, reason)) from None
    if not _fits(version):
        raise LibraryUnusable("%s is version %s, these commands are for %s" % (path, version, VERSION))
    try:
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except AttributeError as reason:
        raise LibraryUnusable("%s is not whole: %s" % (path, reason)) from None
    _library = library
    return library


def _bytes(text):
    return None if text is None else os.fsencode(text)


def _string_array(strings):
    return (ctypes.c_char_p * max(len(strings), 1))(*[os.fsencode(one) for one in strings])


# ---- what a debugger tells ----

class Mapping:
    def __init__(self, start, end, offset, path, permissions):
        self.start, self.end, self.offset = start, end, offset
        self.path, self.permissions = path, permissions


class Thread:
    def __init__(self, tid, registers, thread_pointer, name=None, crashed=False):
        self.tid, self.registers, self.thread_pointer = tid, registers, thread_pointer
        self.name, self.crashed = name, crashed


class Signal:
    def __init__(self, number=0, code=0, sender=0, address=0):
        self.number, self.code, self.sender, self.address = number, code, sender, address


class Host:
    """A stopped process as its debugger sees it.

    read(address, size) returns bytes, or raises; what it raises first is raised again when the
    library has come back. memory_path is used in its place where it can be opened.
    """

    def __init__(self, pid, mappings, threads, read=None, memory_path=None, executable=None, auxv=b"",
                 signal=None):
        self.pid, self.mappings, self.threads = pid, mappings, threads
        self.read, self.memory_path = read, memory_path
        self.executable, self.auxv, self.signal = executable, auxv, signal or Signal()


class Places:
    """Where the files of the target are on this machine, as the debugger's settings say."""

    def __init__(self, sysroot=None, library_directories=(), debug_directory=None, source_maps=()):
        self.sysroot, self.debug_directory = sysroot, debug_directory
        self.library_directories, self.source_maps = list(library_directories), list(source_maps)


def parse_maps(text):
    """The mappings of /proc/PID/maps."""
    mappings = []
    for line in text.splitlines():
        parts = line.split(None, 5)
        if len(parts) < 5:
            continue
        start, end = (int(part, 16) for part in parts[0].split("-"))
        bits = sum(bit for letter, bit in zip("rwx", (READ, WRITE, EXECUTE)) if letter in parts[1])
        mappings.append(Mapping(start, end, int(parts[2], 16), parts[5] if len(parts) > 5 else None,
                                bits | PERMISSIONS_KNOWN))
    return mappings


# ---- targets and traces ----

class _Handle:
    """Something of the library that must be given back; use it with `with`."""
    _release = None

    def __init__(self, pointer, interrupts):
        self.pointer = pointer
        self.interrupts = interrupts

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.pointer:
            getattr(load(), self._release)(self.pointer)
            self.pointer = None

    def _check(self, status, error):
        _raise_first(self.interrupts)
        if status:
            raise Failed(error.message.decode("utf-8", "replace"))


def _raise_first(interrupts):
    if interrupts:
        raise interrupts.pop(0)


class Trace(_Handle):
    _release = "psc_trace_destroy"

    def warnings(self):
        library = load()
        return [library.psc_trace_warning(self.pointer, i).decode("utf-8", "replace")
                for i in range(library.psc_trace_warning_count(self.pointer))]

    def _print(self, **settings):
        pieces = []

        def write(_, address, size):
            try:
                pieces.append(ctypes.string_at(address, size))
                return 0
            except BaseException as reason:
                self.interrupts.append(reason)
                return 1

        options = _PrintOptions(size=ctypes.sizeof(_PrintOptions), **settings)
        error = _Error()
        status = load().psc_print(self.pointer, ctypes.byref(options), WRITE_FUNCTION(write), None,
                                  ctypes.byref(error))
        self._check(status, error)
        return b"".join(pieces).decode("utf-8", "replace")

    def text(self, show_all=False, color=False, no_group=False):
        return self._print(format=0, all=int(show_all), color=int(color), no_group=int(no_group))

    def json_text(self, show_all=False):
        return self._print(format=1, all=int(show_all))

    def document(self, show_all=False):
        return json.loads(self.json_text(show_all))


class Target(_Handle):
    _release = "psc_close"

    def capture(self, thread=ALL_THREADS, threads=None, mode=MODE_MERGED, show_all=False,
                no_source=False, all_modules=False):
        """A Trace of all threads, of one (its id), or of those in the list `threads`."""
        options = _CaptureOptions(size=ctypes.sizeof(_CaptureOptions), mode=mode, thread=thread,
                                  detail_hidden=int(show_all), no_source=int(no_source),
                                  all_modules=int(all_modules))
        if threads is not None:
            options.threads = (ctypes.c_int32 * max(len(threads), 1))(*threads)
            options.thread_count = len(threads)
        pointer, error = ctypes.c_void_p(), _Error()
        status = load().psc_capture(self.pointer, ctypes.byref(options), ctypes.byref(pointer),
                                    ctypes.byref(error))
        trace = Trace(pointer, self.interrupts)
        if self.interrupts:
            trace.close()
        self._check(status, error)
        return trace


def _open(function, first, executable, places, interrupts):
    options = _OpenOptions(size=ctypes.sizeof(_OpenOptions))
    if places:
        options.sysroot = _bytes(places.sysroot)
        options.debug_directory = _bytes(places.debug_directory)
        options.library_directories = _string_array(places.library_directories)
        options.library_directory_count = len(places.library_directories)
        options.source_maps = _string_array(places.source_maps)
        options.source_map_count = len(places.source_maps)
    pointer, error = ctypes.c_void_p(), _Error()
    status = function(first, _bytes(executable), ctypes.byref(options), ctypes.byref(pointer),
                      ctypes.byref(error))
    target = Target(pointer, interrupts)
    if interrupts:
        target.close()
    target._check(status, error)
    return target


def open_core(path, executable=None, places=None):
    return _open(load().psc_open_core, os.fsencode(path), executable, places, [])


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

    return READ_FUNCTION(call)


def open_host(host, executable=None, places=None):
    library = load()
    interrupts = []
    mappings = (_HostMapping * max(len(host.mappings), 1))()
    for at, one in enumerate(host.mappings):
        mappings[at] = _HostMapping(start=one.start, end=one.end, offset=one.offset,
                                    path=_bytes(one.path), permissions=one.permissions)
    threads = (_HostThread * max(len(host.threads), 1))()
    for at, one in enumerate(host.threads):
        threads[at] = _HostThread(tid=one.tid, crashed=int(one.crashed), name=_bytes(one.name),
                                  thread_pointer=one.thread_pointer)
        threads[at].registers[:] = one.registers
    reader = _make_reader(host.read, interrupts) if host.read else READ_FUNCTION()
    auxv = ctypes.create_string_buffer(host.auxv, max(len(host.auxv), 1))
    given = _Host(size=ctypes.sizeof(_Host), pid=host.pid or 0, read=reader,
                  memory_path=_bytes(host.memory_path), executable=_bytes(host.executable),
                  mappings=mappings, mapping_count=len(host.mappings), threads=threads,
                  thread_count=len(host.threads), auxv=ctypes.addressof(auxv) if host.auxv else None,
                  auxv_size=len(host.auxv), signal_number=host.signal.number,
                  signal_code=host.signal.code, signal_sender=host.signal.sender,
                  fault_address=host.signal.address)
    target = _open(library.psc_open_host, ctypes.byref(given), executable, places, interrupts)
    target.reader = reader  # called until the target is closed
    return target
