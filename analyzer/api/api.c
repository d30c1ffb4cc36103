/* The public calls that open, capture, print and close. */
#include "api.h"

#include "capture.h"
#include "core.h"
#include "debugger.h"
#include "live.h"
#include "print.h"
#include "sized_struct.h"

#include <stdlib.h>

const char *psc_version(void)
{
    return PSC_VERSION;
}

const char *psc_status_name(enum psc_status status)
{
    switch (status) {
    case PSC_OK:
        return "PSC_OK";
    case PSC_ERR_ARGUMENT:
        return "PSC_ERR_ARGUMENT";
    case PSC_ERR_MEMORY:
        return "PSC_ERR_MEMORY";
    case PSC_ERR_IO:
        return "PSC_ERR_IO";
    case PSC_ERR_FORMAT:
        return "PSC_ERR_FORMAT";
    case PSC_ERR_UNSUPPORTED:
        return "PSC_ERR_UNSUPPORTED";
    case PSC_ERR_NOT_FOUND:
        return "PSC_ERR_NOT_FOUND";
    case PSC_ERR_FAULT:
        return "PSC_ERR_FAULT";
    case PSC_ERR_LIMIT:
        return "PSC_ERR_LIMIT";
    case PSC_ERR_INTERRUPTED:
        return "PSC_ERR_INTERRUPTED";
    }
    return NULL;
}

/* ---- targets ---- */

enum psc_status end_call(const struct target *target, enum psc_status status, struct psc_error *err)
{
    return target->interrupted ? psc_fail(err, PSC_ERR_INTERRUPTED, "interrupted") : status;
}

enum psc_status take_open_options(const struct psc_open_options *given, struct target_options *ret,
                                  struct psc_error *err)
{
    struct psc_open_options open = PSC_OPEN_OPTIONS_INIT;
    enum psc_status status =
        sized_take(SIZED_TYPE(psc_open_options, PSC_OPEN_OPTIONS_INIT), given, &open, err);
    *ret = (struct target_options){
        .sysroot = open.sysroot,
        .library_directories = open.library_directories,
        .library_directory_count = open.library_directory_count,
        .debug_directory = open.debug_directory,
        .source_maps = open.source_maps,
        .source_map_count = open.source_map_count,
        .source_directories = open.source_directories,
        .source_directory_count = open.source_directory_count,
        .find_file = open.find_file,
        .find_file_context = open.find_file_context,
        .fetch_file = open.fetch_file,
        .fetch_context = open.fetch_context,
        .maps_files = open.maps_files != 0,
        .kept = open.kept ? open.kept->modules : NULL,
        .find_kept = kept_modules_find,
        .notes_reads = open.notes_reads != PSC_NOTES_READS_NOT,
        .leaves_text = open.notes_reads == PSC_NOTES_READS_REDACTED,
        .held_pid = open.held_pid,
        .held_since = open.held_since,
        .interrupted = open.interrupted,
        .interrupt_context = open.interrupt_context,
        .core = {.name = open.core_name,
                 .warning = open.core_warning,
                 .owner_known = open.core_owner_known != 0,
                 .user = open.core_user,
                 .group = open.core_group},
    };
    return status;
}

