/** What the program does when no command is given. */
#ifndef PSC_SHOW_TARGET_H
#define PSC_SHOW_TARGET_H

#include "options.h"

struct packed_core;

/** Shows what the options name. @return the exit code. */
int show_target(struct options *options);

/** What is called with a core's target when it was shown, and with the exit code. */
struct core_finish {
    void (*finish)(void *context, const struct psc_target *target, int code);
    void *context;
};

/** Shows a core file that is open. @return the exit code. @param finish  or NULL. */
int show_open_core(const struct packed_core *file, int fd, const struct options *options,
                   const struct core_finish *finish);

#endif
