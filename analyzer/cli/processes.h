/** Which living processes are shown. */
#ifndef PSC_PROCESSES_H
#define PSC_PROCESSES_H

#include "options.h"

/**
 * The processes that --pid and --match name, each once, with --children each followed by its
 * descendants, parents before children; to be freed. NULL: no memory.
 */
int32_t *list_chosen_processes(const struct options *options, size_t *ret_count);

#endif
