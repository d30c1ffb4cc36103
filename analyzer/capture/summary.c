/* What a trace says of the process as a whole. */
#include "capture_private.h"

#include "core.h"

#include <string.h>

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/*
 * The name that execve() was called with, as a venv's link, where that named the program: the name
 * of a script stands behind that of its interpreter in the arguments (Linux, fs/exec.c and
 * fs/binfmt_script.c). Else the file that is mapped.
 */
static const char *find_executable(struct target *target)
{
    const struct target_process *process = &target->process;
    const char *const *arguments = process->arguments;
    char path[4096];
    if (!process->executable || !process->argument_count || !target->auxv.execfn ||
        target_read_string(target, target->auxv.execfn, path, sizeof(path)) != PSC_OK ||
        path[0] != '/' || strcmp(last_component(path), last_component(arguments[0])) != 0 ||
        (process->argument_count > 1 && !strcmp(path, arguments[1])))
        return process->executable;
    return arena_strdup(target->arena, path);
}

void describe_process(struct psc_trace *trace, struct target *target)
{
    struct arena *arena = trace->arena;
    const struct target_process *process = &target->process;
    const char *executable = find_executable(target);
    trace->kind = target->kind == TARGET_CORE ? "core" : "process";
    trace->held = target->kind == TARGET_DEBUGGER;
    const char *path = core_get_path(target);
    trace->path = path ? arena_strdup(arena, path) : NULL;
    trace->pid = process->pid;
    trace->executable = executable ? arena_strdup(arena, executable) : NULL;
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
