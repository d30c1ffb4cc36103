/**
 * @file
 * Room `record`: samples a living process over time into a profile. At each moment the threads that
 * have run since the last one are stopped, one at a time, copied, and let go at once; the others
 * keep the stack that they had.
 *
 * The process is never held between two moments: its signals and debuggers go on as ever, and it
 * runs on if this program is killed anywhere.
 */
#ifndef PSC_RECORD_H
#define PSC_RECORD_H

#include "profile.h"

struct live_agent;
struct target_options;

/** Source files of the processes, which may be over when the files are read. */
struct record_sources;

/** What is to be recorded. */
struct record_options {
    int32_t pid;
    double rate;      /**< Moments a second. */
    double duration;  /**< Seconds; 0: until the process ends, or `tick` says so. */
    bool python_only; /**< Python frames alone. */
    bool no_pause;    /**< Nothing is stopped; Python frames alone. */
    bool idle;        /**< Threads that wait, too. */
    bool only_gil;    /**< Only who holds the GIL. */
    bool by_cpu;      /**< Weights are processor time. */
    bool splits_threads;
    bool children; /**< Descendants, too, as they come and go. */
    bool folds_lines;
    bool tasks;    /**< The chain of tasks that await a running one stands below its frames. */
    uint64_t seed; /**< Of the jitter; 0: by the clock. */
    /** Of one processor that it takes: moments are left out for that. 0: all that it needs. */
    double most_cpu;
    const struct target_options *open; /**< Where files are; or NULL. */
    /** Who has the right to trace, see live.h; NULL: this process. */
    const struct live_agent *agent;
    /** Of a process that works for this one, all of whose processor time counts; 0: none. */
    int32_t helper;
    struct record_sources *sources; /**< To be read when it has ended; or NULL. */
    /**
     * Called after each moment, and about ten times a second while nothing can be sampled and while
     * a moment takes long, between two threads. The profile is whole and may be read,
     * profile_drop_samples() may be called.
     * @return 0 to go on; anything else ends the recording, which is no error.
     */
    int (*tick)(void *context, struct profile *profile);
    void *tick_context;
};

/** Why it ended. */
enum record_end {
    RECORD_DURATION, /**< Its time was over. */
    RECORD_EXITED,   /**< The process (with `children`, the last of them) is gone. */
    RECORD_ASKED     /**< By `tick`. */
};

/**
 * Records until the end. What was recorded up to an error stays in the profile.
 * @param profile  a new one.
 */
PSC_MUST_CHECK enum psc_status record_run(const struct record_options *options,
                                          struct profile *profile, enum record_end *ret_end,
                                          struct psc_error *err);

/* ---- recorded_sources.c ---- */

/** NULL: out of memory. */
struct record_sources *record_sources_create(void);
void record_sources_destroy(struct record_sources *sources);
/**
 * The text of a source file as a recorded process names it, as sources_read_file() has it: with
 * several processes one that the user of each may read himself, of the first one's root.
 * @param context  the struct record_sources.
 * @return malloc'd; NULL: there is none, or it is not to be shown.
 */
char *record_sources_read(void *context, const char *file, size_t *ret_size);

#endif
