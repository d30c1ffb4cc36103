/* The public calls that read what was running. */
#include "sized_struct.h"
#include "trace.h"

static enum psc_status refuse(struct psc_error *err, const char *function)
{
    return psc_fail(err, PSC_ERR_ARGUMENT, "%s: trace or ret is NULL", function);
}

enum psc_status psc_trace_get_running(const struct psc_trace *trace, struct psc_running_info *ret,
                                      struct psc_error *err)
{
    static const struct trace_running nothing;
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_running");
    const struct trace_running *running = trace->running ? trace->running : &nothing;
    const struct psc_running_info info = {
        .has_uptime = running->has_uptime,
        .uptime_milliseconds = (uint64_t)(running->uptime * 1e3),
        .working_directory = running->working_directory,
        .host = running->host,
        .test = running->test,
        .test_phase = running->phase,
        .test_worker = running->worker,
        .rank_variable = running->rank_by,
        .rank = running->rank,
        .environment_known = running->environment_known,
        .environment_initial = running->environment_initial,
        .memory_count = (uint32_t)running->memory_count,
        .package_count = (uint32_t)running->package_count,
        .variable_count = (uint32_t)running->environment_count,
    };
    return sized_give(SIZED_TYPE(psc_running_info, PSC_RUNNING_INFO_INIT), &info, ret, err);
}

/* False out of range. */
static bool find_item(const struct trace_running *running, enum psc_running_list list, size_t index,
                      struct psc_running_item *ret)
{
    if (list == PSC_RUNNING_MEMORY && index < running->memory_count) {
        ret->name = running->memory[index].kind;
        ret->bytes = running->memory[index].bytes;
    } else if (list == PSC_RUNNING_PACKAGES && index < running->package_count) {
        ret->name = running->packages[index].name;
        ret->value = running->packages[index].version;
    } else if (list == PSC_RUNNING_ENVIRONMENT && index < running->environment_count) {
        ret->name = running->environment[index].name;
        ret->value = running->environment[index].value;
    }
    return ret->name;
}

enum psc_status psc_trace_get_running_item(const struct psc_trace *trace,
                                           enum psc_running_list list, size_t index,
                                           struct psc_running_item *ret, struct psc_error *err)
{
    struct psc_running_item item = {0};
    if (!trace || !ret)
        return refuse(err, "psc_trace_get_running_item");
    if (!trace->running || !find_item(trace->running, list, index, &item))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_trace_get_running_item: there is no item %zu",
                        index);
    return sized_give(SIZED_TYPE(psc_running_item, PSC_RUNNING_ITEM_INIT), &item, ret, err);
}
