/** @file pystack-core: values of variables as text. Included by pystack_core.h. */
#ifndef PYSTACK_CORE_VALUES_H
#define PYSTACK_CORE_VALUES_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The most that may be asked for: foreign memory must stay cheap to look at. */
#define PSC_VALUE_LENGTH_MAX 1048576u
#define PSC_VALUE_ITEMS_MAX  65536u
#define PSC_VALUE_DEPTH_MAX  32u

/**
 * How much of a value is shown; begin with PSC_VALUE_LIMITS_INIT. 0: as much as by default. More
 * than the most is PSC_ERR_ARGUMENT. The whole text of a value grows with the first two; by
 * default it has at most 2000 bytes.
 */
struct psc_value_limits {
    uint32_t size;   /**< sizeof(struct psc_value_limits) */
    uint32_t length; /**< Characters of a text; by default 400, in C and C++ 200. */
    uint32_t items;  /**< Of one container; by default 32, of arrays of numbers in Python 16. */
    uint32_t depth;  /**< Containers in containers; by default 5, in C and C++ 4. */
};
#define PSC_VALUE_LIMITS_INIT                    \
    {                                            \
        sizeof(struct psc_value_limits), 0, 0, 0 \
    }

/** The threads that psc_evaluation.thread_id names by no id. */
enum psc_evaluated_thread {
    PSC_EVALUATED_CRASHED = 0, /**< The one that took the signal; the first when none did. */
    PSC_EVALUATED_MAIN = -1
};

/** A value that is wanted: psc_frame_value() for one moment of a living process, too. */
struct psc_evaluation {
    int32_t thread_id; /**< Or an enum psc_evaluated_thread. */
    /**
     * The number that a text report with the same options gives to it; with detail_hidden one that
     * shows all.
     */
    uint32_t frame;
    /** As psc_frame_value() has it; in frames of Cython and C a name that `locals` shows. */
    const char *expression;
};

/** Whose name it is. */
enum psc_scope {
    PSC_SCOPE_LOCAL = 0,
    PSC_SCOPE_CLOSURE = 1, /**< Of an outer function, or one that inner functions share. */
    PSC_SCOPE_GLOBAL = 2,
    PSC_SCOPE_BUILTIN = 3
};

/**
 * Writes the value of a name in a Python frame as text, bounded as psc_capture_options.locals has
 * it. Locals go before globals, globals before builtins. Values are read, nothing is called: what
 * only code of the program can give (a property) is PSC_ERR_UNSUPPORTED.
 * The text may hold what the program holds, control characters too.
 * @param target  a core file, or a process that a debugger holds. One that runs on is
 *                PSC_ERR_UNSUPPORTED: its frames do not wait.
 * @param frame   of a trace of this target, see psc_trace_python_frame().
 * @param what    a name, and steps on from there: `self.rows[-1]['name']`.
 * @param ret     whose name the first one is; may be NULL.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_frame_value(struct psc_target *target, psc_addr frame,
                                                       const char *what, psc_write_fn write,
                                                       void *context, enum psc_scope *ret,
                                                       struct psc_error *err);

/** psc_frame_value() with limits, which may be NULL. */
PSC_MUST_CHECK PSC_API enum psc_status
psc_frame_value_within(struct psc_target *target, psc_addr frame, const char *what,
                       const struct psc_value_limits *limits, psc_write_fn write, void *context,
                       enum psc_scope *ret, struct psc_error *err);

/** What became of a psc_evaluation; begin with PSC_EVALUATED_INIT. Strings are the trace's. */
struct psc_evaluated {
    uint32_t size;     /**< sizeof(struct psc_evaluated) */
    int32_t thread_id; /**< 0: there is no such thread. */
    uint32_t frame;
    enum psc_scope scope; /**< With a value. */
    const char *function; /**< Of the frame, or NULL. */
    const char *expression;
    const char *value;   /**< NULL: `problem` says why. */
    const char *problem; /**< Or NULL. */
};
#define PSC_EVALUATED_INIT                                                          \
    {                                                                               \
        sizeof(struct psc_evaluated), 0, 0, PSC_SCOPE_LOCAL, NULL, NULL, NULL, NULL \
    }

/** How many values were asked for. */
PSC_API size_t psc_trace_evaluation_count(const struct psc_trace *trace);

/** Fills *ret with the value that was asked for as number `index`; PSC_ERR_ARGUMENT out of range.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_evaluation(const struct psc_trace *trace,
                                                                size_t index,
                                                                struct psc_evaluated *ret,
                                                                struct psc_error *err);

/**
 * Writes the names that psc_frame_value() knows, each followed by a line break; those of locals
 * first, some may come twice.
 * @param what  NULL, or a value as above: then the names of its attributes.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_frame_names(struct psc_target *target, psc_addr frame,
                                                       const char *what, psc_write_fn write,
                                                       void *context, struct psc_error *err);

#ifdef __cplusplus
}
#endif
#endif
