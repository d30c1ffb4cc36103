/**
 * @file
 * Room `target/live`: a living process as a target.
 *
 * It is stopped for a moment, in which registers, stacks and what a visitor reads are copied;
 * pages that were read in it stay as they were until the next snapshot. What was not read then is
 * read of the process as it goes on, unless the time for reading ran out in the stop: then it is
 * not read at all.
 *
 * What the kernel refuses is an error whose sentence says why, and the way out.
 */
#ifndef PSC_LIVE_H
#define PSC_LIVE_H

#include "target.h"

#include <sys/uio.h>

/** Milliseconds of a snapshot; all but `prepare` are part of its pause. */
struct live_pause {
    double prepare;
    double stop;      /**< From the first thread stopped to the last. */
    double registers; /**< And the list of mappings. */
    double stacks;
    double visit;
    double save; /**< What only a core file needs; 0 without. */
    double resume;
    size_t pages;   /**< Of an unpaused snapshot: how many were read, and how many had changed */
    size_t changed; /**< when they were read again. */
    size_t threads; /**< How many there were; */
    size_t asleep;  /**< those of them that slept, and were stopped after it, some at a time. */
    size_t tries;   /**< Snapshots that it took, the last of which counts. */
    bool refused;   /**< It may not be stopped; what can be read of it is another question. */
};

/** What is wanted of a snapshot. */
struct live_request {
    /**
     * Reads what is going to be needed. It must do no more than that, and runs in a thread of its
     * own. It is called before the stop, too, while the process runs and without threads, so that
     * the pages that it reads are known: each time it must begin afresh.
     */
    void (*visit)(void *context);
    void *context;
    bool vectors; /**< The vector registers of the threads, too. */
    bool passing; /**< Another snapshot follows: nothing of this one is kept for a core file. */
};

/**
 * Opens a living process. It has no threads until a snapshot was taken. Of one whose memory may
 * not be read, see live_get_refusal(), only the threads can be listed.
 * @param options  copied; may be NULL.
 */
PSC_MUST_CHECK enum psc_status live_open(int32_t pid, const struct target_options *options,
                                         struct target **ret, struct psc_error *err);
/** Why the memory of the process may not be read; NULL: it may. */
const char *live_get_refusal(const struct target *target);
/**
 * Before a snapshot: takes the list of mappings as it is now.
 * @param ret_changed  true when other files are mapped than before, or at other places: what was
 *                     made of them has to be made again.
 */
PSC_MUST_CHECK enum psc_status live_prepare(struct target *target, bool *ret_changed,
                                            struct psc_error *err);
/**
 * Before that, as early as can be: notes which threads there are. Those that have not run since
 * then are taken to be asleep, and are not stopped with the others. Of a process that has just
 * stood it waits first until it has gone on for as long.
 */
void live_note_threads(struct target *target);
/**
 * Stops all threads, takes registers and stacks, fills threads (but for their names), calls the
 * visitor, and lets them go. Those that sleep all the while are taken afterwards.
 * @param ret_changed  as above: other files were mapped at the stop than at the preparation.
 */
PSC_MUST_CHECK enum psc_status live_snapshot(struct target *target,
                                             const struct live_request *request, bool *ret_changed,
                                             struct psc_error *err);
/**
 * The same without stopping anything and without registers: the visitor is called until what it
 * read is the same when it is read again, or some times. There are no threads then.
 */
PSC_MUST_CHECK enum psc_status live_snapshot_unpaused(struct target *target,
                                                      const struct live_request *request,
                                                      struct psc_error *err);
/** A thread that sleeps in the kernel: with an unchanged count it has slept since. */
struct live_sleep {
    const char *call; /**< The text of /proc/PID/task/TID/syscall. */
    size_t call_size;
    psc_addr pc;   /**< By it. */
    int schedstat; /**< /proc/PID/task/TID/schedstat, open. */
    uint64_t runs; /**< The count in it, as it was before that text was read. */
    psc_addr thread_pointer;
    bool slept_on; /**< Of one whose memory was copied when it was asked: the same count behind. */
};

