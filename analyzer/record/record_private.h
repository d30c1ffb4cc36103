/** @file What the files of room `record` share. */
#ifndef PSC_RECORD_PRIVATE_H
#define PSC_RECORD_PRIVATE_H

#include "capture.h"
#include "live.h"
#include "record.h"
#include "target.h"
#include "trace.h"

#include <dirent.h>

/* ---- record_clock.c: when samples are taken ---- */

/**
 * The time is cut into intervals, and in each one moment is drawn at random: the rate is exact, no
 * program beats with it, and shares vary no more than with independent moments.
 */
struct record_clock {
    uint64_t start; /**< CLOCK_MONOTONIC, ns. */
    uint64_t interval;
    uint64_t slot;   /**< The number of the interval that comes next. */
    uint64_t moment; /**< In it, CLOCK_MONOTONIC, ns. */
    uint64_t random;
};

uint64_t record_now(void);
void slots_init(struct record_clock *clock, uint64_t interval, uint64_t seed);
/**
 * Sleeps until the moment, but no longer than a tenth of a second, or until a signal comes.
 * @return whether the moment is there.
 */
bool slots_wait(const struct record_clock *clock);
/** The moment was used: goes to the next interval that is not over. @return how many were lost. */
uint64_t slots_next(struct record_clock *clock);

/** Processor time that looks may take. */
struct record_budget {
    double most;         /**< Of one processor; 0: all that they need. */
    uint64_t counted_at; /**< When the credit was counted last. */
    uint64_t counted;    /**< ns that had been taken by then. */
    double credit;       /**< ns that may be taken at once; below 0: so many were too many. */
};

/**
 * Where more was taken than may be, goes to the first interval by whose beginning it is made up
 * for.
 * @param now  as record_now() has it. @param taken  ns of processor time, of all so far.
 * @return how many are left out.
 */
uint64_t slots_spare(struct record_clock *clock, struct record_budget *budget, uint64_t now,
                     uint64_t taken);

/* ---- threads.c: what runs ---- */

/** The last stack of a thread, from the outermost frame on: most of the next one is the same. */
struct stack_memory {
    uint64_t age; /**< Of the frame map, see frames_forget(). */
    const struct trace_location **locations;
    uint32_t *stacks; /**< In the profile. */
    size_t count;
    size_t location_capacity;
    size_t stack_capacity;
};

/** Has it run since the last sample? */
enum thread_news {
    THREAD_RAN,   /**< Or it cannot be told. */
    THREAD_SLEPT, /**< It is where it was, in the kernel. */
    THREAD_WAITS  /**< It waits in the kernel; whether it ran before is not known. */
};

struct recorded_thread {
    int32_t tid;
    uint32_t number;  /**< In the profile. */
    int schedstat;    /**< A file of /proc/PID/task/TID, kept open; -1. */
    bool listed;      /**< In the list of the process just now. */
    bool named;       /**< Python's name for it is in the profile. */
    bool has_sample;  /**< The members below are of it. */
    bool has_stack;   /**< `stack` is that of the last sample that was taken. */
    bool asleep;      /**< With `slept_runs`, it sleeps. */
    bool was_stopped; /**< For its sample. */
    bool sleeps_on;   /**< It has not run since the last moment. */
    bool slept_on;    /**< Nor while it was asked for, and copied, with `now_runs`. */
    uint64_t runs;    /**< How often it had been given a processor before the sample. */
    uint64_t slept_runs;
    uint64_t now_runs;     /**< In this moment. */
    uint64_t run_time;     /**< ns of processor time, now. */
    uint64_t counted_time; /**< Of it, what samples have. */
    psc_addr pc;
    psc_addr sp;
    uint32_t stack;
    uint32_t flags;
    struct stack_memory memory;
};

/** What "syscall" of /proc tells of a thread that waits. */
struct thread_wait {
    char text[256];
    size_t size;
    uint64_t runs; /**< See live_ask_call(). */
    psc_addr sp;
    psc_addr pc;
};

/** All of a process, by rising id. */
struct thread_table {
    DIR *tasks;       /**< /proc/PID/task */
    bool wants_waits; /**< Those that wait get samples, too. */
    struct recorded_thread *items;
    size_t count;
    size_t capacity;
    uint64_t links; /**< Of the folder when it was listed; 0: it has to be listed anew. */
};

