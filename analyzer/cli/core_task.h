/** What is asked of a keeper (kept_cores.h): to show one core. */
#ifndef PSC_CORE_TASK_H
#define PSC_CORE_TASK_H

#include "options.h"
#include "sandbox.h"

struct packed_core;

/** What a task says of its core; then its name and the warning, each with its zero. */
struct task_text {
    uint32_t owner_known, user, group;
    char names[SANDBOX_TASK_LIMIT - 3 * sizeof(uint32_t)];
};

/** Has an open core shown by it; false: it is still to be shown, and nothing was written. */
bool ask_keeper(const struct options *options, const struct packed_core *core, int fd,
                int *ret_code);

#endif