/** One thread at one moment, see live_sample_thread(). */
struct live_sample {
    int32_t tid; /**< To be set. */
    /**
     * To be set: it was seen to sleep, and is not stopped if it has slept until all is copied;
     * registers that the kernel does not tell are `unknown` then. Or NULL.
     */
    const struct live_sleep *sleep;
    const psc_addr *pages; /**< To be set: what is copied beside the stack, rising. */
    size_t page_count;
    size_t stack_size; /**< To be set: bytes of its stack, from the stack pointer on. */
    psc_addr near;     /**< To be set: where its stack pointer was last; 0: not known. */
    uint64_t stood;    /**< Nanoseconds from the request to stop until it was let go. */
    bool suspended;    /**< It was stopped by a signal before, and still is. */
};

/**
 * How long a thread has had a processor, and how often it was given one, by the file that
 * struct live_sleep names; 0 for both where the kernel does not count. False: it has ended.
 */
bool live_read_runs(int schedstat, uint64_t *ret_nanoseconds, uint64_t *ret_runs);

/** Pages that are copied beside the stack at most. */
#define LIVE_SAMPLE_PAGES ((size_t)256)
/** Bytes of a stack that are copied at most. */
#define LIVE_SAMPLE_STACK ((size_t)2 * 1024 * 1024)

/**
 * Stops one thread alone, copies its registers, its stack and the given pages, and lets it go: it
 * is not held when this returns. The target has that one thread then, and what was read of it
 * before is forgotten. Other memory is read as it is afterwards. All calls for a process have to
 * come from one thread of this program.
 * @return PSC_ERR_NOT_FOUND: it has ended; PSC_ERR_LIMIT: the kernel holds it, and it could not be
 *         stopped in time; PSC_ERR_IO: it may not be stopped.
 */
PSC_MUST_CHECK enum psc_status live_sample_thread(struct target *target, struct live_sample *sample,
                                                  struct psc_error *err);
/**
 * From now on memory is read by the calling thread and without a time limit: for who samples, and
 * holds nothing when it reads.
 */
void live_read_directly(struct target *target);
/** The same without a thread and without a stop: only forgets what was read before. */
void live_sample_nothing(struct target *target);
/** While it is set, what was not copied for the sample cannot be read. */
void live_sample_only_copied(struct target *target, bool only);
/** To be called before the samples of one moment: which pages are in memory is asked anew. */
void live_begin_moment(struct target *target);
/** To be called after them. */
void live_end_moment(struct target *target);
/** How many pages were read of the process as it goes on, since the last sample. */
size_t live_late_pages(const struct target *target);
/** Whether some of these bytes was read so. */
bool live_was_late(const struct target *target, psc_addr start, size_t size);
/**
 * Lets threads go that did not stop in time, if they have by now; to be called some times a second.
 */
void live_let_late_go(struct target *target);
/**
 * Whether some of them did not stop yet. Closing the target waits for them some seconds: they stand
 * once they have stopped, and nobody else lets them go.
 */
bool live_has_late(const struct target *target);
/** Which pages were read since the last sample, those of the stack not counted; at most `limit`. */
size_t live_sample_pages(const struct target *target, psc_addr *ret, size_t limit);
/** What the process knows a thread by, and its id as it is seen from here. */
struct live_thread_name {
    psc_addr pthread;   /**< What pthread_self() is in it; 0: not known. */
    uint64_t native_id; /**< What gettid() was in it; 0: not known. */
    int32_t tid;        /**< 0: it is not there any more, or cannot be told for certain. */
};

/** Finds the ids of threads of a process that goes on, by what the C library keeps of them. */
PSC_MUST_CHECK enum psc_status live_find_threads(struct target *target,
                                                 struct live_thread_name *names, size_t count);
/** What the system knows of a process beside its memory, see proc(5). */
struct live_facts {
    bool has_uptime;
    double uptime;                 /**< Seconds since it began. */
    bool is_stopped;               /**< A signal had stopped it before this program did, */
    int32_t stopped_by;            /**< this one; 0: not known. */
    const char *working_directory; /**< As the process has it; or NULL. The target's. */
    const char *host;              /**< The name of the machine that it runs on; or NULL. */
    bool has_memory;               /**< The next ones, in bytes, are known. */
    uint64_t resident;             /**< VmRSS */
    uint64_t resident_anonymous;   /**< RssAnon */
    uint64_t resident_file;        /**< RssFile */
    uint64_t resident_shared;      /**< RssShmem */
    uint64_t swapped;              /**< VmSwap */
};

