/**
 * @file
 * Room `print/what_runs`: what was running, as lines of a report's head.
 */
#ifndef PSC_WHAT_RUNS_H
#define PSC_WHAT_RUNS_H

#include "trace.h"

/** " (rank 3)", or nothing; `running` may be NULL. */
void what_runs_add_rank(struct text *text, const struct trace_running *running);
/**
 * A line each for the test and the packages; with `all` also for uptime, working directory, memory
 * and the environment. Nothing where `running` is NULL.
 */
void what_runs_add_lines(struct text *text, const struct trace_running *running, bool all);

#endif
