/* What is done with a living process before its threads are read: a snapshot, in which it stops. */
#include "capture_private.h"

#include "live.h"

#include <stdlib.h>
#include <time.h>

/* Frames of each thread whose values a core file has, when the report does not show them. */
#define KEPT_LOCALS ((size_t)2000)
/* Native frames of each thread whose variables are read while the process waits. */
#define VARIABLES_LIMIT ((size_t)4096)
/* Snapshots of a process that goes on loading libraries. */
#define SNAPSHOT_LIMIT 5
/* Tries to find the interpreter: threads that start and end meanwhile can make one fail. */
#define FIND_LIMIT 4

/* The capture of a living process, and the visitor that reads for it in the stop. */
struct living {
    struct capture *capture;
    struct capture visitor; /* Its trace and tools are there for variables of native frames only. */
    void (*read)(struct capture *visitor);
};

/* ---- the visitor ---- */

static void forget_tools(struct capture *visitor)
{
    symbolizer_destroy(visitor->symbolizer);
    native_destroy(visitor->native);
    trace_destroy(visitor->trace);
    visitor->symbolizer = NULL;
    visitor->native = NULL;
    visitor->trace = NULL;
}

static void living_deinit(struct living *living)
{
    capture_forget_threads(&living->visitor);
    forget_tools(&living->visitor);
    variables_destroy(living->visitor.variables);
}

static void init_visitor(struct capture *visitor, const struct capture *capture)
{
    bool keeps_core = capture->options.core_path != NULL;
    *visitor = (struct capture){
        .target = capture->target,
        .modules = capture->modules,
        .options = capture->options,
        .visits = true,
        .reads_python = capture->options.mode != PSC_MODE_NATIVE || keeps_core,
        .locals_limit = capture->options.locals ? SIZE_MAX
                        : keeps_core            ? KEPT_LOCALS
                                                : 0,
        .variables_limit = VARIABLES_LIMIT,
    };
    // Which threads are wanted is known when they are listed; other reports on the core file may
    // ask for tasks.
    visitor->options.threads = PSC_THREADS_ALL;
    visitor->options.tasks |= keeps_core;
}

/* As live_request has it: begins afresh each time. */
static void visit(void *context)
{
    struct living *living = context;
    struct capture *visitor = &living->visitor;
    capture_forget_threads(visitor);
    modules_forget_code(*visitor->modules);
    visitor->python = living->capture->python;
    if (visitor->python)
        python_forget(visitor->python);
    if (visitor->native)
        native_forget_threads(visitor->native);
    if (visitor->symbolizer) {
        symbolizer_forget_python(visitor->symbolizer, visitor->python);
        trace_drop_threads(visitor->trace);
        variables_destroy(visitor->variables);
        visitor->variables = variables_create(
            &(struct variables_input){.target = visitor->target,
                                      .modules = *visitor->modules,
                                      .python = visitor->python,
                                      .arena = visitor->trace->arena,
                                      .limits = value_limits_of(&visitor->options)});
        if (!visitor->variables)
            return;
    }
    living->read(visitor);
}

/*
 * What the variables' debug information and all addresses say is looked up while the process goes
 * on, by the stacks of a first snapshot; the next one finds it ready.
 */
static enum psc_status look_up_ahead(struct living *living, struct psc_error *err)
{
    struct capture *visitor = &living->visitor;
    const struct capture *capture = living->capture;
    visitor->trace = trace_create();
    if (!visitor->trace)
        return psc_fail_memory(err);
    const struct symbolizer_input input = {.target = visitor->target,
                                           .modules = *visitor->modules,
                                           .python = capture->python,
                                           .no_source = true,
                                           .no_columns = true,
                                           .all_inlined = true};
    enum psc_status status = symbolizer_create(visitor->trace, &input, &visitor->symbolizer);
    if (status == PSC_OK)
        status = native_create(visitor->target, *visitor->modules, capture->options.unwinder,
                               &visitor->native, err);
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    visit(living);
    return PSC_OK;
}

/* ---- the core file ---- */

static enum psc_status begin_core(struct capture *capture, struct psc_error *err)
{
    const struct psc_capture_options *options = &capture->options;
    if (!options->core_path)
        return PSC_OK;
    capture->trace->core_path = arena_strdup(capture->trace->arena, options->core_path);
    return live_keep_core(capture->target, options->core_path, options->core_full, err);
}

static void refuse_core(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    live_drop_core(capture->target);
    psc_fail(&trace->core_error, PSC_ERR_IO,
             "%s: is not written: process %d could not be stopped, and a core file needs that",
             trace->core_path ? trace->core_path : "", capture->target->process.pid);
}

void save_core_of_process(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    if (trace->core_path && !trace->core_error.status)
        trace->core_error.status = live_save_core(capture->target, &trace->core_error);
}

/* ---- where it may not be stopped ---- */

/* Python frames only, from a process that goes on. */
static enum psc_status snapshot_unpaused(struct living *living, struct psc_error *err)
{
    struct target *target = living->capture->target;
    const struct live_request request = {.visit = visit, .context = living};
    const struct live_pause *pause = live_get_pause(target);
    if (!living->capture->python)
        return psc_fail(err, PSC_ERR_NOT_FOUND,
                        "process %d: no Python interpreter was found, and nothing else can be read "
                        "of a process that is not stopped",
                        target->process.pid);
    living->capture->unpaused = living->visitor.unpaused = true;
    enum psc_status status = live_snapshot_unpaused(target, &request, err);
    living->capture->unpaused = status == PSC_OK;
    if (status == PSC_OK && pause->changed)
        target_warn(target, "not-stopped",
                    "the process was not stopped, and %zu of %zu pages changed while they were "
                    "read: a stack may be a mixture of two moments",
                    pause->changed, pause->pages);
    return status;
}

