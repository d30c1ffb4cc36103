"""Finds and loads libpystack_core, and says what its C interface is. Knows neither gdb nor lldb.

Works with Python 3.6 and later. Importing it never fails: a debugger's Python may come without a
working ctypes; then, and when the library is missing or of another version, load() raises
LibraryUnusable with one sentence.
"""
import glob
import os

try:
    import ctypes
except Exception as reason:  # PYTHONPATH or LD_LIBRARY_PATH of another Python: any error may come
    ctypes = None
    _no_ctypes = "%s: %s" % (type(reason).__name__, reason)

VERSION = "0.1.0"  # of the library this file was written for; major and minor must be equal
LIBRARY_NAME = "libpystack_core.so.0"


class LibraryUnusable(Exception):
    """The library cannot be used in this debugger; the message says why."""


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
    INTERRUPT_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    WRITE_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

    class Error(ctypes.Structure):
        _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 500)]

    class OpenOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("library_directory_count", ctypes.c_uint32),
                    ("sysroot", ctypes.c_char_p),
                    ("library_directories", ctypes.POINTER(ctypes.c_char_p)),
                    ("debug_directory", ctypes.c_char_p),
                    ("source_maps", ctypes.POINTER(ctypes.c_char_p)),
                    ("source_map_count", ctypes.c_uint32),
                    ("source_directory_count", ctypes.c_uint32),
                    ("source_directories", ctypes.POINTER(ctypes.c_char_p)),
                    ("interrupted", INTERRUPT_FUNCTION), ("interrupt_context", ctypes.c_void_p)]

    class CaptureOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("mode", ctypes.c_int), ("unwinder", ctypes.c_int),
                    ("detail_hidden", ctypes.c_uint32), ("all_inlined", ctypes.c_uint32),
                    ("no_source", ctypes.c_uint32),
                    ("all_modules", ctypes.c_uint32), ("thread", ctypes.c_int32),
                    ("no_pause", ctypes.c_uint32),
                    ("threads", ctypes.POINTER(ctypes.c_int32)), ("thread_count", ctypes.c_uint32),
                    ("locals", ctypes.c_uint32), ("core_path", ctypes.c_char_p),
                    ("core_full", ctypes.c_uint32), ("tasks", ctypes.c_uint32)]

    class PrintOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("format", ctypes.c_int), ("all", ctypes.c_uint32),
                    ("color", ctypes.c_uint32), ("outermost_first", ctypes.c_uint32),
                    ("no_group", ctypes.c_uint32), ("explain", ctypes.c_uint32),
                    ("one_line", ctypes.c_uint32)]

    class HostMapping(ctypes.Structure):
        _fields_ = [("start", ctypes.c_uint64), ("end", ctypes.c_uint64), ("offset", ctypes.c_uint64),
                    ("path", ctypes.c_char_p), ("permissions", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32)]

    class HostThread(ctypes.Structure):
        _fields_ = [("tid", ctypes.c_int32), ("crashed", ctypes.c_uint32),
                    ("thread_pointer", ctypes.c_uint64), ("registers", ctypes.c_uint64 * 17),
                    ("name", ctypes.c_char_p)]

    class Host(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("pid", ctypes.c_int32), ("read", READ_FUNCTION),
                    ("context", ctypes.c_void_p), ("memory_path", ctypes.c_char_p),
                    ("executable", ctypes.c_char_p), ("mappings", ctypes.POINTER(HostMapping)),
                    ("threads", ctypes.POINTER(HostThread)), ("auxv", ctypes.c_void_p),
                    ("mapping_count", ctypes.c_uint32), ("thread_count", ctypes.c_uint32),
                    ("auxv_size", ctypes.c_uint32), ("signal_number", ctypes.c_int32),
                    ("signal_code", ctypes.c_int32), ("signal_sender", ctypes.c_int32),
                    ("fault_address", ctypes.c_uint64)]

    def _pointer_to(structure):
        return ctypes.POINTER(structure)

    # Every public function, its result and its arguments.
    _SIGNATURES = {
        "psc_open_core": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, _pointer_to(OpenOptions),
                                         _pointer_to(ctypes.c_void_p), _pointer_to(Error)]),
        "psc_open_debugger": (ctypes.c_int, [_pointer_to(Host), ctypes.c_char_p,
                                         _pointer_to(OpenOptions), _pointer_to(ctypes.c_void_p),
                                         _pointer_to(Error)]),
        "psc_capture": (ctypes.c_int, [ctypes.c_void_p, _pointer_to(CaptureOptions),
                                       _pointer_to(ctypes.c_void_p), _pointer_to(Error)]),
        "psc_print": (ctypes.c_int, [ctypes.c_void_p, _pointer_to(PrintOptions), WRITE_FUNCTION,
                                     ctypes.c_void_p, _pointer_to(Error)]),
        "psc_close": (None, [ctypes.c_void_p]),
        "psc_trace_destroy": (None, [ctypes.c_void_p]),
        "psc_trace_warning_count": (ctypes.c_size_t, [ctypes.c_void_p]),
        "psc_trace_warning": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_size_t]),
        "psc_trace_python_frame": (ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]),
        "psc_frame_value": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, WRITE_FUNCTION,
                                           ctypes.c_void_p, _pointer_to(ctypes.c_int), _pointer_to(Error)]),
        "psc_frame_names": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, WRITE_FUNCTION,
                                           ctypes.c_void_p, _pointer_to(Error)]),
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