/* Takes the target over, also when it fails. */
static enum psc_status finish_open(struct target *target, struct psc_target **ret,
                                   struct psc_error *err)
{
    struct psc_target *opened = calloc(1, sizeof(*opened));
    if (!opened) {
        target_close(target);
        return psc_fail_memory(err);
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
    struct target_options target_options;
    struct target *target;
    if (!path || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_open_core: path or ret is NULL");
    enum psc_status status = take_open_options(options, &target_options, err);
    if (status == PSC_OK)
        status = core_open(path, executable, &target_options, &target, err);
    return status == PSC_OK ? finish_open(target, ret, err) : status;
}

enum psc_status psc_open_process(int32_t pid, const struct psc_open_options *options,
                                 struct psc_target **ret, struct psc_error *err)
{
    struct target_options target_options;
    struct target *target;
    if (pid <= 0)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_open_process: %d is no process id", pid);
    if (!ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_open_process: ret is NULL");
    enum psc_status status = take_open_options(options, &target_options, err);
    target_options.notes_reads = false;
    if (status == PSC_OK)
        status = live_open(pid, &target_options, &target, err);
    return status == PSC_OK ? finish_open(target, ret, err) : status;
}

static enum psc_status take_debugger(const struct psc_debugger *debugger, struct psc_debugger *ret,
                                     struct psc_error *err)
{
    enum psc_status status =
        sized_take(SIZED_TYPE(psc_debugger, PSC_DEBUGGER_INIT), debugger, ret, err);
    if (status != PSC_OK)
        return status;
    // In version 0.1 both have the sizes that they have here.
    if (!ret->mapping_size)
        ret->mapping_size = sizeof(struct psc_debugger_mapping);
    if (!ret->thread_size)
        ret->thread_size = sizeof(struct psc_debugger_thread);
    status = sized_check_items(SIZED_TYPE(psc_debugger_mapping, PSC_DEBUGGER_INIT), ret->mappings,
                               ret->mapping_count, ret->mapping_size, err);
    if (status == PSC_OK)
        status = sized_check_items(SIZED_TYPE(psc_debugger_thread, PSC_DEBUGGER_INIT), ret->threads,
                                   ret->thread_count, ret->thread_size, err);
    return status;
}

enum psc_status psc_open_debugger(const struct psc_debugger *debugger, const char *executable,
                                  const struct psc_open_options *options, struct psc_target **ret,
                                  struct psc_error *err)
{
    struct psc_debugger known = PSC_DEBUGGER_INIT;
    struct target_options target_options;
    struct target *target;
    if (!debugger || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_open_debugger: debugger or ret is NULL");
    enum psc_status status = take_debugger(debugger, &known, err);
    if (status == PSC_OK)
        status = take_open_options(options, &target_options, err);
    if (status == PSC_OK)
        status = debugger_open(&known, executable, &target_options, &target, err);
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

/* ---- capturing and printing ---- */

enum psc_status check_value_limits(const struct psc_value_limits *limits, struct psc_error *err)
{
    const struct {
        const char *name;
        uint32_t value;
        uint32_t most;
    } checks[] = {{"length", limits->length, PSC_VALUE_LENGTH_MAX},
                  {"items", limits->items, PSC_VALUE_ITEMS_MAX},
                  {"depth", limits->depth, PSC_VALUE_DEPTH_MAX}};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(checks); i++)
        if (checks[i].value > checks[i].most)
            return psc_fail(err, PSC_ERR_ARGUMENT, "the %s of values is %u; the most is %u",
                            checks[i].name, checks[i].value, checks[i].most);
    return PSC_OK;
}

static enum psc_status check_evaluations(const struct psc_capture_options *options,
                                         struct psc_error *err)
{
    if (options->evaluation_count &&
        (!options->evaluations || options->evaluation_size != sizeof(*options->evaluations)))
        return psc_fail(err, PSC_ERR_ARGUMENT,
                        "psc_capture: evaluations is NULL, or evaluation_size not of this version");
    for (size_t i = 0; i < options->evaluation_count; i++)
        if (!options->evaluations[i].expression || options->evaluations[i].thread_id < -1)
            return psc_fail(err, PSC_ERR_ARGUMENT, "psc_capture: evaluation %zu names no %s", i,
                            options->evaluations[i].expression ? "thread" : "expression");
    return PSC_OK;
}

struct psc_snapshot {
    struct target *target;
    struct capture *capture; /* NULL: it was read. */
};

enum psc_status psc_take_snapshot(struct psc_target *target,
                                  const struct psc_capture_options *given,
                                  struct psc_snapshot **ret, struct psc_error *err)
{
    struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
    if (!target || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_take_snapshot: target or ret is NULL");
    enum psc_status status =
        sized_take(SIZED_TYPE(psc_capture_options, PSC_CAPTURE_OPTIONS_INIT), given, &options, err);
    const struct psc_value_limits limits = {
        .length = options.value_length, .items = options.value_items, .depth = options.value_depth};
    if (status == PSC_OK)
        status = check_value_limits(&limits, err);
    if (status == PSC_OK)
        status = check_evaluations(&options, err);
    struct psc_snapshot *snapshot = status == PSC_OK ? calloc(1, sizeof(*snapshot)) : NULL;
    if (status == PSC_OK && !snapshot)
        return psc_fail_memory(err);
    if (status == PSC_OK)
        snapshot->target = target->target;
    if (status == PSC_OK)
        status = capture_start(target->target, &target->modules, &options, &snapshot->capture, err);
    if (status == PSC_OK)
        *ret = snapshot;
    else
        free(snapshot);
    return status;
}

enum psc_status psc_read_snapshot(struct psc_snapshot *snapshot, struct psc_trace **ret,
                                  struct psc_error *err)
{
    if (!snapshot || !snapshot->capture || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT,
                        "psc_read_snapshot: snapshot or ret is NULL, or it was read already");
    struct capture *capture = snapshot->capture;
    snapshot->capture = NULL;
    enum psc_status status = capture_finish(capture, ret, err);
    if (status != PSC_OK)
        return status;
    status = psc_trace_sign(*ret, NULL, err);
    if (status != PSC_OK) {
        trace_destroy(*ret);
        *ret = NULL;
    }
    return status;
}

enum psc_status psc_snapshot_keep_core(struct psc_snapshot *snapshot, struct psc_error *err)
{
    if (!snapshot)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_snapshot_keep_core: snapshot is NULL");
    return capture_place_core(snapshot->target, err);
}

void psc_snapshot_destroy(struct psc_snapshot *snapshot)
{
    if (!snapshot)
        return;
    capture_destroy(snapshot->capture);
    capture_drop_core(snapshot->target);
    free(snapshot);
}

enum psc_status psc_capture(struct psc_target *target, const struct psc_capture_options *options,
                            struct psc_trace **ret, struct psc_error *err)
{
    struct psc_snapshot *snapshot = NULL;
    if (!target || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_capture: target or ret is NULL");
    enum psc_status status = psc_take_snapshot(target, options, &snapshot, err);
    if (status == PSC_OK)
        status = psc_read_snapshot(snapshot, ret, err);
    if (status == PSC_OK && !(*ret)->core_error.status)
        (*ret)->core_error.status = capture_place_core(target->target, &(*ret)->core_error);
    psc_snapshot_destroy(snapshot);
    return status;
}

int psc_target_owner(const struct psc_target *target, uint32_t *ret_user, uint32_t *ret_group)
{
    if (!target || !ret_user || !ret_group || !target->target->process.owner_known)
        return 0;
    *ret_user = target->target->process.user;
    *ret_group = target->target->process.group;
    return 1;
}

static enum psc_status take_print_options(const struct psc_print_options *given,
                                          struct psc_print_options *ret, struct psc_error *err)
{
    *ret = (struct psc_print_options)PSC_PRINT_OPTIONS_INIT;
    return sized_take(SIZED_TYPE(psc_print_options, PSC_PRINT_OPTIONS_INIT), given, ret, err);
}

enum psc_status psc_print(const struct psc_trace *trace, const struct psc_print_options *options,
                          psc_write_fn write, void *context, struct psc_error *err)
{
    struct psc_print_options print;
    if (!trace || !write)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_print: trace or write is NULL");
    enum psc_status status = take_print_options(options, &print, err);
    return status == PSC_OK ? print_trace(trace, &print, write, context, err) : status;
}

enum psc_status psc_print_processes(const struct psc_trace *const *traces, size_t count,
                                    const struct psc_print_options *options, psc_write_fn write,
                                    void *context, struct psc_error *err)
{
    struct psc_print_options print;
    if (!traces || !count || !write)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_print_processes: there is no %s",
                        write ? "trace" : "function to write with");
    for (size_t i = 0; i < count; i++)
        if (!traces[i])
            return psc_fail(err, PSC_ERR_ARGUMENT, "psc_print_processes: trace %zu is NULL", i);
    enum psc_status status = take_print_options(options, &print, err);
    print.one_line = 1;
    return status == PSC_OK
               ? print_traces(traces, count, &print, &(struct print_output){write, context}, err)
               : status;
}
