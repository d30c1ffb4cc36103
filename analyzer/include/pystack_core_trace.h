/** @file pystack-core: what a trace holds of the target, how it died, and what was running.
 * Included by pystack_core.h. */
#ifndef PYSTACK_CORE_TRACE_H
#define PYSTACK_CORE_TRACE_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether the target is a core file or was alive. */
enum psc_target_kind { PSC_TARGET_CORE = 0, PSC_TARGET_PROCESS = 1 };

/** What was looked at; begin with PSC_TARGET_INFO_INIT. Strings are owned by the trace. */
struct psc_target_info {
    uint32_t size; /**< sizeof(struct psc_target_info) */
    enum psc_target_kind kind;
    int32_t pid;              /**< 0: not known. */
    uint32_t argument_count;  /**< See psc_trace_argument(). */
    const char *path;         /**< Of the core file, or NULL. */
    const char *executable;   /**< As the target names it, or NULL. */
    const char *architecture; /**< "x86_64" */
};
#define PSC_TARGET_INFO_INIT                                                    \
    {                                                                           \
        sizeof(struct psc_target_info), PSC_TARGET_CORE, 0, 0, NULL, NULL, NULL \
    }

/** Fills *ret. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_target(const struct psc_trace *trace,
                                                            struct psc_target_info *ret,
                                                            struct psc_error *err);

/** Argument `index` of the command line, owned by the trace; NULL out of range. */
PSC_API const char *psc_trace_argument(const struct psc_trace *trace, size_t index);

/** The interpreter; begin with PSC_PYTHON_INFO_INIT. Strings are owned by the trace. */
struct psc_python_info {
    uint32_t size;              /**< sizeof(struct psc_python_info) */
    uint32_t debug;             /**< Non-zero: a debug build. */
    const char *implementation; /**< "CPython" */
    const char *version;        /**< "3.11.2" */
    uint32_t free_threaded;     /**< Non-zero: built without a GIL; it may use one nevertheless. */
    uint32_t gil_known;         /**< Non-zero: gil_holder is known. */
    int32_t gil_holder; /**< Its thread id; 0: nobody. Of several GILs, of the first held. */
    uint32_t reserved;
};
#define PSC_PYTHON_INFO_INIT                                      \
    {                                                             \
        sizeof(struct psc_python_info), 0, NULL, NULL, 0, 0, 0, 0 \
    }

/** Fills *ret; PSC_ERR_NOT_FOUND when the target has no Python that can be read. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_python(const struct psc_trace *trace,
                                                            struct psc_python_info *ret,
                                                            struct psc_error *err);

/** The signal that ended or stopped the target; begin with PSC_CRASH_INFO_INIT. */
struct psc_crash_info {
    uint32_t size; /**< sizeof(struct psc_crash_info) */
    int32_t signal_number;
    const char *signal;  /**< "SIGSEGV" */
    const char *code;    /**< si_code by its name, "SEGV_MAPERR"; or NULL. */
    const char *summary; /**< One phrase: "accessing 0x0 (a null pointer), not mapped"; or NULL. */
    const char *message; /**< What the program itself said of it, or NULL. */
    psc_addr fault_address; /**< With has_fault_address. */
    uint32_t has_fault_address;
    int32_t sender_pid; /**< Of the process that sent the signal; with has_sender. */
    uint32_t has_sender;
    int32_t thread_id; /**< Of the thread that took it; 0: not known. */
    /** What it died of in one word, "null-pointer": those of the JSON Schema; NULL: not known. */
    const char *cause;
    const char *access;      /**< "read", "write", "execute"; NULL: not known, or none. */
    const char *instruction; /**< The one that it died at, "mov %rax,0x18(%rbx)"; or NULL. */
    uint32_t operand_count;  /**< Registers in it, see psc_trace_get_operand(). */
    /** Non-zero: a signal handler passed an earlier fault on, which is the one described. */
    uint32_t raised_again;
    /** What the interpreter was about in that thread, "in a __del__() method"; or NULL. */
    const char *during;
    /** The object of Python that was deallocated, or visited by the collector; or NULL. */
    const char *object;
    /** What then happened in a signal handler: "SIGSEGV: reading from 0x0"; or NULL. */
    const char *handler_fault;
};
#define PSC_CRASH_INFO_INIT                                                                        \
    {                                                                                              \
        sizeof(struct psc_crash_info), 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, \
            0, 0, NULL, NULL, NULL                                                                 \
    }