/** Keeps what live_read_facts() tells, when a snapshot was taken: later there may be no right. */
void live_keep_facts(struct target *target);
/** As of then; what is refused stays unknown. */
void live_read_facts(struct target *target, struct live_facts *ret);
/**
 * The environment that the process began with: strings, each with its zero; malloc'd, or NULL where
 * it cannot be read.
 */
char *live_read_environment(const struct target *target, size_t *ret_size);
/** Of the last snapshot. */
const struct live_pause *live_get_pause(const struct target *target);
/** Fills threads by what everybody may know: names and states. All are unreadable. */
PSC_MUST_CHECK enum psc_status live_list_threads(struct target *target, struct psc_error *err);

/**
 * The next live_snapshot() also keeps what a core file needs. Nothing is at `path` before
 * live_place_core() has succeeded.
 * @param full  all memory that the kernel would dump is copied while the process stands still.
 */
PSC_MUST_CHECK enum psc_status live_keep_core(struct target *target, const char *path, bool full,
                                              struct psc_error *err);
/**
 * Writes the last snapshot as a core file: registers, stacks, and all memory that was read for it
 * and since. It has no name yet.
 */
PSC_MUST_CHECK enum psc_status live_save_core(struct target *target, struct psc_error *err);
/** Puts what was written in its place; PSC_OK where no core file was asked for, or it is dropped.
 */
PSC_MUST_CHECK enum psc_status live_place_core(struct target *target, struct psc_error *err);
/** Keeps nothing any more; nothing is written. */
void live_drop_core(struct target *target);

/* ---- who may trace, and who reads what he tells ---- */

/** What is asked for of one thread. */
enum live_order_kind {
    /**
     * What it waits for, see struct live_sleep; with `stops`, one that runs is sampled at once,
     * with `copies`, memory of one that waits is copied at once. With both, one that wakes up
     * each time that it is copied is stopped, too.
     */
    LIVE_ORDER_CALL,
    LIVE_ORDER_STOP,  /**< Its registers and memory while it stands. */
    LIVE_ORDER_COPY,  /**< Memory of one that sleeps. */
    LIVE_ORDER_LATE,  /**< Those are let go that did not stop in time, if they have by now. */
    LIVE_ORDER_REFUSE /**< No thread: why the process may not be read. */
};

/** An order, as plain data: it may come from another process, by memory that both have. */
struct live_order {
    uint32_t kind; /**< enum live_order_kind */
    int32_t tid;
    uint32_t stops;      /**< Of LIVE_ORDER_CALL; */
    uint32_t copies;     /**< so is this. */
    int32_t error;       /**< Of LIVE_ORDER_REFUSE: the errno. */
    uint64_t runs;       /**< With `copies`: how often it had a processor, before; 0: not known. */
    uint64_t moment;     /**< With another number, which pages are in memory is asked anew. */
    psc_addr sp;         /**< Of LIVE_ORDER_COPY: its stack pointer. */
    psc_addr near;       /**< As struct live_sample has it; */
    psc_addr near_start; /**< the mapping there, which a copy does not leave; 0, 0: not known. */
    psc_addr near_end;
    uint64_t stack_size; /**< At most LIVE_SAMPLE_STACK. */
    uint32_t page_count; /**< At most LIVE_SAMPLE_PAGES. */
    psc_addr pages[LIVE_SAMPLE_PAGES];
};

