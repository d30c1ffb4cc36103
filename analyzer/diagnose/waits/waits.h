/**
 * @file
 * Room `diagnose/waits`: what each thread waits for, and who has it. Fills trace_thread.waits_for,
 * whose strings are in the trace's arena, from what memory and registers prove. Errors are
 * PSC_ERR_MEMORY only.
 */
#ifndef PSC_WAITS_H
#define PSC_WAITS_H

#include "trace.h"

/** Fills waits_for of all threads of a trace, whose frames and states are there. */
PSC_MUST_CHECK enum psc_status waits_fill(struct psc_trace *trace);

#endif