/** What each frame is to a signature; see docs/signatures.md. */
struct psc_signature_rules;

/**
 * The rules that are built in, and before them those of `text` (NULL: none); of several that match
 * the first counts. `name` is what messages call the text, such as its file.
 * @param[out] ret  to be given to psc_signature_rules_destroy().
 * @return PSC_ERR_ARGUMENT when a line cannot be read; the message says which.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_signature_rules_create(const char *text,
                                                                  const char *name,
                                                                  struct psc_signature_rules **ret,
                                                                  struct psc_error *err);
PSC_API void psc_signature_rules_destroy(struct psc_signature_rules *rules);
/** The rules that are built in, one a line; static. */
PSC_API const char *psc_signature_default_rules(void);

/**
 * Makes the signature of a trace anew: equal for deaths of one cause. A captured trace has one, of
 * the rules that are built in.
 * @param rules  NULL: those that are built in.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_sign(struct psc_trace *trace,
                                                      const struct psc_signature_rules *rules,
                                                      struct psc_error *err);

/** The signature of a trace; begin with PSC_SIGNATURE_INFO_INIT. */
struct psc_signature_info {
    uint32_t size;       /**< sizeof(struct psc_signature_info) */
    uint32_t version;    /**< Of the way it is made; those of another version are not compared. */
    const char *hash;    /**< 40 hexadecimal digits. The strings are owned by the trace. */
    const char *exact;   /**< The same of build-ids and offsets: needs no symbols. */
    const char *title;   /**< One line for people. */
    uint64_t part_count; /**< See psc_trace_signature_part(). */
};
#define PSC_SIGNATURE_INFO_INIT                                   \
    {                                                             \
        sizeof(struct psc_signature_info), 0, NULL, NULL, NULL, 0 \
    }

/** Fills *ret; PSC_ERR_NOT_FOUND for a trace that has none. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_signature(const struct psc_trace *trace,
                                                               struct psc_signature_info *ret,
                                                               struct psc_error *err);
/** What the hash is made of: the cause, then functions; NULL behind the last. Owned by the trace.
 */
PSC_API const char *psc_trace_signature_part(const struct psc_trace *trace, size_t index);
/**
 * The signature, its parts, and what the rules said of each frame that was looked at, a line each;
 * "" without one. Owned by the trace.
 */
PSC_API const char *psc_trace_explain_signature(const struct psc_trace *trace);

/** Fills *ret; PSC_ERR_NOT_FOUND when there was no signal. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_crash(const struct psc_trace *trace,
                                                           struct psc_crash_info *ret,
                                                           struct psc_error *err);

/**
 * The fault that a thread meets again and again without dying of it: a signal handler returns to
 * it, or runs. Fills *ret; PSC_ERR_NOT_FOUND when there is none.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_fault(const struct psc_trace *trace,
                                                           size_t thread,
                                                           struct psc_crash_info *ret,
                                                           struct psc_error *err);

/** A register that the instruction uses which it died at; begin with PSC_OPERAND_INIT. */
struct psc_operand {
    uint32_t size; /**< sizeof(struct psc_operand) */
    uint32_t reserved;
    const char *name; /**< "rbx"; owned by the trace. */
    uint64_t value;   /**< Before the instruction ran. */
};
#define PSC_OPERAND_INIT                       \
    {                                          \
        sizeof(struct psc_operand), 0, NULL, 0 \
    }

/** Fills *ret with number `index` of psc_crash_info.operand_count; else PSC_ERR_ARGUMENT. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_operand(const struct psc_trace *trace,
                                                             size_t index, struct psc_operand *ret,
                                                             struct psc_error *err);

enum psc_file_kind {
    PSC_FILE_EXECUTABLE = 0,
    PSC_FILE_LIBRARY = 1,
    PSC_FILE_DEBUG = 2,  /**< Separate debug information. */
    PSC_FILE_CYTHON = 3, /**< Generated C, or Cython's debug XML. */
    PSC_FILE_SOURCE = 4
};

enum psc_file_state {
    PSC_FILE_FOUND = 0,
    PSC_FILE_MISSING = 1,
    PSC_FILE_MISMATCH = 2 /**< Another build of it is here. */
};

