/* What a trace says of the process as a whole. */
#include "capture_private.h"

#include "core.h"

#include <string.h>

void describe_process(struct psc_trace *trace, const struct target *target)
{
    struct arena *arena = trace->arena;
    const struct target_process *process = &target->process;
    trace->kind = target->kind == TARGET_CORE ? "core" : "process";
    trace->held = target->kind == TARGET_DEBUGGER;
    const char *path = core_get_path(target);
    trace->path = path ? arena_strdup(arena, path) : NULL;
    trace->pid = process->pid;
    trace->executable = process->executable ? arena_strdup(arena, process->executable) : NULL;
    trace->architecture = target->machine->name;
    const char **arguments = arena_array(arena, process->argument_count + 1, sizeof(*arguments));
    for (size_t i = 0; arguments && i < process->argument_count; i++)
        arguments[i] = arena_strdup(arena, process->arguments[i]);
    trace->arguments = arguments;
    trace->argument_count = arguments ? process->argument_count : 0;
}

/* Explains the unwinder; moves the target's warnings into the trace. */
void summarize(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    if (capture->native) {
        const struct native_statistics *counts = native_get_statistics(capture->native);
        text_printf(&trace->explain,
                    "unwinding: %zu steps by libunwind, %zu by libdw, %zu by heuristics; "
                    "%zu distinct places\n",
                    counts->steps_libunwind, counts->steps_libdw, counts->steps_heuristic,
                    counts->rows);
    }
    const struct warnings *warnings = &capture->target->warnings;
    for (size_t i = 0; i < warnings->count; i++)
        warnings_add(&trace->warnings, warnings->items[i].code, "%s", warnings->items[i].message);
    if (trace->warnings.count)
        trace->complete = false;
}
