/**
 * @file
 * Room `target/core`: a core file as a target. Mapped, never read whole. Of a process that the
 * kernel holds the head of its core is enough (target_options.held_pid): memory is read of it.
 */
#ifndef PSC_CORE_H
#define PSC_CORE_H

#include "target.h"

/**
 * Opens a core file (an ELF file of type ET_CORE).
 * @param executable  where the program is on this machine, or NULL.
 * @param options     copied; may be NULL.
 */
PSC_MUST_CHECK enum psc_status core_open(const char *path, const char *executable,
                                         const struct target_options *options, struct target **ret,
                                         struct psc_error *err);
/** Of the core file; NULL for a target of another kind. */
const char *core_get_path(const struct target *target);

/* ---- copy.c: for a smaller core of the same death ---- */

#define CORE_PAGE ((psc_addr)4096)

/** What a core itself, not the files that were mapped, has of a page. */
struct core_page {
    uint8_t bytes[4096]; /**< Zero where nothing is there. */
    uint64_t valid[64];  /**< A bit for each byte that is. */
    bool some;           /**< Any is. */
};

/** The target is one of core_open(). */
void core_copy_page(struct target *target, psc_addr page, struct core_page *ret);
/** Appends the core's notes, but for those on being slim (save.h), and its segments as one. */
void core_copy_notes(struct target *target, struct text *notes);
/** What a smaller one says of it: enum core_slim_flag, and its size, 0 where there is none. */
uint32_t core_get_slim_flags(const struct target *target);
uint64_t core_get_size(const struct target *target);

#endif
