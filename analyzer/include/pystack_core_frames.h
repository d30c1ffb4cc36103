/** @file pystack-core: threads of a trace, their frames and variables. Included by pystack_core.h.
 */
#ifndef PYSTACK_CORE_FRAMES_H
#define PYSTACK_CORE_FRAMES_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bits of psc_thread_info.state. */
enum psc_thread_state {
    PSC_THREAD_CRASHED = 1u << 0, /**< Took the signal. */
    PSC_THREAD_HOLDS_GIL = 1u << 1,
    PSC_THREAD_WAITS_FOR_GIL = 1u << 2,
    PSC_THREAD_COLLECTING = 1u << 3, /**< Runs the garbage collector. */
    PSC_THREAD_MAIN = 1u << 4,
    PSC_THREAD_NO_PYTHON = 1u << 5, /**< The process has Python, this thread does not. */
    PSC_THREAD_FINALIZING = 1u << 6,
    PSC_THREAD_IDLE = 1u << 7,      /**< Waits in the kernel, without the GIL. */
    PSC_THREAD_TERMINATED = 1u << 8 /**< A thread of Python whose thread of the system has ended. */
};

/** A thread; begin with PSC_THREAD_INFO_INIT. Strings are owned by the trace. */
struct psc_thread_info {
    uint32_t size;       /**< sizeof(struct psc_thread_info) */
    int32_t thread_id;   /**< The system's; 0: a thread of Python's for which none is known. */
    uint32_t state;      /**< enum psc_thread_state bits. */
    uint32_t has_python; /**< Non-zero: the next two are known. */
    uint64_t python_thread_id; /**< What threading.get_ident() gives. */
    int64_t interpreter_id;    /**< 0: the main interpreter; -1: not known. */
    const char *name;          /**< Python's if there is one, else the system's; or NULL. */
    const char *system_name;   /**< Or NULL. */
    /** The exception that is raised, else the newest that is being handled; NULL: none. */
    const char *exception_type;
    const char *exception_message; /**< Or NULL. */
    uint32_t exception_raised;     /**< Non-zero: not caught yet. */
    uint32_t reserved;
};
#define PSC_THREAD_INFO_INIT                                                        \
    {                                                                               \
        sizeof(struct psc_thread_info), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0 \
    }

/** How many threads the trace has; the crashed one is the first. */
PSC_API size_t psc_trace_thread_count(const struct psc_trace *trace);

/** Fills *ret; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_thread(const struct psc_trace *trace,
                                                            size_t thread,
                                                            struct psc_thread_info *ret,
                                                            struct psc_error *err);

enum psc_frame_kind {
    PSC_FRAME_PYTHON = 0,
    PSC_FRAME_CYTHON = 1,
    PSC_FRAME_NATIVE = 2,
    PSC_FRAME_GAP = 3 /**< A part of the stack that could not be read; function is the reason. */
};

/** Where a line number comes from. */
enum psc_line_source {
    PSC_LINE_NONE = 0,
    PSC_LINE_CODE = 1, /**< The line table of the Python code. */
    PSC_LINE_DWARF = 2,
    PSC_LINE_C_FILE = 3, /**< Comments in the C file that Cython generated. */
    PSC_LINE_XML = 4,    /**< Cython's debug files (gdb_debug=True). */
    PSC_LINE_MACHINE_CODE = 5,
    PSC_LINE_ESTIMATE = 6
};

/** How a native or Cython frame was found, best first. */
enum psc_trust {
    PSC_TRUST_CONTEXT = 0, /**< By the registers: the innermost frame, or one below a signal. */
    PSC_TRUST_CFI = 1,     /**< By the unwind tables. */
    PSC_TRUST_FRAME_POINTER = 2,
    PSC_TRUST_SCAN = 3,  /**< A return address that was found on the stack. */
    PSC_TRUST_ANCHOR = 4 /**< By what Python keeps of the evaluator's frame. */
};

/** Bits of psc_frame_info.flags. */
enum psc_frame_flag {
    PSC_FRAME_HIDDEN = 1u << 0,    /**< Machinery: printed with `all` only. */
    PSC_FRAME_INLINED = 1u << 1,   /**< Inlined into the frame that follows. */
    PSC_FRAME_HAS_PC = 1u << 2,    /**< pc and sp are known. */
    PSC_FRAME_HAS_OFFSET = 1u << 3 /**< offset is known. */
};