/* A report without stacks, which says why. */
static enum psc_status list_threads_only(struct capture *capture, const char *why,
                                         struct psc_error *err)
{
    struct psc_trace *trace = capture->trace;
    target_warn(capture->target, "not-permitted", "%s", why);
    trace->threads_only = true;
    if (!trace->python)
        trace->python_problem = "whether it runs Python cannot be told";
    capture->options.mode = PSC_MODE_PYTHON; // Nothing is there to be unwound.
    return live_list_threads(capture->target, err);
}

static enum psc_status go_on_without_stop(struct living *living, const char *why,
                                          struct psc_error *err)
{
    struct capture *capture = living->capture;
    struct psc_error unread = {0};
    refuse_core(capture);
    if (!capture->python || capture->options.mode == PSC_MODE_NATIVE ||
        capture->options.threads != PSC_THREADS_ALL)
        return list_threads_only(capture, why, err);
    capture->options.mode = PSC_MODE_PYTHON;
    forget_tools(&living->visitor);
    if (snapshot_unpaused(living, &unread) != PSC_OK)
        return list_threads_only(capture, why, err);
    target_warn(capture->target, "not-permitted", "%s; only its Python frames are shown", why);
    return PSC_OK;
}

/* ---- the snapshot ---- */

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
    text_printf(&trace->explain,
                "pause: %zu of %zu threads slept all the while, and were stopped behind it; "
                "snapshot %zu\n",
                pause->asleep, pause->threads, pause->tries);
    if (trace->core_path)
        text_printf(&trace->explain, "pause: %.2f ms of it for the core file\n", pause->save);
}

/* Finds what has to be known of the process before the snapshot. */
static enum psc_status prepare(struct living *living, bool again, struct psc_error *err)
{
    struct capture *capture = living->capture;
    bool changed = false;
    python_close(capture->python);
    capture->python = NULL;
    live_note_threads(capture->target);
    enum psc_status status = live_prepare(capture->target, &changed, err);
    if (status == PSC_OK && (changed || again)) {
        forget_tools(&living->visitor);
        modules_destroy(*capture->modules);
        *capture->modules = NULL;
        status = modules_create(capture->target, capture->modules, err);
    }
    if (status != PSC_OK || live_get_refusal(capture->target))
        return status;
    return find_python(capture, err);
}

static enum psc_status find_in_process(struct living *living, bool again, struct psc_error *err)
{
    struct capture *capture = living->capture;
    struct warnings *warnings = &capture->target->warnings;
    size_t count = warnings->count;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < FIND_LIMIT; i++) {
        warnings->count = count;
        status = prepare(living, again && !i, err);
        if (status != PSC_OK || capture->python || live_get_refusal(capture->target) ||
            capture->trace->python_problem)
            break;
    }
    return status;
}

/*
 * The interpreter is found before the stop, its stacks are read in it. When the process has just
 * loaded a library the snapshot is worth nothing, and another one is taken. Variables of native
 * frames take two: the first one tells what debug information is needed.
 */
static enum psc_status take_snapshot(struct living *living, struct psc_error *err)
{
    struct capture *capture = living->capture;
    struct target *target = capture->target;
    struct psc_error why = {0};
    bool variables = capture->options.locals && capture->options.mode != PSC_MODE_PYTHON;
    bool changed = false;
    for (size_t i = 0; i < SNAPSHOT_LIMIT; i++) {
        enum psc_status status = find_in_process(living, changed, err);
        if (status != PSC_OK)
            return status;
        if (live_get_refusal(target)) {
            refuse_core(capture);
            return list_threads_only(capture, live_get_refusal(target), err);
        }
        if (capture->options.no_pause)
            return snapshot_unpaused(living, err);
        bool last = !variables || living->visitor.symbolizer;
        const struct live_request request = {
            .visit = visit, .context = living, .vectors = variables, .passing = !last};
        changed = false;
        status = live_snapshot(target, &request, &changed, &why);
        if (status != PSC_OK && live_get_pause(target)->refused)
            return go_on_without_stop(living, why.message, err);
        if (status != PSC_OK)
            return psc_fail(err, status, "%s", why.message);
        if (last && !changed)
            break;
        if (!changed)
            status = look_up_ahead(living, err);
        if (status != PSC_OK)
            return status;
    }
    take_pause(capture->trace, live_get_pause(target));
    return PSC_OK;
}

/* The clock that its timers are set by; it is the same for all processes (clock_gettime(2)). */
static void take_moment(struct capture *capture)
{
    struct timespec now;
    capture->has_moment = !clock_gettime(CLOCK_MONOTONIC, &now);
    capture->moment = capture->has_moment ? (double)now.tv_sec + (double)now.tv_nsec / 1e9 : 0;
}

enum psc_status snapshot_process(struct capture *capture, void (*read)(struct capture *visitor),
                                 struct psc_error *err)
{
    struct living living PSC_CLEANUP(living_deinit) = {.capture = capture, .read = read};
    init_visitor(&living.visitor, capture);
    enum psc_status status = begin_core(capture, err);
    if (status == PSC_OK)
        status = take_snapshot(&living, err);
    take_moment(capture);
    return status;
}
