/** @file pystack-core: deaths that left no core. Included by pystack_core.h. */
#ifndef PYSTACK_CORE_EXITS_H
#define PYSTACK_CORE_EXITS_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a process ended that left no core file; begin with PSC_EXIT_INIT. Strings are copied. */
struct psc_exit {
    uint32_t size; /**< sizeof(struct psc_exit) */
    int32_t pid;
    int32_t signal;         /**< That ended it; 0: none. */
    int32_t status;         /**< What it gave to exit(), without a signal. */
    uint32_t out_of_memory; /**< Non-zero: the kernel ended it, for lack of memory. */
    uint32_t argument_count;
    const char *executable;         /**< Or NULL, as the other strings. */
    const char *const *arguments;   /**< The command line. */
    const char *working_directory;  /**< Before the end. */
    const char *test;               /**< PYTEST_CURRENT_TEST as it was seen last; */
    const char *worker;             /**< PYTEST_XDIST_WORKER. */
    const char *known_by;           /**< Who told of the end: "wait". */
    const char *without_core;       /**< Why it left no core. */
    uint32_t test_age_milliseconds; /**< The test was seen so long before the end. */
    uint32_t reserved;
};

#define PSC_EXIT_INIT                                                                          \
    {                                                                                          \
        sizeof(struct psc_exit), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0 \
    }

/**
 * A trace without threads that says how a process ended: its target is of kind "exit", and its
 * signature is of signal or status and of the test, else the program.
 */
PSC_MUST_CHECK PSC_API enum psc_status
psc_describe_exit(const struct psc_exit *exit, struct psc_trace **ret, struct psc_error *err);

/**
 * Where the variable `environ` of the target's C library is, which leads to its environment as it
 * is now. A living process is not stopped for it. PSC_ERR_NOT_FOUND: it has none that is known.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_find_environment(struct psc_target *target,
                                                            psc_addr *ret, struct psc_error *err);

#ifdef __cplusplus
}
#endif
#endif
