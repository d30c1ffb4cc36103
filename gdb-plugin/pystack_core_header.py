"""The C interface of the library: made from pystack_core.h by tools/generate_header.py, do not edit.

Importing it never fails: a debugger's Python may come without a working ctypes; then ctypes is None
and NO_CTYPES says why.
"""
try:
    import ctypes
    NO_CTYPES = None
except Exception as reason:  # PYTHONPATH or LD_LIBRARY_PATH of another Python: any error may come
    ctypes = None  # type: ignore[assignment]
    NO_CTYPES = "%s: %s" % (type(reason).__name__, reason)

VERSION = "0.1.0"

# enum psc_status
PSC_OK = 0
PSC_ERR_ARGUMENT = 1
PSC_ERR_MEMORY = 2
PSC_ERR_IO = 3
PSC_ERR_FORMAT = 4
PSC_ERR_UNSUPPORTED = 5
PSC_ERR_NOT_FOUND = 6
PSC_ERR_FAULT = 7
PSC_ERR_LIMIT = 8
PSC_ERR_INTERRUPTED = 9

# enum psc_fetched

# enum psc_notes_reads
PSC_NOTES_READS_NOT = 0
PSC_NOTES_READS_ALL = 1
PSC_NOTES_READS_REDACTED = 2

# enum psc_debugger_permission
PSC_DEBUGGER_READ = 1
PSC_DEBUGGER_WRITE = 2
PSC_DEBUGGER_EXECUTE = 4
PSC_DEBUGGER_PERMISSIONS_KNOWN = 8

# enum psc_evaluated_thread
PSC_EVALUATED_CRASHED = 0
PSC_EVALUATED_MAIN = -1

# enum psc_scope
PSC_SCOPE_LOCAL = 0
PSC_SCOPE_CLOSURE = 1
PSC_SCOPE_GLOBAL = 2
PSC_SCOPE_BUILTIN = 3

# enum psc_mode
PSC_MODE_MERGED = 0
PSC_MODE_PYTHON = 1
PSC_MODE_NATIVE = 2

# enum psc_unwinder
PSC_UNWINDER_LIBUNWIND = 0
PSC_UNWINDER_LIBDW = 1

# enum psc_threads
PSC_THREADS_ALL = 0
PSC_THREADS_CRASHED = 1
PSC_THREADS_LISTED = 2

# enum psc_locals
PSC_LOCALS_NONE = 0
PSC_LOCALS_ALL = 1
PSC_LOCALS_PYTHON = 2

# enum psc_target_kind
PSC_TARGET_CORE = 0
PSC_TARGET_PROCESS = 1

# enum psc_file_kind
PSC_FILE_EXECUTABLE = 0
PSC_FILE_LIBRARY = 1
PSC_FILE_DEBUG = 2
PSC_FILE_CYTHON = 3
PSC_FILE_SOURCE = 4

# enum psc_file_state
PSC_FILE_FOUND = 0
PSC_FILE_MISSING = 1
PSC_FILE_MISMATCH = 2

# enum psc_running_list
PSC_RUNNING_MEMORY = 0
PSC_RUNNING_PACKAGES = 1
PSC_RUNNING_ENVIRONMENT = 2

# enum psc_thread_state
PSC_THREAD_CRASHED = 1 << 0
PSC_THREAD_HOLDS_GIL = 1 << 1
PSC_THREAD_WAITS_FOR_GIL = 1 << 2
PSC_THREAD_COLLECTING = 1 << 3
PSC_THREAD_MAIN = 1 << 4
PSC_THREAD_NO_PYTHON = 1 << 5
PSC_THREAD_FINALIZING = 1 << 6
PSC_THREAD_IDLE = 1 << 7
PSC_THREAD_TERMINATED = 1 << 8

# enum psc_frame_kind
PSC_FRAME_PYTHON = 0
PSC_FRAME_CYTHON = 1
PSC_FRAME_NATIVE = 2
PSC_FRAME_GAP = 3

