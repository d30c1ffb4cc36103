/* The way of a capture, from what is read to the finished trace. */
#include "capture_private.h"

#include "live.h"

#include <stdlib.h>
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

static void capture_deinit(struct capture *capture)
{
    capture_forget_threads(capture);
    variables_destroy(capture->variables);
    symbolizer_destroy(capture->symbolizer);
    native_destroy(capture->native);
    python_close(capture->python);
    trace_destroy(capture->trace);
}

/* What walks and looks up, when the modules and Python are known. */
static enum psc_status open_tools(struct capture *capture, struct psc_error *err)
{
    const struct psc_capture_options *options = &capture->options;
    const struct symbolizer_input input = {.target = capture->target,
                                           .modules = *capture->modules,
                                           .python = capture->python,
                                           .no_source = options->no_source,
                                           .all_inlined = options->all_inlined,
                                           .all_modules = options->all_modules};
    const struct variables_input variables = {.target = capture->target,
                                              .modules = *capture->modules,
                                              .python = capture->python,
                                              .arena = capture->trace->arena,
                                              .limits = value_limits_of(options)};
    capture->reads_python = options->mode != PSC_MODE_NATIVE;
    modules_forget_code(*capture->modules);
    if (options->locals && !(capture->variables = variables_create(&variables)))
        return psc_fail_memory(err);
    if (options->mode != PSC_MODE_PYTHON) {
        enum psc_status status = native_create(capture->target, *capture->modules,
                                               options->unwinder, &capture->native, err);
        if (status != PSC_OK)
            return status;
    }
    return psc_fail_status(err, symbolizer_create(capture->trace, &input, &capture->symbolizer));
}

static enum psc_status walk_and_merge(struct capture *capture, struct psc_error *err)
{
    enum psc_status status = merge_threads(capture);
    if (status == PSC_OK)
        status = symbolizer_resolve(capture->symbolizer);
    if (status == PSC_OK)
        status = fill_interpreters(capture);
    if (status == PSC_OK)
        status = assemble_threads(capture);
    if (status == PSC_OK)
        status = fill_tasks(capture);
    return psc_fail_status(err, status);
}

static enum psc_status read_threads(struct capture *capture, struct psc_error *err)
{
    enum psc_status status = choose_threads(capture, err);
    return status == PSC_OK ? psc_fail_status(err, read_python(capture)) : status;
}

/* The visitor, while a living process stands still: values of native frames need merged stacks. */
static void read_ahead(struct capture *visitor)
{
    // What cannot be read now is a gap or a warning when it is read again.
    diagnose_read_ahead(*visitor->modules);
    if (read_threads(visitor, NULL) == PSC_OK && visitor->native &&
        walk_and_merge(visitor, NULL) != PSC_OK)
        return;
}

/* Why it died; the stack of the thread that took the signal is still there. */
static enum psc_status explain_death(struct capture *capture)
{
    struct diagnose_input input = {.target = capture->target,
                                   .modules = *capture->modules,
                                   .python = capture->python,
                                   .first = &capture->first,
                                   .trace = capture->trace};
    for (size_t i = 0; i < capture->thread_count && !input.stack; i++)
        if (capture->threads[i].native && capture->threads[i].native->crashed &&
            capture->threads[i].merged.native.count)
            input.stack = &capture->threads[i].merged.native;
    return diagnose_crash(&input);
}

static struct psc_capture_options complete_options(const struct psc_capture_options *given,
                                                   const struct target *target)
{
    struct psc_capture_options options = *given;
    options.no_pause = options.no_pause && target->kind == TARGET_PROCESS;
    if (options.no_pause)
        options.mode = PSC_MODE_PYTHON;
    options.all_modules |= options.list_files;
    // Values of native frames decompress the debug information in any case.
    if (options.locals)
        options.all_inlined = 1;
    return options;
}

void capture_destroy(struct capture *capture)
{
    if (capture && capture->target->kind == TARGET_PROCESS && !capture->trace_taken)
        live_drop_core(capture->target);
    if (capture)
        capture_deinit(capture);
    free(capture);
}

static void cleanup_capture(struct capture **capture)
{
    capture_destroy(*capture);
}

