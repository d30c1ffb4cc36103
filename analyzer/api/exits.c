/* The public calls for deaths that left no core file. */
#include "api.h"

#include "diagnose.h"
#include "signature.h"
#include "sized_struct.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

static const char *copy(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static void take_process(struct psc_trace *trace, const struct psc_exit *exit)
{
    struct arena *arena = trace->arena;
    const char **arguments = arena_array(arena, exit->argument_count + (size_t)1, sizeof(char *));
    for (size_t i = 0; arguments && exit->arguments && i < exit->argument_count; i++)
        arguments[i] = arena_strdup(arena, exit->arguments[i]);
    trace->kind = "exit";
    trace->pid = exit->pid;
    trace->path = arena_printf(arena, "process %d", exit->pid);
    trace->executable = copy(arena, exit->executable);
    trace->arguments = arguments;
    trace->argument_count = arguments ? exit->argument_count : 0;
}

static void take_end(struct psc_trace *trace, const struct psc_exit *exit)
{
    struct arena *arena = trace->arena;
    struct trace_exit *end = arena_alloc(arena, sizeof(*end));
    struct trace_crash *crash = exit->signal ? arena_alloc(arena, sizeof(*crash)) : NULL;
    if (end)
        *end = (struct trace_exit){.status = exit->status,
                                   .known_by = copy(arena, exit->known_by),
                                   .without_core = copy(arena, exit->without_core)};
    trace->exit = end;
    if (!crash)
        return;
    const char *name = diagnose_signal_name(exit->signal);
    *crash = (struct trace_crash){
        .signal_number = exit->signal,
        .signal = name ? name : arena_printf(arena, "signal %d", exit->signal),
        .summary = exit->out_of_memory ? "by the kernel, for lack of memory" : NULL,
        .cause = exit->out_of_memory ? TRACE_CAUSE_OUT_OF_MEMORY : TRACE_CAUSE_UNKNOWN,
    };
    trace->crash = crash;
}

static void take_test(struct psc_trace *trace, const struct psc_exit *exit)
{
    struct trace_running *running = arena_alloc(trace->arena, sizeof(*running));
    if (!running)
        return;
    *running = (struct trace_running){0};
    trace->running = running;
    running->working_directory = copy(trace->arena, exit->working_directory);
    if (!exit->test || !*exit->test)
        return;
    diagnose_name_test(trace->arena, exit->test, running);
    running->worker = copy(trace->arena, exit->worker);
    running->has_test_age = true;
    running->test_age = exit->test_age_milliseconds / 1e3;
}

enum psc_status psc_describe_exit(const struct psc_exit *given, struct psc_trace **ret,
                                  struct psc_error *err)
{
    struct psc_exit exit = PSC_EXIT_INIT;
    if (!given || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_describe_exit: exit or ret is NULL");
    enum psc_status status = sized_take(SIZED_TYPE(psc_exit, PSC_EXIT_INIT), given, &exit, err);
    if (status == PSC_OK && exit.argument_count && !exit.arguments)
        status = psc_fail(err, PSC_ERR_ARGUMENT, "psc_describe_exit: arguments is NULL");
    if (status != PSC_OK)
        return status;
    struct psc_trace *trace = trace_create();
    if (!trace)
        return psc_fail_memory(err);
    take_process(trace, &exit);
    take_end(trace, &exit);
    take_test(trace, &exit);
    status = arena_is_exhausted(trace->arena) ? psc_fail_memory(err) : PSC_OK;
    if (status == PSC_OK)
        status = psc_trace_sign(trace, NULL, err);
    if (status == PSC_OK)
        *ret = trace;
    else
        trace_destroy(trace);
    return status;
}

enum psc_status psc_find_environment(struct psc_target *target, psc_addr *ret,
                                     struct psc_error *err)
{
    if (!target || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_find_environment: target or ret is NULL");
    bool found = diagnose_find_environment(target->modules, ret);
    return end_call(target->target,
                    found ? PSC_OK
                          : psc_fail(err, PSC_ERR_NOT_FOUND,
                                     "no C library with a variable environ was found in it"),
                    err);
}