/** 0 or errno. */
int threads_open(struct thread_table *table, int32_t pid);
void threads_close(struct thread_table *table);
/**
 * Lists them again if there may be others; `listed` of those that are gone is false then.
 * @return PSC_ERR_LIMIT: no more files may be open, of which each takes one; PSC_ERR_MEMORY.
 */
PSC_MUST_CHECK enum psc_status threads_list(struct thread_table *table);
/** Removes those that are gone. */
void threads_sweep(struct thread_table *table);
/**
 * Whether it has run since the last moment. False: threads_ask() knows without asking for it, or
 * it is gone, and listed no more.
 */
bool threads_look(struct thread_table *table, struct recorded_thread *thread);
/**
 * Of a thread that was looked at.
 * @param session  that has begun its moment; of THREAD_RAN a sample is to be taken next.
 * @param ret_wait  of THREAD_WAITS.
 */
enum thread_news threads_ask(struct recorded_thread *thread, struct capture_session *session,
                             struct thread_wait *ret_wait);

/* ---- stack_frames.c: from a trace to the profile ---- */

/** The profile's frames of locations; those of one process as long as its session lives. */
struct frame_map {
    struct profile *profile;
    uint32_t process;
    struct hash_table frames;    /**< By the address of the location. */
    struct hash_table libraries; /**< By the address of the module. */
    uint64_t age;                /**< Locations of another one are none. */
};

void frames_init(struct frame_map *map, struct profile *profile, uint32_t process);
void frames_deinit(struct frame_map *map);
/** Forgets locations and modules, which are others in a new session. */
void frames_forget(struct frame_map *map);
/** The stack of the frames that are shown; PSC_ERR_MEMORY. @param memory  of the same thread. */
PSC_MUST_CHECK enum psc_status frames_add_stack(struct frame_map *map, struct stack_memory *memory,
                                                const struct trace_thread *thread,
                                                uint32_t *ret_stack);
void stack_memory_deinit(struct stack_memory *memory);

/* ---- recorded_sources.c ---- */

/** Notes whose process it is and what its root is; nothing where `sources` is NULL. */
void sources_note_process(struct record_sources *sources, const struct target *target,
                          const struct target_options *open);

/* ---- recorded_processes.c ---- */

/** A process that is recorded. */
struct recorded_process {
    int32_t pid;
    uint32_t number;                 /**< In the profile. */
    uint64_t identity;               /**< Another one after exec. */
    uint64_t looked_at;              /**< When that, and the session, were looked at last. */
    struct capture_session *session; /**< NULL: not yet, or not possible. */
    struct thread_table threads;
    struct frame_map frames;
    bool over;
    bool opened;       /**< A session was opened once. */
    uint64_t cost;     /**< ns that it took to open a session. */
    uint64_t tried_at; /**< When a session was opened last. */
};

struct recording {
    const struct record_options *options;
    struct profile *profile;
    struct record_clock clock;
    struct recorded_process **processes;
    size_t count;
    size_t capacity;
    uint64_t looked_for_children; /**< When. */
    uint32_t weight;              /**< Of the samples of this moment. */
    uint64_t ticked_at;
    bool asked; /**< `tick` has ended it. */
    struct record_budget budget;
    struct psc_error refusal; /**< Why a process cannot be sampled, of the last one. */
};

/** @param parent  number in the profile; 0: none. */
PSC_MUST_CHECK enum psc_status processes_add(struct recording *recording, int32_t pid,
                                             uint32_t parent, struct psc_error *err);
/** Opens its session, if that is possible; else recording->refusal says why. */
PSC_MUST_CHECK enum psc_status processes_open(struct recording *recording,
                                              struct recorded_process *process,
                                              struct psc_error *err);
/** At the end: those that are gone by now have ended. */
void processes_end(struct recording *recording);
void processes_destroy(struct recording *recording);
/** Takes a sample of each of its threads. */
PSC_MUST_CHECK enum psc_status processes_sample(struct recording *recording,
                                                struct recorded_process *process,
                                                struct psc_error *err);
/** Looks for processes that were started by those that are recorded. */
PSC_MUST_CHECK enum psc_status processes_look_for_children(struct recording *recording,
                                                           struct psc_error *err);

/* ---- sampling.c ---- */

/** Calls `tick`. @return whether it ends the recording. */
bool recording_tick(struct recording *recording);

/** Of one process, whose session is open. */
PSC_MUST_CHECK enum psc_status sample_threads(struct recording *recording,
                                              struct recorded_process *process,
                                              struct psc_error *err);

#endif
