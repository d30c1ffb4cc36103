/* What was running: the door of the room inside. */
#include "diagnose.h"

#include "running.h"

void diagnose_read_ahead(struct modules *modules)
{
    running_read_ahead(modules);
}

enum psc_status diagnose_what_runs(struct modules *modules, struct psc_trace *trace)
{
    return running_describe(modules, trace, diagnose_signal_name);
}

bool diagnose_find_environment(struct modules *modules, psc_addr *ret)
{
    return running_find_environment(modules, ret);
}

void diagnose_name_test(struct arena *arena, const char *text, struct trace_running *ret)
{
    running_take_test(arena, text, ret);
}