# enum psc_line_source
PSC_LINE_NONE = 0
PSC_LINE_CODE = 1
PSC_LINE_DWARF = 2
PSC_LINE_C_FILE = 3
PSC_LINE_XML = 4
PSC_LINE_MACHINE_CODE = 5
PSC_LINE_ESTIMATE = 6

# enum psc_trust
PSC_TRUST_CONTEXT = 0
PSC_TRUST_CFI = 1
PSC_TRUST_FRAME_POINTER = 2
PSC_TRUST_SCAN = 3
PSC_TRUST_ANCHOR = 4

# enum psc_frame_flag
PSC_FRAME_HIDDEN = 1 << 0
PSC_FRAME_INLINED = 1 << 1
PSC_FRAME_HAS_PC = 1 << 2
PSC_FRAME_HAS_OFFSET = 1 << 3

# enum psc_format
PSC_FORMAT_TEXT = 0
PSC_FORMAT_JSON = 1

# enum psc_content
PSC_CONTENT_REPORT = 0
PSC_CONTENT_FILES = 1
PSC_CONTENT_VALUES = 2
PSC_CONTENT_SUMMARY = 3

# enum psc_heap_format
PSC_HEAP_TEXT = 0
PSC_HEAP_JSON = 1
PSC_HEAP_HTML = 2

# enum psc_heap_content
PSC_HEAP_LARGEST = 1
PSC_HEAP_LISTED = 2
PSC_HEAP_OBJECT = 4
PSC_HEAP_HOLDERS = 8
PSC_HEAP_FINDINGS = 16
PSC_HEAP_GROWTH = 32

