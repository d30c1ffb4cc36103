/* psc_capture(): the whole way in one place. */
#include "api.h"
#include "core.h"
#include "sized_struct.h"
#include "diagnose.h"
#include "live.h"
#include "process.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_in_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void explain_stage(struct psc_trace *trace, const char *stage, double *since)
{
    double now = now_in_milliseconds();
    text_printf(&trace->explain, "time: %s %.2f ms\n", stage, now - *since);
    *since = now;
}

static void describe_process(struct psc_trace *trace, const struct target *target)
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

static enum psc_status open_sources(struct psc_target *target, struct psc_trace *trace,
                                    struct psc_capture_options *options,
                                    struct capture_sources *ret, struct psc_error *err)
{
    *ret = (struct capture_sources){.target = target->target,
                                    .modules = target->modules,
                                    .locals = options->locals,
                                    .tasks = options->tasks,
                                    .keeps_core = options->core_path != NULL};
    enum psc_status status = target->target->kind == TARGET_PROCESS
                                 ? snapshot_process(target, trace, options, ret, err)
                                 : open_python(target, trace, options->mode, &ret->python, err);
    if (status == PSC_OK && options->mode != PSC_MODE_PYTHON)
        status =
            native_create(target->target, target->modules, options->unwinder, &ret->native, err);
    return status;
}

static void close_sources(struct capture_sources *sources)
{
    python_close(sources->python);
    native_destroy(sources->native);
}

/* That nobody holds it is known only when all threads were looked at. */
static void find_gil_holder(struct psc_trace *trace, bool all_threads)
{
    struct trace_python python;
    if (!trace->python)
        return;
    memcpy(&python, trace->python, sizeof(python));
    for (size_t i = 0; i < trace->thread_count; i++) {
        if (trace->threads[i].state & TRACE_STATE_HOLDS_GIL)
            python.gil_holder_tid = trace->threads[i].tid;
        if (trace->threads[i].state & TRACE_STATE_WITHOUT_GIL)
            python.without_gil = true;
    }
    python.gil_known = python.gil_holder_tid || (!python.without_gil && all_threads);
    struct trace_python *record = arena_alloc(trace->arena, sizeof(*record));
    if (record) {
        *record = python;
        trace->python = record;
    }
}

/* Explains the unwinder; moves the target's warnings into the trace. */
static void finish(struct psc_trace *trace, const struct capture_sources *sources)
{
    if (sources->native) {
        const struct native_statistics *counts = native_get_statistics(sources->native);
        text_printf(&trace->explain,
                    "unwinding: %zu steps by libunwind, %zu by libdw, %zu by heuristics; "
                    "%zu distinct places\n",
                    counts->steps_libunwind, counts->steps_libdw, counts->steps_heuristic,
                    counts->rows);
    }
    const struct warnings *warnings = &sources->target->warnings;
    for (size_t i = 0; i < warnings->count; i++)
        warnings_add(&trace->warnings, warnings->items[i].code, "%s", warnings->items[i].message);
    if (trace->warnings.count)
        trace->complete = false;
}

enum psc_status psc_capture(struct psc_target *target, const struct psc_capture_options *given,
                            struct psc_trace **ret, struct psc_error *err)
{
    struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
    if (!target || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_capture: target or ret is NULL");
    enum psc_status status =
        sized_take(SIZED_TYPE(psc_capture_options, PSC_CAPTURE_OPTIONS_INIT), given, &options, err);
    if (status != PSC_OK)
        return status;
    if (options.no_pause && target->target->kind != TARGET_PROCESS)
        options.no_pause = 0;
    if (options.no_pause)
        options.mode = PSC_MODE_PYTHON;
    // Values of native frames decompress the debug information in any case.
    if (options.locals)
        options.all_inlined = 1;
    struct psc_trace *trace = trace_create();
    if (!trace)
        return psc_fail_memory(err);
    double since = now_in_milliseconds();

    struct capture_sources sources = {0};
    describe_process(trace, target->target);
    status = begin_core(target->target, trace, &options, err);
    if (status == PSC_OK)
        status = open_sources(target, trace, &options, &sources, err);
    explain_stage(trace, "finding the interpreter", &since);
    if (status == PSC_OK)
        status = end_call(target->target, trace_fill(trace, &sources, &options, err), err);
    explain_stage(trace, "walking, merging and looking up", &since);
    if (status == PSC_OK)
        status = diagnose_crash(target->target, trace);
    if (status == PSC_OK) {
        find_gil_holder(trace, options.threads == PSC_THREADS_ALL);
        finish(trace, &sources);
        end_core(target->target, trace);
    }
    close_sources(&sources);
    if (target->target->kind == TARGET_PROCESS)
        live_drop_core(target->target);
    status = end_call(target->target, status, err);

    if (status != PSC_OK) {
        trace_destroy(trace);
        return status;
    }
    *ret = trace;
    return PSC_OK;
}
