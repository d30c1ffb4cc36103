/**
 * @file
 * Room `print/wait_text`: what a thread waits for, in words.
 */
#ifndef PSC_WAIT_TEXT_H
#define PSC_WAIT_TEXT_H

#include "trace.h"

/** What is the same for all threads that a line is of. */
struct print_wait_common {
    bool address;
    bool time; /**< The time left: it is of one thread alone. */
};

/**
 * Adds "waits for threading.Lock 0x7f… "jobs", held by thread 12 "worker" (likely)"; adds nothing
 * for the GIL, which the thread's state tells.
 * @return whether anything was added.
 */
bool print_add_wait(const struct psc_trace *trace, const struct trace_wait *wait,
                    const struct print_wait_common *common, struct text *text);
/** Adds ", 2.5 s left". */
void print_add_time_left(double seconds, struct text *text);
/** Whether two threads wait alike: but for addresses and times; either may be NULL. */
bool print_waits_equal(const struct trace_wait *a, const struct trace_wait *b);

/**
 * Adds "waits for asyncio.locks.Lock 0x7f…, held by task "reader" (likely)".
 * @param alone  the time that is left is told.
 * @return whether anything was added: not where the tasks that it waits for say it all.
 */
bool print_add_leaf(const struct trace_tasks *tasks, const struct trace_task *task, bool alone,
                    struct text *text);
/** Whether two tasks wait for the same; either may be NULL. */
bool print_leaves_equal(const struct trace_leaf *a, const struct trace_leaf *b);
/** Adds "deadlock of 2 threads" or the like. */
void print_add_deadlock(const struct trace_deadlock *deadlock, struct text *text);
/** Adds a member and what it waits for, or how many more there are; the index of the next one. */
size_t print_add_deadlock_member(const struct trace_deadlock *deadlock, size_t index,
                                 struct text *text);

#endif
