/* A small core: everything is looked at once, and what was read is written. */
#include "api.h"

#include "sized_struct.h"
#include "slim.h"

/* Whoever opens it may ask for any of these. What is not there is a gap or a warning, as there. */
static enum psc_status read_everything(struct psc_target *target,
                                       const struct psc_slim_options *slim, struct psc_error *err)
{
    static const struct {
        enum psc_mode mode;
        enum psc_unwinder unwinder;
        enum psc_locals locals;
        bool tasks;
    } looks[] = {
        {PSC_MODE_MERGED, PSC_UNWINDER_LIBUNWIND, PSC_LOCALS_ALL, true},
        {PSC_MODE_MERGED, PSC_UNWINDER_LIBUNWIND, PSC_LOCALS_NONE, false},
        {PSC_MODE_MERGED, PSC_UNWINDER_LIBDW, PSC_LOCALS_NONE, false},
        {PSC_MODE_PYTHON, PSC_UNWINDER_LIBUNWIND, PSC_LOCALS_PYTHON, true},
        {PSC_MODE_NATIVE, PSC_UNWINDER_LIBUNWIND, PSC_LOCALS_ALL, false},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(looks); i++) {
        struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
        struct psc_trace *trace = NULL;
        if (slim->no_native_values && looks[i].locals == PSC_LOCALS_ALL)
            continue;
        options.mode = looks[i].mode;
        options.unwinder = looks[i].unwinder;
        options.locals = looks[i].locals;
        options.tasks = looks[i].tasks;
        options.all_modules = 1;
        options.detail_hidden = looks[i].tasks;
        options.list_files = slim->with_files != 0;
        enum psc_status status = psc_capture(target, &options, &trace, err);
        if (status != PSC_OK)
            return status;
        psc_trace_destroy(trace);
    }
    return PSC_OK;
}

enum psc_status psc_write_slim_core(struct psc_target *target, int fd,
                                    const struct psc_slim_options *options, struct psc_error *err)
{
    struct psc_slim_options slim = PSC_SLIM_OPTIONS_INIT;
    bool is_cut = false;
    if (!target || fd < 0)
        return psc_fail(err, PSC_ERR_ARGUMENT,
                        "psc_write_slim_core: target is NULL, or fd no file");
    enum psc_status status =
        sized_take(SIZED_TYPE(psc_slim_options, PSC_SLIM_OPTIONS_INIT), options, &slim, err);
    if (status == PSC_OK && (target->target->kind != TARGET_CORE || !target->target->reads))
        status = psc_fail(err, PSC_ERR_ARGUMENT,
                          "psc_write_slim_core: no core file, or opened without notes_reads");
    if (status == PSC_OK)
        status = read_everything(target, &slim, err);
    const struct slim_request request = {.fd = fd,
                                         .with_files = slim.with_files != 0,
                                         .memory_is_read = slim.memory_is_read,
                                         .context = slim.context};
    if (status == PSC_OK)
        status = slim_write(target->target, &request, &is_cut, err);
    status = end_call(target->target, status, err);
    if (status == PSC_OK && is_cut)
        return psc_fail(err, PSC_ERR_LIMIT, "more was read than a slim core holds");
    return status;
}
