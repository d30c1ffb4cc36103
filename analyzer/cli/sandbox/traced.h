/** @file Processes that are traced for a parser, as they come and go. */
#ifndef PSC_TRACED_H
#define PSC_TRACED_H

#include "sandbox.h"

/** @param text  ids of processes, as /proc/PID/task/TID/children has them. */
void traced_add_children(struct sandbox_traced *traced, const char *text);

#endif
