/* What was running, put together. */
#include "running_private.h"

#include <stdlib.h>

static enum psc_status take_environment(struct modules *modules, struct arena *arena,
                                        struct trace_running *ret)
{
    struct running_variables variables = {0};
    struct target *target = modules_target(modules);
    ret->environment_known = running_read_environment(modules, arena, &variables);
    if (!ret->environment_known) {
        variables.count = 0;
        ret->environment_initial = running_read_initial(target, arena, &variables);
        ret->environment_known = ret->environment_initial;
    }
    struct trace_variable *copy = arena_array(arena, variables.count + 1, sizeof(*copy));
    for (size_t i = 0; copy && ret->environment_known && i < variables.count; i++)
        copy[ret->environment_count++] = variables.items[i];
    ret->environment = copy;
    free(variables.items);
    return copy ? PSC_OK : PSC_ERR_MEMORY;
}

enum psc_status running_describe(struct modules *modules, struct psc_trace *trace,
                                 const char *(*name_signal)(int number))
{
    struct target *target = modules_target(modules);
    struct arena *arena = trace->arena;
    struct trace_running *running = arena_alloc(arena, sizeof(*running));
    struct live_facts facts = {0};
    bool lives = target->kind == TARGET_PROCESS;
    if (!running)
        return PSC_ERR_MEMORY;
    if (lives)
        live_read_facts(target, &facts);
    running->has_uptime = facts.has_uptime;
    running->uptime = facts.uptime;
    if (facts.is_stopped)
        running->stopped_by = facts.stopped_by ? name_signal(facts.stopped_by) : "a signal";
    running->working_directory =
        facts.working_directory ? arena_strdup(arena, facts.working_directory) : NULL;
    running->host = facts.host ? arena_strdup(arena, facts.host) : NULL;
    running_sum_memory(target, lives ? &facts : NULL, arena, running);
    running_find_packages(modules, trace, running);
    enum psc_status status = take_environment(modules, arena, running);
    if (status != PSC_OK)
        return status;
    running_name_test(arena, running);
    trace->running = running;
    return arena_is_exhausted(arena) ? PSC_ERR_MEMORY : PSC_OK;
}
