/* The public calls but psc_capture(), those of names and of single values. */
#include "api.h"

#include "core.h"
#include "debugger.h"
#include "live.h"
#include "print.h"

#include <stdlib.h>
#include <string.h>

const char *psc_version(void)
{
    return PSC_VERSION;
}

bool take_options(void *known, size_t known_size, const void *given)
{
    uint32_t size = 0;
    if (!given)
        return true;
    memcpy(&size, given, sizeof(size));
    if (size < sizeof(size))
        return false;
    memcpy(known, given, size < known_size ? size : known_size);
    for (size_t i = known_size; i < size; i++)
        if (((const char *)given)[i])
            return false;
    return true;
}

enum psc_status end_call(const struct target *target, enum psc_status status, struct psc_error *err)
{
    return target->interrupted ? psc_fail(err, PSC_ERR_INTERRUPTED, "interrupted") : status;
}

static struct target_options make_target_options(const struct psc_open_options *open)
{
    return (struct target_options){
        .sysroot = open->sysroot,
        .library_directories = open->library_directories,
        .library_directory_count = open->library_directory_count,
        .debug_directory = open->debug_directory,
        .source_maps = open->source_maps,
        .source_map_count = open->source_map_count,
        .source_directories = open->source_directories,
        .source_directory_count = open->source_directory_count,
        .interrupted = open->interrupted,
        .interrupt_context = open->interrupt_context,
    };
}

/* Takes the target over, also when it fails. */
static enum psc_status finish_open(struct target *target, struct psc_target **ret,
                                   struct psc_error *err)
{
    struct psc_target *opened = calloc(1, sizeof(*opened));
    if (!opened) {
        target_close(target);
        return psc_fail(err, PSC_ERR_MEMORY, "out of memory");
    }
    opened->target = target;
    enum psc_status status = modules_create(target, &opened->modules, err);
    status = end_call(target, status, err);
    if (status != PSC_OK) {
        psc_close(opened);
        return status;
    }
    *ret = opened;
    return PSC_OK;
}

enum psc_status psc_open_core(const char *path, const char *executable,
                              const struct psc_open_options *options, struct psc_target **ret,
                              struct psc_error *err)
{
    struct psc_open_options open = {0};
    if (!path || !ret || !take_options(&open, sizeof(open), options))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_open_core: unusable arguments");
    const struct target_options target_options = make_target_options(&open);
    struct target *target;
    enum psc_status status = core_open(path, executable, &target_options, &target, err);
    return status == PSC_OK ? finish_open(target, ret, err) : status;
}

enum psc_status psc_open_process(int32_t pid, const struct psc_open_options *options,
                                 struct psc_target **ret, struct psc_error *err)
{
    struct psc_open_options open = {0};
    if (pid <= 0 || !ret || !take_options(&open, sizeof(open), options))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_open_process: unusable arguments");
    const struct target_options target_options = make_target_options(&open);
    struct target *target;
    enum psc_status status = live_open(pid, &target_options, &target, err);
    return status == PSC_OK ? finish_open(target, ret, err) : status;
}

enum psc_status psc_open_debugger(const struct psc_debugger *debugger, const char *executable,
                                  const struct psc_open_options *options, struct psc_target **ret,
                                  struct psc_error *err)
{
    struct psc_open_options open = {0};
    struct psc_debugger known = {0};
    if (!debugger || !ret || !take_options(&known, sizeof(known), debugger) ||
        !take_options(&open, sizeof(open), options))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_open_debugger: unusable arguments");
    const struct target_options target_options = make_target_options(&open);
    struct target *target;
    enum psc_status status = debugger_open(&known, executable, &target_options, &target, err);
    return status == PSC_OK ? finish_open(target, ret, err) : status;
}

void psc_close(struct psc_target *target)
{
    if (!target)
        return;
    modules_destroy(target->modules);
    target_close(target->target);
    free(target);
}

void psc_trace_destroy(struct psc_trace *trace)
{
    trace_destroy(trace);
}

int psc_trace_is_complete(const struct psc_trace *trace)
{
    return trace && trace->complete;
}

int32_t psc_trace_pid(const struct psc_trace *trace)
{
    return trace ? trace->pid : 0;
}

size_t psc_trace_warning_count(const struct psc_trace *trace)
{
    return trace ? trace->warnings.count : 0;
}

const char *psc_trace_warning(const struct psc_trace *trace, size_t index)
{
    return trace && index < trace->warnings.count ? trace->warnings.items[index].message : NULL;
}

enum psc_status psc_trace_core(const struct psc_trace *trace, struct psc_error *err)
{
    if (!trace || !trace->core_path)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "no core file was asked for");
    const struct psc_error *error = &trace->core_error;
    return error->status ? psc_fail(err, error->status, "%s", error->message) : PSC_OK;
}

enum psc_status psc_print(const struct psc_trace *trace, const struct psc_print_options *options,
                          psc_write_fn write, void *context, struct psc_error *err)
{
    struct psc_print_options print = {0};
    if (!trace || !write || !take_options(&print, sizeof(print), options))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_print: unusable arguments");
    return print_trace(trace, &print, write, context, err);
}

enum psc_status psc_print_processes(const struct psc_trace *const *traces, size_t count,
                                    const struct psc_print_options *options, psc_write_fn write,
                                    void *context, struct psc_error *err)
{
    struct psc_print_options print = {0};
    bool complete = traces && count && write && take_options(&print, sizeof(print), options);
    for (size_t i = 0; complete && i < count; i++)
        complete = traces[i];
    if (!complete)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_print_processes: unusable arguments");
    print.one_line = 1;
    return print_traces(traces, count, &print, write, context, err);
}
