/* What psc_capture() does with a living process before its stacks are walked. */
#include "process.h"

#include "live.h"

#include <stdlib.h>
#include <string.h>

/* Frames of each thread whose values a core file has, when the report does not show them. */
#define KEPT_LOCALS ((size_t)2000)
/* Looks at a process that goes on loading libraries. */
#define LOOK_LIMIT 5
/* Searches for the interpreter, which threads that start and end meanwhile can hide. */
#define FIND_LIMIT 4

static void rehearse(void *context)
{
    const struct capture_sources *sources = context;
    size_t locals = sources->locals ? SIZE_MAX : sources->keeps_core ? KEPT_LOCALS : 0;
    if (sources->python) {
        python_forget(sources->python);
        trace_rehearse(sources->python, locals, sources->tasks || sources->keeps_core);
    }
    if (sources->native_locals)
        trace_rehearse_native(sources);
}

static void take_pause(struct psc_trace *trace, const struct live_pause *pause)
{
    trace->paused = true;
    trace->pause =
        pause->stop + pause->registers + pause->stacks + pause->visit + pause->save + pause->resume;
    text_printf(&trace->explain,
                "pause: %.2f ms (stopping %.2f, registers %.2f, stacks %.2f, Python %.2f, "
                "letting go %.2f)\n",
                trace->pause, pause->stop, pause->registers, pause->stacks, pause->visit,
                pause->resume);
    if (trace->core_path)
        text_printf(&trace->explain, "pause: %.2f ms of it for the core file\n", pause->save);
}

enum psc_status begin_core(struct target *target, struct psc_trace *trace,
                           const struct psc_capture_options *options, struct psc_error *err)
{
    if (!options->core_path)
        return PSC_OK;
    if (target->kind != TARGET_PROCESS || options->no_pause)
        return psc_fail(err, PSC_ERR_ARGUMENT,
                        "a core file can be written of a living process that is stopped only");
    trace->core_path = arena_strdup(trace->arena, options->core_path);
    return live_keep_core(target, options->core_path, options->core_full, err);
}

void end_core(struct target *target, struct psc_trace *trace)
{
    if (trace->core_path && !trace->core_error.status)
        trace->core_error.status = live_save_core(target, &trace->core_error);
}

/* Python frames only, from a process that goes on. */
static enum psc_status snapshot_unpaused(struct target *target, struct capture_sources *sources,
                                         struct psc_error *err)
{
    if (!sources->python)
        return psc_fail(err, PSC_ERR_NOT_FOUND,
                        "process %d: no Python interpreter was found, and nothing else can be read "
                        "of a process that is not stopped",
                        target->process.pid);
    const struct live_request request = {.visit = rehearse, .context = sources};
    const struct live_pause *pause = live_get_pause(target);
    enum psc_status status = live_snapshot_unpaused(target, &request, err);
    if (status == PSC_OK && pause->changed)
        target_warn(target, "not-stopped",
                    "the process was not stopped, and %zu of %zu pages changed while they were "
                    "read: a stack may be a mixture of two moments",
                    pause->changed, pause->pages);
    return status;
}

/* A report without stacks, which says why. */
static enum psc_status list_threads_only(struct target *target, struct psc_trace *trace,
                                         struct psc_capture_options *options, const char *why,
                                         struct psc_error *err)
{
    target_warn(target, "not-permitted", "%s", why);
    trace->threads_only = true;
    if (!trace->python)
        trace->python_problem = "whether it runs Python cannot be told";
    options->mode = PSC_MODE_PYTHON; // Nothing is there to be unwound.
    return live_list_threads(target, err);
}

static void refuse_core(struct target *target, struct psc_trace *trace)
{
    live_drop_core(target);
    psc_fail(&trace->core_error, PSC_ERR_IO,
             "%s: is not written: process %d could not be stopped, and a core file needs that",
             trace->core_path ? trace->core_path : "", target->process.pid);
}

/* Finds what has to be known of the process before it is looked at. */
static enum psc_status prepare_snapshot(struct psc_target *target, struct psc_trace *trace,
                                        enum psc_mode mode, bool again,
                                        struct capture_sources *sources, struct psc_error *err)
{
    bool changed = false;
    python_close(sources->python);
    sources->python = NULL;
    enum psc_status status = live_prepare(target->target, &changed, err);
    if (status == PSC_OK && (changed || again)) {
        modules_destroy(target->modules);
        target->modules = NULL;
        status = modules_create(target->target, &target->modules, err);
        sources->modules = target->modules;
    }
    if (status != PSC_OK || live_get_refusal(target->target))
        return status;
    return open_python(target, trace, mode, &sources->python, err);
}

static enum psc_status find_in_process(struct psc_target *target, struct psc_trace *trace,
                                       enum psc_mode mode, bool again,
                                       struct capture_sources *sources, struct psc_error *err)
{
    size_t warnings = target->target->warnings.count;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < FIND_LIMIT; i++) {
        target->target->warnings.count = warnings;
        status = prepare_snapshot(target, trace, mode, again && !i, sources, err);
        if (status != PSC_OK || sources->python || live_get_refusal(target->target) ||
            trace->python_problem)
            break;
    }
    return status;
}

/*
 * The interpreter is found before the stop, its stacks are read in it. When the process has just
 * loaded a library the look is worth nothing, and another one is taken. Variables of native frames
 * take two looks: the first one tells what debug information is needed. When somebody else has
 * stopped the process its Python side can still be read.
 */
enum psc_status snapshot_process(struct psc_target *target, struct psc_trace *trace,
                                 struct psc_capture_options *options,
                                 struct capture_sources *sources, struct psc_error *err)
{
    struct psc_error why = {0};
    enum psc_status status = PSC_OK;
    bool changed = false;
    bool natives = options->locals && options->mode != PSC_MODE_PYTHON;
    bool again = true;
    for (size_t i = 0; status == PSC_OK && again && i < LOOK_LIMIT; i++) {
        status = find_in_process(target, trace, options->mode, changed, sources, err);
        changed = false;
        if (status != PSC_OK)
            return status;
        if (live_get_refusal(target->target)) {
            refuse_core(target->target, trace);
            return list_threads_only(target->target, trace, options,
                                     live_get_refusal(target->target), err);
        }
        if (options->no_pause)
            return snapshot_unpaused(target->target, sources, err);
        const struct live_request request = {.visit = rehearse,
                                             .context = sources,
                                             .vectors = natives,
                                             .passing = natives && !sources->native_locals};
        status = live_snapshot(target->target, &request, &changed, &why);
        again = changed || (natives && !sources->native_locals);
        sources->native_locals = natives && !changed;
        // The process goes on while the debug information is read; then it is looked at again.
        if (status == PSC_OK && again && !changed)
            trace_rehearse_native(sources);
    }
    if (status == PSC_OK) {
        take_pause(trace, live_get_pause(target->target));
        return PSC_OK;
    }
    if (!live_get_pause(target->target)->refused)
        return psc_fail(err, status, "%s", why.message);
    refuse_core(target->target, trace);
    if (!sources->python || options->mode == PSC_MODE_NATIVE || options->threads != PSC_THREADS_ALL)
        return list_threads_only(target->target, trace, options, why.message, err);
    options->mode = PSC_MODE_PYTHON;
    struct psc_error unread = {0};
    if (snapshot_unpaused(target->target, sources, &unread) != PSC_OK)
        return list_threads_only(target->target, trace, options, why.message, err);
    target_warn(target->target, "not-permitted", "%s; only its Python frames are shown",
                why.message);
    return PSC_OK;
}
