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

/** A Python frame of the last sample. */
struct outer_frame {
    struct python_frame python;
    size_t native; /**< Native frames from its evaluator outward; 0: none runs it. */
    size_t trace;  /**< Frames of the trace that are outside of it. */
};

/** The last sample of a thread as it was merged, from the outermost frame on. */
struct known_outer {
    struct outer_frame *frames;
    size_t count;
    size_t capacity;
    struct trace_frame *trace;
    size_t trace_count;
    size_t trace_capacity;
    size_t counted; /**< Bytes of it that the session has counted. */
    size_t taken;   /**< Of its native frames, what the sample before told: the outermost ones. */
};

/** Where the part of a stack that is to be merged was cut off. */
struct outer_cut {
    size_t same; /**< Python frames that are as they were; the innermost of them is merged, too. */
    size_t native_count; /**< Of the whole stack. */
    size_t python_count;
};

/** What the last samples of a thread tell of the next one. */
struct known_thread {
    uint64_t tid;
    uint64_t moment; /**< The last one in which it was sampled. */
    bool ended;
    struct known_sample *sample; /**< The last one, if that may come again; or NULL. */
    uint32_t vain;               /**< How often that was kept and did not come again, in a row. */
    psc_addr thread_pointer;     /**< 0: it was never stopped. */
    psc_addr lacking_pc; /**< Where it slept when registers were wanted that are not known. */
    size_t stack_size;
    psc_addr sp; /**< 0: not known. */
    struct native_walked walked;
    struct known_outer outer;
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
    size_t ended_count;          /**< Of them, those that have ended. */
    size_t kept_size;            /**< Bytes of all known samples. */
    size_t walked_size;          /**< Bytes of what all last walks and merges have left. */
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

/* ---- known_outer.c ---- */

/**
 * Leaves of a stack, which was walked and whose frames of Python were read, only the part that has
 * to be merged anew; false: all of it.
 */
bool known_outer_cut(const struct known_outer *outer, struct merged_stack *merged,
                     struct outer_cut *ret);
/**
 * Adds the frames that are outside of that part, and makes the stack whole again.
 * @param ret_taken  false: the part does not end as it did; nothing is added.
 */
PSC_MUST_CHECK enum psc_status known_outer_take(const struct known_outer *outer,
                                                struct merged_stack *merged,
                                                struct trace_thread *thread,
                                                const struct outer_cut *at, bool *ret_taken);
/** Keeps a sample for the next one. @param at  where it was cut; all zero: it was not. */
void known_outer_keep(struct known_outer *outer, const struct merged_stack *merged,
                      const struct trace_thread *thread, const struct outer_cut *at);
size_t known_outer_size(const struct known_outer *outer);
void known_outer_forget(struct known_outer *outer);

/* ---- sampled_tasks.c ---- */

/** Puts the frames of the tasks that await the one that runs into session->thread. */
PSC_MUST_CHECK enum psc_status sampling_add_tasks(struct capture_session *session,
                                                  const struct captured_thread *thread);

/* ---- session.c ---- */

/** The first copy of a stack; the next ones follow what was needed. */
#define FIRST_STACK ((size_t)16 * 1024)

/** What is known of a thread, which may be nothing yet; NULL: out of memory. */
struct known_thread *sampling_know_thread(struct capture_session *session, int32_t tid);
/** What is copied of a thread, which was not seen to sleep. */
struct live_sample sampling_sample_of(const struct known_thread *known, int32_t tid);

/** Forgets what the last walk and merge of a thread have left. */
void sampling_forget_walk(struct capture_session *session, struct known_thread *known);
/** The same of all threads: what was known of code is known no more. */
void sampling_forget_walks(struct capture_session *session);
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
