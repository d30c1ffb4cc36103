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

struct known_sample;

/** What the last samples of a thread tell of the next one. */
struct known_thread {
    uint64_t tid;
    uint64_t moment;             /**< The last one in which it was sampled. */
    struct known_sample *sample; /**< The last one, if that may come again; or NULL. */
    uint32_t vain;               /**< How often that was kept and did not come again, in a row. */
    psc_addr thread_pointer;     /**< 0: it was never stopped. */
    psc_addr lacking_pc; /**< Where it slept when registers were wanted that are not known. */
    size_t stack_size;
    psc_addr sp; /**< 0: not known. */
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
    uint64_t moment;             /**< The number of this one. */
    size_t sweep_at;             /**< So many known threads may be too many. */
    size_t kept_size;            /**< Bytes of all known samples. */
    struct trace_thread *thread; /**< Of the last sample. */
    struct live_thread_name *names;
    size_t name_count;
    bool unknown_code; /**< The last sample met code where none is mapped, as far as is known. */
    bool lacks_frames; /**< There is a gap between the native frames of the last sample. */
    bool outdated;     /**< A module that is known was replaced or is gone. */
    uint64_t look_again_at; /**< When mappings may be read again. */
    uint64_t patience;      /**< Nanoseconds; more each time that they were read in vain. */
};

/* ---- known_sample.c ---- */

/**
 * Keeps session->thread, which was found by the reads that target_list_reads() has, for the next
 * sample of the thread.
 */
void known_sample_keep(struct capture_session *session, struct known_thread *known,
                       const struct captured_thread *thread);
/** Whether a walk of what was copied just now would give what the last one gave. */
bool known_sample_is_same(struct capture_session *session, struct known_thread *known,
                          const struct captured_thread *thread);
/** Makes that session->thread, which is free, without its frames. */
PSC_MUST_CHECK enum psc_status known_sample_take(struct capture_session *session,
                                                 const struct known_thread *known);
void known_sample_forget(struct capture_session *session, struct known_thread *known);
/** Where something else has changed than the thread. */
void known_sample_forget_all(struct capture_session *session);

/* ---- sampled_tasks.c ---- */

/** Puts the frames of the tasks that await the one that runs into session->thread. */
PSC_MUST_CHECK enum psc_status sampling_add_tasks(struct capture_session *session,
                                                  const struct captured_thread *thread);

/* ---- session.c ---- */

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
