/**
 * @file
 * Room `cli/tracing`: a process is looked at again and again by two: one who stops its threads and
 * opens files, and a parser without rights (cli/sandbox), which finds the stacks in what the first
 * one has copied.
 */
#ifndef PSC_TRACING_H
#define PSC_TRACING_H

#include "record.h"
#include "started_command.h"

/** What is done so. */
struct tracing_task {
    /** `pid` and `children` of it are traced; `agent` is set for the parser. */
    struct record_options *record;
    /** That was started before, of which the process is; or NULL. */
    struct started_command *command;
    bool terminal; /**< The parser draws. */
    /** Called in the other one when a signal has ended the parser, before it is told; or NULL. */
    void (*killed)(void);
    /** As of sandbox_run(). */
    int (*work)(void *context);
    void *context;
};

/**
 * To be called before: SIGINT, SIGTERM and SIGHUP end nothing by themselves from now on. False, and
 * said so: out of memory.
 */
bool tracing_watch(void);
/**
 * Does it. Where no parser without rights can be made the work is done here, with the right to
 * trace.
 * @return the work's value; EXIT_NOTHING, and said so, when it died.
 */
int tracing_run(const struct tracing_task *task);

/* ---- in the work ---- */

/** Signals that came to end it. */
int tracing_interrupts(void);
/** Whether the command has ended; false where there is none. */
bool tracing_command_ended(void);

#endif
