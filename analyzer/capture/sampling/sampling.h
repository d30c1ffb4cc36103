/**
 * @file
 * Room `capture/sampling`: the same way as of a report, for one thread after the other of a living
 * process that is looked at again and again. The door for others is capture.h.
 */
#ifndef PSC_SAMPLING_H
#define PSC_SAMPLING_H

#include "capture_private.h"
#include "live.h"

/** Pages beside its stack that are copied while a thread stands, as far as they are known. */
#define KNOWN_PAGES 128

/** What the last samples of a thread tell of the next one. */
struct known_thread {
    uint64_t tid;
    psc_addr thread_pointer; /**< 0: it was never stopped. */
    psc_addr lacking_pc;     /**< Where it slept when registers were wanted that are not known. */
    size_t stack_size;
    size_t page_count;
    psc_addr pages[KNOWN_PAGES]; /**< Rising. */
    uint8_t ages[KNOWN_PAGES];   /**< How many samples ago each was wanted. */
};

struct capture_session {
    struct capture capture;
    struct modules *modules;
    struct evaluator_facts facts;
    struct python_thread_list list;
    uint64_t listed_at;          /**< 0: not yet. */
    struct hash_table known;     /**< struct known_thread */
    struct trace_thread *thread; /**< Of the last sample. */
    struct live_thread_name *names;
    size_t name_count;
    bool unknown_code; /**< The last sample met code where none is mapped, as far as is known. */
    bool outdated;     /**< A module that is known was replaced or is gone. */
    uint64_t look_again_at; /**< When mappings may be read again. */
    uint64_t patience;      /**< Nanoseconds; more each time that they were read in vain. */
};

uint64_t sampling_now(void);
/** Frees session->thread. */
void sampling_forget_thread(struct capture_session *session);
/**
 * Reads the mappings again, unless that was done in vain just now, and takes the modules that are
 * new. *ret_taken: there are some.
 */
PSC_MUST_CHECK enum psc_status sampling_take_modules(struct capture_session *session,
                                                     bool *ret_taken, struct psc_error *err);
/** Lists Python's threads anew; where that fails the list stays what it was. */
PSC_MUST_CHECK enum psc_status sampling_list_python(struct capture_session *session);

#endif
