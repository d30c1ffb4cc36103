/** @file pystack-core: slim cores, which hold what a report reads. Included by pystack_core.h. */
#ifndef PYSTACK_CORE_SLIM_H
#define PYSTACK_CORE_SLIM_H

#include "pystack_core_target.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a slim core holds; begin with PSC_SLIM_OPTIONS_INIT. */
struct psc_slim_options {
    uint32_t size; /**< sizeof(struct psc_slim_options) */
    /** Non-zero: also the files of the dead machine that are needed, so that it reads alone. */
    uint32_t with_files;
    /**
     * Non-zero: variables of C and Cython frames are not read, which takes longer than all else;
     * those that lie on a stack are there nevertheless.
     */
    uint32_t no_native_values;
    /**
     * Called when all memory has been read, before anything is written: the process that
     * psc_open_options.held_pid names need not be held any longer. NULL: nobody is told.
     */
    void (*memory_is_read)(void *context);
    void *context;
};
#define PSC_SLIM_OPTIONS_INIT                             \
    {                                                     \
        sizeof(struct psc_slim_options), 0, 0, NULL, NULL \
    }

/**
 * Writes a core file of the same death that holds what reports of all modes read, with values and
 * tasks, and what gdb, lldb and eu-stack need for a backtrace. Its report is that of the core it
 * was made of.
 * @param target  a core file, opened with psc_open_options.notes_reads.
 * @param fd      an empty file, open for reading and writing; stays open.
 * @return PSC_ERR_LIMIT: it was written, but more was read than a slim core holds (a gigabyte).
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_write_slim_core(struct psc_target *target, int fd,
                                                           const struct psc_slim_options *options,
                                                           struct psc_error *err);

#ifdef __cplusplus
}
#endif
#endif
