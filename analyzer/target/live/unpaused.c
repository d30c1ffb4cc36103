/* Looking at a living process without stopping it. */
#include "live_private.h"

#include <errno.h>

/* A process that does much never stands still for long enough. */
#define GLANCE_LIMIT 20

enum psc_status target_snapshot_unpaused(struct target *target, void (*visit)(void *context),
                                         void *context, struct psc_error *err)
{
    struct live *live = target->backend;
    struct target_pause *pause = &target->pause;
    size_t warnings = target->warnings.count;
    for (size_t i = 0; i < GLANCE_LIMIT; i++) {
        target->warnings.count = warnings;
        pages_clear(&live->pages);
        // No file is looked for in between: what is read should be of one moment.
        live->stands = true;
        visit(context);
        live->stands = false;
        pause->pages = live->pages.count;
        pause->changed = pages_count_changed(&live->pages, live->memory_tid);
        if (!pause->changed)
            break;
    }
    target->thread_count = 0;
    if (!pause->pages)
        return live_refuse(live->pid, ESRCH, err);
    return PSC_OK;
}
