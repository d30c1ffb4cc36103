/**
 * @file
 * Room `diagnose/deadlock`: who waits for whom, among threads, tasks and processes, and the cycles
 * in it. A graph (wait_graph.c) is made of what the traces say (thread_edges.c, task_edges.c); of
 * each knot in it one cycle is told (deadlock.c, deadlock_text.c). Knows only traces; errors are
 * PSC_ERR_MEMORY only.
 */
#ifndef PSC_DEADLOCK_H
#define PSC_DEADLOCK_H

#include "trace.h"

/**
 * Fills the deadlocks of traces, in the arena of each: one trace, or those of processes that may
 * wait for each other; each has those that one of its threads or tasks is a member of. May be
 * called again with more traces.
 */
PSC_MUST_CHECK enum psc_status deadlock_fill(struct psc_trace *const *traces, size_t count);

#endif
