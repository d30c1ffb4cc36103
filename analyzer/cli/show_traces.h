/** What was captured, printed where the options say. */
#ifndef PSC_SHOW_TRACES_H
#define PSC_SHOW_TRACES_H

#include "options.h"

/** Prints the traces, and what was missing of them; destroys them. @return the exit code. */
int show_traces(struct psc_trace **traces, size_t count, const struct options *options);

#endif