/** A frame; begin with PSC_FRAME_INFO_INIT. Strings are owned by the trace, or NULL: not known. */
struct psc_frame_info {
    uint32_t size; /**< sizeof(struct psc_frame_info) */
    enum psc_frame_kind kind;
    const char *language; /**< "Python", "Cython", "C", "C++", "Rust" */
    const char *function; /**< What a person reads: demangled, qualified. Of a gap: its reason. */
    const char *name;     /**< The bare name of the code (co_name). */
    const char *symbol;   /**< The linker's name. */
    const char *file;     /**< As the target names it. */
    const char *source;   /**< The text of the line, without its indentation. */
    const char *module;   /**< Path of the ELF file. */
    const char *build_id; /**< Of the module: lower-case hexadecimal digits. */
    uint32_t line;        /**< Lines and columns count from 1; 0: not known. */
    uint32_t column;      /**< In characters. */
    uint32_t end_line;
    uint32_t end_column; /**< One past the last character. */
    enum psc_line_source line_source;
    enum psc_trust trust; /**< Of native and Cython frames. */
    uint32_t flags;       /**< enum psc_frame_flag bits. */
    uint32_t local_count; /**< See psc_trace_get_local(). */
    psc_addr pc;          /**< The innermost frame's program counter; the others' return address. */
    psc_addr sp;          /**< The stack pointer in that frame. */
    uint64_t offset;      /**< Of the code within the module: what addr2line takes. */
    psc_addr python_frame;  /**< As psc_trace_python_frame(). */
    int64_t interpreter_id; /**< Of a Python frame: 0 is the main interpreter; -1: not known. */
    const char *self_class; /**< Of `self` or `cls`, where the function names another class. */
};
#define PSC_FRAME_INFO_INIT                                                                        \
    {                                                                                              \
        sizeof(struct psc_frame_info), PSC_FRAME_PYTHON, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, 0, 0, 0, 0, PSC_LINE_NONE, PSC_TRUST_CONTEXT, 0, 0, 0, 0, 0, 0, 0, NULL          \
    }

/** How many frames a thread has, those that merging hides with them; 0 out of range. */
PSC_API size_t psc_trace_frame_count(const struct psc_trace *trace, size_t thread);

/** Fills *ret with frame `frame` of thread `thread`, the innermost is 0; PSC_ERR_ARGUMENT out of
 * range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_frame(const struct psc_trace *trace,
                                                           size_t thread, size_t frame,
                                                           struct psc_frame_info *ret,
                                                           struct psc_error *err);

/** A name in a frame and its value as text, for psc_capture_options.locals. */
struct psc_local {
    uint32_t size;     /**< sizeof(struct psc_local) */
    uint32_t argument; /**< Non-zero: an argument; else a variable. */
    const char *name;
    const char *value;
};
#define PSC_LOCAL_INIT                          \
    {                                           \
        sizeof(struct psc_local), 0, NULL, NULL \
    }

/** Fills *ret with name `local` of a frame, arguments first; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_local(const struct psc_trace *trace,
                                                           size_t thread, size_t frame,
                                                           size_t local, struct psc_local *ret,
                                                           struct psc_error *err);

/**
 * A recursion: frames that stand there again and again, alike in function, file and line (native
 * ones without a line: in their address). Begin with PSC_RECURSION_INIT.
 */
struct psc_recursion {
    uint32_t size; /**< sizeof(struct psc_recursion) */
    uint32_t reserved;
    uint64_t first;  /**< Index of the innermost frame of all its cycles. */
    uint64_t last;   /**< Of the outermost one. */
    uint64_t frames; /**< Of one cycle; hidden ones are not counted. */
    uint64_t times;  /**< How many cycles there are, one behind the other. */
};
#define PSC_RECURSION_INIT                          \
    {                                               \
        sizeof(struct psc_recursion), 0, 0, 0, 0, 0 \
    }

/** How many recursions a thread is in; 0 out of range. */
PSC_API size_t psc_trace_recursion_count(const struct psc_trace *trace, size_t thread);

/** Fills *ret with recursion `index` of a thread, the innermost first; PSC_ERR_ARGUMENT out of
 * range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_recursion(const struct psc_trace *trace,
                                                               size_t thread, size_t index,
                                                               struct psc_recursion *ret,
                                                               struct psc_error *err);

/**
 * Where the Python frame `frame` of thread `thread` is in the target, both counted as JSON lists
 * them with `all`: a PyFrameObject up to 3.10, a _PyInterpreterFrame from 3.11 on.
 * @return 0 when there is no such frame or when it is not one of Python.
 */
PSC_API psc_addr psc_trace_python_frame(const struct psc_trace *trace, size_t thread, size_t frame);

#ifdef __cplusplus
}
#endif
#endif