static enum psc_status check_core_path(const struct capture *capture, struct psc_error *err)
{
    const struct psc_capture_options *options = &capture->options;
    if (options->core_path && (capture->target->kind != TARGET_PROCESS || options->no_pause))
        return psc_fail(err, PSC_ERR_ARGUMENT,
                        "a core file can be written of a living process that is stopped only");
    return PSC_OK;
}

enum psc_status capture_start(struct target *target, struct modules **modules,
                              const struct psc_capture_options *options, struct capture **ret,
                              struct psc_error *err)
{
    struct capture *capture PSC_CLEANUP(cleanup_capture) = calloc(1, sizeof(*capture));
    if (!capture)
        return psc_fail_memory(err);
    *capture = (struct capture){.target = target,
                                .modules = modules,
                                .options = complete_options(options, target),
                                .trace = trace_create(),
                                .locals_limit = options->locals ? SIZE_MAX : 0,
                                .variables_limit = SIZE_MAX,
                                .since = now_in_milliseconds()};
    if (!capture->trace)
        return psc_fail_memory(err);
    enum psc_status status = check_core_path(capture, err);
    if (status != PSC_OK)
        return status;
    describe_process(capture->trace, target);
    if (target->kind == TARGET_PROCESS) {
        status = snapshot_process(capture, read_ahead, err);
        live_keep_facts(target);
    }
    if (target->interrupted)
        return psc_fail(err, PSC_ERR_INTERRUPTED, "interrupted");
    if (status == PSC_OK) {
        *ret = capture;
        capture = NULL;
    }
    return status;
}

static enum psc_status read_all(struct capture *capture, struct psc_error *err)
{
    struct psc_trace *trace = capture->trace;
    enum psc_status status =
        capture->target->kind == TARGET_PROCESS ? PSC_OK : find_python(capture, err);
    // What was read in the stop has cost nothing of what may be read now.
    if (capture->python)
        python_take_sample(capture->python);
    if (status == PSC_OK)
        status = open_tools(capture, err);
    explain_stage(trace, "finding the interpreter", &capture->since);
    if (status == PSC_OK)
        status = read_threads(capture, err);
    if (status == PSC_OK)
        status = walk_and_merge(capture, err);
    if (status == PSC_OK)
        status = psc_fail_status(err, symbolizer_list_modules(capture->symbolizer));
    if (status == PSC_OK)
        status = psc_fail_status(err, fill_evaluations(capture));
    if (status == PSC_OK)
        status = psc_fail_status(err, list_needed_files(capture));
    explain_stage(trace, "walking, merging and looking up", &capture->since);
    return status;
}

enum psc_status capture_finish(struct capture *given, struct psc_trace **ret, struct psc_error *err)
{
    struct capture *capture PSC_CLEANUP(cleanup_capture) = given;
    struct target *target = capture->target;
    struct psc_trace *trace = capture->trace;
    enum psc_status status = read_all(capture, err);
    if (capture_goes_on(capture, status))
        status = psc_fail_status(err, explain_death(capture));
    if (capture_goes_on(capture, status))
        status = psc_fail_status(err, diagnose_what_runs(*capture->modules, trace));
    if (capture_goes_on(capture, status)) {
        diagnose_emptiness(target, trace);
        status = psc_fail_status(err, diagnose_waits(capture->waits, trace));
    }
    if (capture_goes_on(capture, status))
        status = psc_fail_status(err, diagnose_deadlocks(&trace, 1));
    if (capture_goes_on(capture, status)) {
        summarize(capture);
        save_core_of_process(capture);
    }
    if (target->interrupted)
        return psc_fail(err, PSC_ERR_INTERRUPTED, "interrupted");
    if (status == PSC_OK) {
        *ret = trace;
        capture->trace = NULL;
        capture->trace_taken = true;
    }
    return status;
}

enum psc_status capture_place_core(struct target *target, struct psc_error *err)
{
    return target->kind == TARGET_PROCESS ? live_place_core(target, err) : PSC_OK;
}

void capture_drop_core(struct target *target)
{
    if (target->kind == TARGET_PROCESS)
        live_drop_core(target);
}