if ctypes:
    WriteFn = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

    class Error(ctypes.Structure):
        _fields_ = [("status", ctypes.c_int),
                    ("message", ctypes.c_char * 500)]

    OpenOptionsInterrupted = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)

    OpenOptionsFind_file = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)

    OpenOptionsFetch_file = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    class OpenOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("library_directory_count", ctypes.c_uint32),
                    ("sysroot", ctypes.c_char_p),
                    ("library_directories", ctypes.POINTER(ctypes.c_char_p)),
                    ("debug_directory", ctypes.c_char_p),
                    ("source_maps", ctypes.POINTER(ctypes.c_char_p)),
                    ("source_map_count", ctypes.c_uint32),
                    ("source_directory_count", ctypes.c_uint32),
                    ("source_directories", ctypes.POINTER(ctypes.c_char_p)),
                    ("interrupted", OpenOptionsInterrupted),
                    ("interrupt_context", ctypes.c_void_p),
                    ("find_file", OpenOptionsFind_file),
                    ("find_file_context", ctypes.c_void_p),
                    ("core_name", ctypes.c_char_p),
                    ("core_warning", ctypes.c_char_p),
                    ("core_owner_known", ctypes.c_uint32),
                    ("core_user", ctypes.c_uint32),
                    ("core_group", ctypes.c_uint32),
                    ("maps_files", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32),
                    ("fetch_file", OpenOptionsFetch_file),
                    ("fetch_context", ctypes.c_void_p),
                    ("kept", ctypes.c_void_p),
                    ("notes_reads", ctypes.c_uint32),
                    ("held_pid", ctypes.c_int32),
                    ("held_since", ctypes.c_uint64)]

    class DebuggerMapping(ctypes.Structure):
        _fields_ = [("start", ctypes.c_uint64),
                    ("end", ctypes.c_uint64),
                    ("offset", ctypes.c_uint64),
                    ("path", ctypes.c_char_p),
                    ("permissions", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32)]

    class DebuggerThread(ctypes.Structure):
        _fields_ = [("tid", ctypes.c_int32),
                    ("crashed", ctypes.c_uint32),
                    ("thread_pointer", ctypes.c_uint64),
                    ("registers", ctypes.POINTER(ctypes.c_uint64)),
                    ("register_count", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32),
                    ("name", ctypes.c_char_p)]

    DebuggerRead = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t)

    class Debugger(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("pid", ctypes.c_int32),
                    ("read", DebuggerRead),
                    ("context", ctypes.c_void_p),
                    ("memory_path", ctypes.c_char_p),
                    ("executable", ctypes.c_char_p),
                    ("mappings", ctypes.POINTER(DebuggerMapping)),
                    ("threads", ctypes.POINTER(DebuggerThread)),
                    ("auxv", ctypes.c_void_p),
                    ("mapping_count", ctypes.c_uint32),
                    ("mapping_size", ctypes.c_uint32),
                    ("thread_count", ctypes.c_uint32),
                    ("thread_size", ctypes.c_uint32),
                    ("auxv_size", ctypes.c_uint32),
                    ("machine", ctypes.c_uint32),
                    ("signal_number", ctypes.c_int32),
                    ("signal_code", ctypes.c_int32),
                    ("signal_sender", ctypes.c_int32),
                    ("reserved", ctypes.c_uint32),
                    ("fault_address", ctypes.c_uint64)]

    class ValueLimits(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("length", ctypes.c_uint32),
                    ("items", ctypes.c_uint32),
                    ("depth", ctypes.c_uint32)]

    class Evaluation(ctypes.Structure):
        _fields_ = [("thread_id", ctypes.c_int32),
                    ("frame", ctypes.c_uint32),
                    ("expression", ctypes.c_char_p)]

    class Evaluated(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("thread_id", ctypes.c_int32),
                    ("frame", ctypes.c_uint32),
                    ("scope", ctypes.c_int),
                    ("function", ctypes.c_char_p),
                    ("expression", ctypes.c_char_p),
                    ("value", ctypes.c_char_p),
                    ("problem", ctypes.c_char_p)]

    class CaptureOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("mode", ctypes.c_int),
                    ("unwinder", ctypes.c_int),
                    ("detail_hidden", ctypes.c_uint32),
                    ("all_inlined", ctypes.c_uint32),
                    ("no_source", ctypes.c_uint32),
                    ("all_modules", ctypes.c_uint32),
                    ("threads", ctypes.c_int),
                    ("thread_ids", ctypes.POINTER(ctypes.c_int32)),
                    ("thread_id_count", ctypes.c_uint32),
                    ("no_pause", ctypes.c_uint32),
                    ("locals", ctypes.c_uint32),
                    ("core_path", ctypes.c_char_p),
                    ("core_full", ctypes.c_uint32),
                    ("tasks", ctypes.c_uint32),
                    ("value_length", ctypes.c_uint32),
                    ("value_items", ctypes.c_uint32),
                    ("value_depth", ctypes.c_uint32),
                    ("list_files", ctypes.c_uint32),
                    ("evaluation_count", ctypes.c_uint32),
                    ("evaluations", ctypes.POINTER(Evaluation)),
                    ("evaluation_size", ctypes.c_uint32),
                    ("python_optional", ctypes.c_uint32),
                    ("process_locks", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32)]

    class TargetInfo(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("kind", ctypes.c_int),
                    ("pid", ctypes.c_int32),
                    ("argument_count", ctypes.c_uint32),
                    ("path", ctypes.c_char_p),
                    ("executable", ctypes.c_char_p),
                    ("architecture", ctypes.c_char_p)]

    class PythonInfo(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("debug", ctypes.c_uint32),
                    ("implementation", ctypes.c_char_p),
                    ("version", ctypes.c_char_p),
                    ("free_threaded", ctypes.c_uint32),
                    ("gil_known", ctypes.c_uint32),
                    ("gil_holder", ctypes.c_int32),
                    ("reserved", ctypes.c_uint32)]

    class CrashInfo(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("signal_number", ctypes.c_int32),
                    ("signal", ctypes.c_char_p),
                    ("code", ctypes.c_char_p),
                    ("summary", ctypes.c_char_p),
                    ("message", ctypes.c_char_p),
                    ("fault_address", ctypes.c_uint64),
                    ("has_fault_address", ctypes.c_uint32),
                    ("sender_pid", ctypes.c_int32),
                    ("has_sender", ctypes.c_uint32),
                    ("thread_id", ctypes.c_int32),
                    ("cause", ctypes.c_char_p),
                    ("access", ctypes.c_char_p),
                    ("instruction", ctypes.c_char_p),
                    ("operand_count", ctypes.c_uint32),
                    ("raised_again", ctypes.c_uint32),
                    ("during", ctypes.c_char_p),
                    ("object", ctypes.c_char_p),
                    ("handler_fault", ctypes.c_char_p)]

    class SignatureInfo(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("version", ctypes.c_uint32),
                    ("hash", ctypes.c_char_p),
                    ("exact", ctypes.c_char_p),
                    ("title", ctypes.c_char_p),
                    ("part_count", ctypes.c_uint64)]

    class Operand(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32),
                    ("name", ctypes.c_char_p),
                    ("value", ctypes.c_uint64)]

    class FileInfo(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("kind", ctypes.c_int),
                    ("state", ctypes.c_int),
                    ("reserved", ctypes.c_uint32),
                    ("path", ctypes.c_char_p),
                    ("build_id", ctypes.c_char_p),
                    ("here", ctypes.c_char_p)]

    class RunningInfo(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("has_uptime", ctypes.c_uint32),
                    ("uptime_milliseconds", ctypes.c_uint64),
                    ("working_directory", ctypes.c_char_p),
                    ("host", ctypes.c_char_p),
                    ("test", ctypes.c_char_p),
                    ("test_phase", ctypes.c_char_p),
                    ("test_worker", ctypes.c_char_p),
                    ("rank_variable", ctypes.c_char_p),
                    ("rank", ctypes.c_uint64),
                    ("environment_known", ctypes.c_uint32),
                    ("environment_initial", ctypes.c_uint32),
                    ("memory_count", ctypes.c_uint32),
                    ("package_count", ctypes.c_uint32),
                    ("variable_count", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32)]

    class RunningItem(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32),
                    ("name", ctypes.c_char_p),
                    ("value", ctypes.c_char_p),
                    ("bytes", ctypes.c_uint64)]

    class ThreadInfo(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("thread_id", ctypes.c_int32),
                    ("state", ctypes.c_uint32),
                    ("has_python", ctypes.c_uint32),
                    ("python_thread_id", ctypes.c_uint64),
                    ("interpreter_id", ctypes.c_int64),
                    ("name", ctypes.c_char_p),
                    ("system_name", ctypes.c_char_p),
                    ("exception_type", ctypes.c_char_p),
                    ("exception_message", ctypes.c_char_p),
                    ("exception_raised", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32)]

    class FrameInfo(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("kind", ctypes.c_int),
                    ("language", ctypes.c_char_p),
                    ("function", ctypes.c_char_p),
                    ("name", ctypes.c_char_p),
                    ("symbol", ctypes.c_char_p),
                    ("file", ctypes.c_char_p),
                    ("source", ctypes.c_char_p),
                    ("module", ctypes.c_char_p),
                    ("build_id", ctypes.c_char_p),
                    ("line", ctypes.c_uint32),
                    ("column", ctypes.c_uint32),
                    ("end_line", ctypes.c_uint32),
                    ("end_column", ctypes.c_uint32),
                    ("line_source", ctypes.c_int),
                    ("trust", ctypes.c_int),
                    ("flags", ctypes.c_uint32),
                    ("local_count", ctypes.c_uint32),
                    ("pc", ctypes.c_uint64),
                    ("sp", ctypes.c_uint64),
                    ("offset", ctypes.c_uint64),
                    ("python_frame", ctypes.c_uint64),
                    ("interpreter_id", ctypes.c_int64),
                    ("self_class", ctypes.c_char_p)]

    class Local(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("argument", ctypes.c_uint32),
                    ("name", ctypes.c_char_p),
                    ("value", ctypes.c_char_p)]

    class Recursion(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32),
                    ("first", ctypes.c_uint64),
                    ("last", ctypes.c_uint64),
                    ("frames", ctypes.c_uint64),
                    ("times", ctypes.c_uint64)]

    class Wait(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("owner_tid", ctypes.c_int32),
                    ("owner_pid", ctypes.c_int32),
                    ("owner_certain", ctypes.c_uint32),
                    ("kind", ctypes.c_char_p),
                    ("object", ctypes.c_char_p),
                    ("address", ctypes.c_uint64),
                    ("has_address", ctypes.c_uint32),
                    ("timed", ctypes.c_uint32),
                    ("owner_text", ctypes.c_char_p),
                    ("known_by", ctypes.c_char_p),
                    ("time_left", ctypes.c_double),
                    ("has_time_left", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32),
                    ("system_call", ctypes.c_char_p),
                    ("arguments", ctypes.c_char_p),
                    ("kernel", ctypes.c_char_p)]

    class Deadlock(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("member_count", ctypes.c_uint32),
                    ("verdict", ctypes.c_char_p),
                    ("summary", ctypes.c_char_p)]

    class DeadlockMember(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("pid", ctypes.c_int32),
                    ("tid", ctypes.c_int32),
                    ("certain", ctypes.c_uint32),
                    ("task", ctypes.c_uint64),
                    ("name", ctypes.c_char_p),
                    ("waits_for", ctypes.c_char_p),
                    ("known_by", ctypes.c_char_p),
                    ("timed", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32)]

    class Exit(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("pid", ctypes.c_int32),
                    ("signal", ctypes.c_int32),
                    ("status", ctypes.c_int32),
                    ("out_of_memory", ctypes.c_uint32),
                    ("argument_count", ctypes.c_uint32),
                    ("executable", ctypes.c_char_p),
                    ("arguments", ctypes.POINTER(ctypes.c_char_p)),
                    ("working_directory", ctypes.c_char_p),
                    ("test", ctypes.c_char_p),
                    ("worker", ctypes.c_char_p),
                    ("known_by", ctypes.c_char_p),
                    ("without_core", ctypes.c_char_p),
                    ("test_age_milliseconds", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32)]

    class PrintOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("format", ctypes.c_int),
                    ("all", ctypes.c_uint32),
                    ("color", ctypes.c_uint32),
                    ("outermost_first", ctypes.c_uint32),
                    ("no_group", ctypes.c_uint32),
                    ("explain", ctypes.c_uint32),
                    ("one_line", ctypes.c_uint32),
                    ("max_frames", ctypes.c_uint32),
                    ("no_fold", ctypes.c_uint32),
                    ("content", ctypes.c_int),
                    ("running", ctypes.c_uint32),
                    ("size_limit", ctypes.c_uint64)]

    HeapOptionsProgress = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

    class HeapOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("reserved", ctypes.c_uint32),
                    ("progress", HeapOptionsProgress),
                    ("progress_context", ctypes.c_void_p)]

    class HeapPrintOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("format", ctypes.c_int),
                    ("contents", ctypes.c_uint32),
                    ("limit", ctypes.c_uint32),
                    ("type", ctypes.c_char_p),
                    ("where", ctypes.c_char_p),
                    ("object", ctypes.c_uint64),
                    ("held", ctypes.c_char_p),
                    ("older", ctypes.c_void_p),
                    ("color", ctypes.c_uint32),
                    ("one_line", ctypes.c_uint32)]

    SlimOptionsMemory_is_read = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    class SlimOptions(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32),
                    ("with_files", ctypes.c_uint32),
                    ("no_native_values", ctypes.c_uint32),
                    ("memory_is_read", SlimOptionsMemory_is_read),
                    ("context", ctypes.c_void_p)]

    # Every public function, its result and its arguments.
    FUNCTIONS = {
        "psc_version": (
            ctypes.c_char_p,
            []),
        "psc_status_name": (
            ctypes.c_char_p,
            [ctypes.c_int]),
        "psc_open_core": (
            ctypes.c_int,
            [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(OpenOptions), ctypes.POINTER(ctypes.c_void_p),
             ctypes.POINTER(Error)]),
        "psc_open_process": (
            ctypes.c_int,
            [ctypes.c_int32, ctypes.POINTER(OpenOptions), ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Error)]),
        "psc_kept_create": (
            ctypes.c_int,
            [ctypes.POINTER(OpenOptions), ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Error)]),
        "psc_kept_destroy": (
            None,
            [ctypes.c_void_p]),
        "psc_kept_learn": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Error)]),
        "psc_open_debugger": (
            ctypes.c_int,
            [ctypes.POINTER(Debugger), ctypes.c_char_p, ctypes.POINTER(OpenOptions), ctypes.POINTER(ctypes.c_void_p),
             ctypes.POINTER(Error)]),
        "psc_close": (
            None,
            [ctypes.c_void_p]),
        "psc_target_owner": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_uint32)]),
        "psc_target_lessons": (
            ctypes.c_int,
            [ctypes.c_void_p, WriteFn, ctypes.c_void_p, ctypes.POINTER(Error)]),
        "psc_frame_value": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, WriteFn, ctypes.c_void_p,
             ctypes.POINTER(ctypes.c_int), ctypes.POINTER(Error)]),
        "psc_frame_value_within": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.POINTER(ValueLimits), WriteFn, ctypes.c_void_p,
             ctypes.POINTER(ctypes.c_int), ctypes.POINTER(Error)]),
        "psc_trace_evaluation_count": (
            ctypes.c_size_t,
            [ctypes.c_void_p]),
        "psc_trace_get_evaluation": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Evaluated), ctypes.POINTER(Error)]),
        "psc_frame_names": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, WriteFn, ctypes.c_void_p, ctypes.POINTER(Error)]),
        "psc_capture": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(CaptureOptions), ctypes.POINTER(ctypes.c_void_p),
             ctypes.POINTER(Error)]),
        "psc_take_snapshot": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(CaptureOptions), ctypes.POINTER(ctypes.c_void_p),
             ctypes.POINTER(Error)]),
        "psc_read_snapshot": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Error)]),
        "psc_snapshot_keep_core": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(Error)]),
        "psc_snapshot_destroy": (
            None,
            [ctypes.c_void_p]),
        "psc_trace_destroy": (
            None,
            [ctypes.c_void_p]),
        "psc_trace_is_complete": (
            ctypes.c_int,
            [ctypes.c_void_p]),
        "psc_trace_is_snapshot": (
            ctypes.c_int,
            [ctypes.c_void_p]),
        "psc_trace_pid": (
            ctypes.c_int32,
            [ctypes.c_void_p]),
        "psc_trace_core": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(Error)]),
        "psc_trace_get_target": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(TargetInfo), ctypes.POINTER(Error)]),
        "psc_trace_argument": (
            ctypes.c_char_p,
            [ctypes.c_void_p, ctypes.c_size_t]),
        "psc_trace_get_python": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(PythonInfo), ctypes.POINTER(Error)]),
        "psc_signature_rules_create": (
            ctypes.c_int,
            [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Error)]),
        "psc_signature_rules_destroy": (
            None,
            [ctypes.c_void_p]),
        "psc_signature_default_rules": (
            ctypes.c_char_p,
            []),
        "psc_trace_sign": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Error)]),
        "psc_trace_get_signature": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(SignatureInfo), ctypes.POINTER(Error)]),
        "psc_trace_signature_part": (
            ctypes.c_char_p,
            [ctypes.c_void_p, ctypes.c_size_t]),
        "psc_trace_explain_signature": (
            ctypes.c_char_p,
            [ctypes.c_void_p]),
        "psc_trace_get_crash": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(CrashInfo), ctypes.POINTER(Error)]),
        "psc_trace_get_fault": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(CrashInfo), ctypes.POINTER(Error)]),
        "psc_trace_get_operand": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Operand), ctypes.POINTER(Error)]),
        "psc_trace_file_count": (
            ctypes.c_size_t,
            [ctypes.c_void_p]),
        "psc_trace_get_file": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(FileInfo), ctypes.POINTER(Error)]),
        "psc_trace_get_running": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(RunningInfo), ctypes.POINTER(Error)]),
        "psc_trace_get_running_item": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(RunningItem), ctypes.POINTER(Error)]),
        "psc_trace_warning_count": (
            ctypes.c_size_t,
            [ctypes.c_void_p]),
        "psc_trace_warning": (
            ctypes.c_char_p,
            [ctypes.c_void_p, ctypes.c_size_t]),
        "psc_trace_warning_code": (
            ctypes.c_char_p,
            [ctypes.c_void_p, ctypes.c_size_t]),
        "psc_trace_thread_count": (
            ctypes.c_size_t,
            [ctypes.c_void_p]),
        "psc_trace_get_thread": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ThreadInfo), ctypes.POINTER(Error)]),
        "psc_trace_frame_count": (
            ctypes.c_size_t,
            [ctypes.c_void_p, ctypes.c_size_t]),
        "psc_trace_get_frame": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(FrameInfo), ctypes.POINTER(Error)]),
        "psc_trace_get_local": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(Local),
             ctypes.POINTER(Error)]),
        "psc_trace_recursion_count": (
            ctypes.c_size_t,
            [ctypes.c_void_p, ctypes.c_size_t]),
        "psc_trace_get_recursion": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(Recursion), ctypes.POINTER(Error)]),
        "psc_trace_python_frame": (
            ctypes.c_uint64,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]),
        "psc_trace_get_wait": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Wait), ctypes.POINTER(Error)]),
        "psc_trace_deadlock_count": (
            ctypes.c_size_t,
            [ctypes.c_void_p]),
        "psc_trace_get_deadlock": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Deadlock), ctypes.POINTER(Error)]),
        "psc_trace_get_deadlock_member": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(DeadlockMember),
             ctypes.POINTER(Error)]),
        "psc_find_deadlocks": (
            ctypes.c_int,
            [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.POINTER(Error)]),
        "psc_describe_exit": (
            ctypes.c_int,
            [ctypes.POINTER(Exit), ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Error)]),
        "psc_find_environment": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(Error)]),
        "psc_read_report": (
            ctypes.c_int,
            [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_void_p),
             ctypes.POINTER(Error)]),
        "psc_print": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(PrintOptions), WriteFn, ctypes.c_void_p, ctypes.POINTER(Error)]),
        "psc_print_processes": (
            ctypes.c_int,
            [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.POINTER(PrintOptions), WriteFn, ctypes.c_void_p,
             ctypes.POINTER(Error)]),
        "psc_demangle": (
            ctypes.c_size_t,
            [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]),
        "psc_symbols_create": (
            ctypes.c_void_p,
            []),
        "psc_symbols_destroy": (
            None,
            [ctypes.c_void_p]),
        "psc_symbols_add": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_char_p]),
        "psc_symbols_demangle": (
            ctypes.c_size_t,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]),
        "psc_heap_open": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(HeapOptions), ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Error)]),
        "psc_heap_close": (
            None,
            [ctypes.c_void_p]),
        "psc_heap_print": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.POINTER(HeapPrintOptions), WriteFn, ctypes.c_void_p,
             ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(Error)]),
        "psc_heap_is_complete": (
            ctypes.c_int,
            [ctypes.c_void_p]),
        "psc_heap_warning_count": (
            ctypes.c_size_t,
            [ctypes.c_void_p]),
        "psc_heap_warning": (
            ctypes.c_char_p,
            [ctypes.c_void_p, ctypes.c_size_t]),
        "psc_write_slim_core": (
            ctypes.c_int,
            [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(SlimOptions), ctypes.POINTER(Error)]),
    }