/** What came of it. */
struct live_delivery {
    uint32_t status;     /**< enum psc_status, as live_sample_thread() has it. */
    uint32_t late_count; /**< Threads of the process that did not stop yet. */
    uint32_t stopped;    /**< It was, or was to be. */
    uint32_t copied;     /**< Its memory, without a stop. */
    uint32_t suspended;  /**< As struct live_sample has it. */
    uint64_t runs;       /**< With `copied`: the count with which it slept meanwhile; 0: unknown. */
    uint64_t stood;
    psc_addr stack_start; /**< What of the stack was chosen. */
    psc_addr stack_end;
    uint64_t got; /**< Bytes, of the ranges one after the other. */
    uint32_t range_count;
    uint32_t call_size;
    char call[256]; /**< The text of /proc/PID/task/TID/syscall; with a zero. */
    uint8_t registers[TARGET_USER_REGISTERS_LIMIT]; /**< NT_PRSTATUS, of one that was stopped. */
    char message[sizeof(((struct psc_error *)0)->message)]; /**< Of a status that is an error. */
    struct iovec ranges[LIVE_SAMPLE_PAGES + 1];
};

/** Bytes that an order copies at most. */
#define LIVE_COPY_SIZE (LIVE_SAMPLE_STACK + (LIVE_SAMPLE_PAGES + 2) * (size_t)4096)

/** An order and what came of it. */
struct live_exchange {
    struct live_order order;
    struct live_delivery delivery;
    uint8_t bytes[LIVE_COPY_SIZE];
};

/** Orders for threads of one moment that are given together, at most. */
#define LIVE_TOGETHER ((size_t)16)
/** The first exchange is for orders that are given alone, the others are for those. */
#define LIVE_EXCHANGES (LIVE_TOGETHER + 1)

/**
 * Who traces the threads of one process: they are stopped, and waited for, by the thread that
 * creates this, which gives all orders.
 */
struct live_tracing;
/**
 * @param folder  /proc/PID, which stays the caller's: threads below it alone are stopped.
 * @return NULL: out of memory.
 */
struct live_tracing *live_tracing_create(int32_t pid, int folder);
/** Waits some seconds for threads that did not stop yet. */
void live_tracing_destroy(struct live_tracing *tracing);
/** An order, whatever is in it, and where to put what comes of it. */
struct live_errand {
    const struct live_order *order;
    uint8_t *bytes; /**< Room for LIVE_COPY_SIZE. */
    struct live_delivery *ret;
};

/**
 * Does what is ordered; nothing is held when it returns. Threads that run are asked to stop all at
 * once, and each goes on as soon as it is copied.
 * @param count  LIVE_TOGETHER at most.
 */
void live_tracing_do(struct live_tracing *tracing, const struct live_errand *errands, size_t count);
/** To be called where no order may come for some time. */
void live_tracing_rest(struct live_tracing *tracing);

/**
 * Where another process has the right to trace: target_options.agent. What is in the pages of a
 * sample is in the exchange's `bytes` then, until the next order there.
 */
struct live_agent {
    struct live_exchange *exchanges; /**< LIVE_EXCHANGES; orders are to be filled. */
    /**
     * Gives `count` orders, from that exchange on, to who traces that process. False: there is
     * nobody any more.
     */
    bool (*give)(void *context, int32_t pid, uint32_t first, uint32_t count);
    /** No orders for that process follow; it may be called when there were none. */
    void (*end)(void *context, int32_t pid);
    void *context;
};

/**
 * How many questions of live_ask_call() may be asked together: each takes two changes of processes
 * where another one traces, and 0 where none does.
 */
size_t live_room_together(const struct target *target);
/**
 * Notes a question, of which there are fewer than live_room_together() since the last call of
 * live_ask_together(), which asks them. live_ask_call() for the same threads tells what came of it.
 * @param copies  memory of one that waits is copied at once, which live_sample_thread() tells of
 *                when it is given its sleep.
 * @param runs  its count before, as live_read_runs() has it; 0: not known.
 */
void live_note_question(struct target *target, const struct live_sample *sample, bool stops,
                        bool copies, uint64_t runs);
void live_ask_together(struct target *target);
/**
 * Before a sample: what the thread waits for. One that runs is sampled at once where `stops` says
 * so, and live_sample_thread(), called next for the same thread, tells of that.
 * @param sample  as for that.
 * @param ret  the text, with a zero; empty where it is not known.
 * @param ret_runs  of one whose memory was copied: the count with which it slept until that was
 *                  done, since it was `runs` or since its call was read; 0: not known.
 * @return bytes of it.
 */
size_t live_ask_call(struct target *target, const struct live_sample *sample, bool stops,
                     char ret[256], uint64_t *ret_runs);

#endif
