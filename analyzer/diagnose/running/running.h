/**
 * @file
 * Room `diagnose/running`: what was running. Memory by kind, packages of the extension modules on
 * the stacks, the environment, the test: fills trace->running, whose strings are in the trace's
 * arena. Knows no Python; errors are PSC_ERR_MEMORY only, what cannot be read is not known.
 */
#ifndef PSC_RUNNING_H
#define PSC_RUNNING_H

#include "modules.h"
#include "trace.h"

/**
 * Reads the environment that the process has now, by `environ` of the C library: of a living one,
 * the memory that running_describe() is going to read.
 */
void running_read_ahead(struct modules *modules);

/**
 * Fills trace->running; the threads are there. Opens files of this machine.
 * @param name_signal  "SIGSTOP"; what it gives is there for ever.
 */
PSC_MUST_CHECK enum psc_status running_describe(struct modules *modules, struct psc_trace *trace,
                                                const char *(*name_signal)(int number));

/** Where the variable `environ` of the C library is; false: not known. */
bool running_find_environment(struct modules *modules, psc_addr *ret);
/** Splits the value of PYTEST_CURRENT_TEST, in the arena. */
void running_take_test(struct arena *arena, const char *text, struct trace_running *ret);

#endif