/** A file that the report needs; begin with PSC_FILE_INFO_INIT. Strings are owned by the trace. */
struct psc_file_info {
    uint32_t size; /**< sizeof(struct psc_file_info) */
    enum psc_file_kind kind;
    enum psc_file_state state;
    uint32_t reserved;
    /** Where the target has it, or would: below a sysroot it is found there again. */
    const char *path;
    const char *build_id; /**< Lower-case hexadecimal digits, or NULL. */
    const char *here;     /**< Where it was found on this machine, or NULL. */
};
#define PSC_FILE_INFO_INIT                                                                     \
    {                                                                                          \
        sizeof(struct psc_file_info), PSC_FILE_EXECUTABLE, PSC_FILE_FOUND, 0, NULL, NULL, NULL \
    }

/** How many files psc_trace_get_file() has; 0 unless psc_capture_options.list_files was set. */
PSC_API size_t psc_trace_file_count(const struct psc_trace *trace);

/** Fills *ret with file `index`; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_file(const struct psc_trace *trace,
                                                          size_t index, struct psc_file_info *ret,
                                                          struct psc_error *err);

/** What was running; begin with PSC_RUNNING_INFO_INIT. Strings are owned by the trace, or NULL. */
struct psc_running_info {
    uint32_t size;                 /**< sizeof(struct psc_running_info) */
    uint32_t has_uptime;           /**< Non-zero: the next one is known, of living processes. */
    uint64_t uptime_milliseconds;  /**< Since the process began. */
    const char *working_directory; /**< Of living processes. */
    const char *host;              /**< The name of the machine, of living processes. */
    const char *test;              /**< Of pytest: PYTEST_CURRENT_TEST without the phase. */
    const char *test_phase;        /**< "setup", "call", "teardown" */
    const char *test_worker;       /**< PYTEST_XDIST_WORKER */
    const char *rank_variable;     /**< Whose value the next one is: "RANK". */
    uint64_t rank;                 /**< Which of many equal processes it is. */
    uint32_t environment_known;    /**< Non-zero: variables that are not listed are not set. */
    uint32_t environment_initial;  /**< Non-zero: they are those that the process began with. */
    uint32_t memory_count;         /**< Items of PSC_RUNNING_MEMORY, */
    uint32_t package_count;        /**< of PSC_RUNNING_PACKAGES, */
    uint32_t variable_count;       /**< of PSC_RUNNING_ENVIRONMENT. */
    uint32_t reserved;
};
#define PSC_RUNNING_INFO_INIT                                                                     \
    {                                                                                             \
        sizeof(struct psc_running_info), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, \
            0, 0                                                                                  \
    }

/** Fills *ret. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_running(const struct psc_trace *trace,
                                                             struct psc_running_info *ret,
                                                             struct psc_error *err);

/** Lists of what was running; docs/running.md tells what is in them. */
enum psc_running_list {
    PSC_RUNNING_MEMORY = 0,     /**< Kinds of memory: name and bytes. */
    PSC_RUNNING_PACKAGES = 1,   /**< Of extension modules on the stacks: name and version. */
    PSC_RUNNING_ENVIRONMENT = 2 /**< Variables: name and value. */
};

/** An item of such a list; begin with PSC_RUNNING_ITEM_INIT. Strings are owned by the trace. */
struct psc_running_item {
    uint32_t size; /**< sizeof(struct psc_running_item) */
    uint32_t reserved;
    const char *name;
    const char *value; /**< NULL for memory. */
    uint64_t bytes;    /**< Of memory. */
};
#define PSC_RUNNING_ITEM_INIT                             \
    {                                                     \
        sizeof(struct psc_running_item), 0, NULL, NULL, 0 \
    }

/** Fills *ret with item `index` of a list; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status
psc_trace_get_running_item(const struct psc_trace *trace, enum psc_running_list list, size_t index,
                           struct psc_running_item *ret, struct psc_error *err);

/** How many warnings the trace has. */
PSC_API size_t psc_trace_warning_count(const struct psc_trace *trace);

/** The sentence of warning `index`, owned by the trace; NULL out of range. */
PSC_API const char *psc_trace_warning(const struct psc_trace *trace, size_t index);

/** Its code for programs, "file-missing"; as above. */
PSC_API const char *psc_trace_warning_code(const struct psc_trace *trace, size_t index);

#ifdef __cplusplus
}
#endif
#endif
