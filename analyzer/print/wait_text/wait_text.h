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
/** Whether two threads wait alike: but for addresses and times; either may be NULL. */
bool print_waits_equal(const struct trace_wait *a, const struct trace_wait *b);

#endif
