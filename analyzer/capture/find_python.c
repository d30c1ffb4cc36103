/* Which Python a trace is of. */
#include "capture_private.h"

#include <inttypes.h>

static void describe_python(struct psc_trace *trace, const struct python *python)
{
    const struct python_info *info = python_get_info(python);
    struct trace_python *record = arena_alloc(trace->arena, sizeof(*record));
    bool again = trace->python;
    if (!record)
        return;
    record->implementation = info->implementation;
    record->version = info->version;
    record->debug = info->debug;
    record->free_threaded = info->free_threaded;
    trace->python = record;
    if (again)
        return;
    text_printf(&trace->explain, "python: %s %s at 0x%" PRIx64 ", found by %s; layout from %s\n",
                info->implementation, info->version, info->runtime, info->found_by,
                info->layout_from);
}

enum psc_status find_python(struct capture *capture, struct psc_error *err)
{
    struct psc_trace *trace = capture->trace;
    struct psc_error why = {0};
    python_close(capture->python);
    capture->python = NULL;
    enum psc_status status =
        python_open(capture->target, *capture->modules, trace->arena, &capture->python, &why);
    if (status == PSC_ERR_MEMORY)
        return psc_fail(err, status, "%s", why.message);
    if (status == PSC_OK) {
        const struct python_value_limits limits = value_limits_of(&capture->options);
        python_limit_values(capture->python, &limits);
        describe_python(trace, capture->python);
        return PSC_OK;
    }
    if (status != PSC_ERR_NOT_FOUND)
        trace->python_problem = arena_strdup(trace->arena, why.message);
    bool is_missing = trace->python_problem || !capture->options.python_optional;
    if (capture->options.mode != PSC_MODE_NATIVE && is_missing)
        target_warn(capture->target, trace->python_problem ? "python-unsupported" : "no-python",
                    "%s", why.message);
    return PSC_OK;
}
