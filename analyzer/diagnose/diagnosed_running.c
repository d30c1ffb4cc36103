/* What was running: the door of the room inside. */
#include "diagnose.h"

#include "running.h"

void diagnose_read_ahead(struct modules *modules)
{
    running_read_ahead(modules);
}

enum psc_status diagnose_what_runs(struct modules *modules, struct psc_trace *trace)
{
    return running_describe(modules, trace);
}
