/* The public calls, and psc_capture(): the whole way in one place. */
#include "api.h"
#include "capture.h"
#include "cython.h"
#include "diagnose.h"
#include "print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Frames of each thread whose values a core file has, when the report does not show them. */
#define KEPT_LOCALS ((size_t)2000)
/* Looks at a process that goes on loading libraries. */
#define LOOK_LIMIT 5

const char *psc_version(void)
{
    return PSC_VERSION;
}

/*
 * Takes a caller's struct that begins with its size: an older, shorter one leaves the rest zero; a
 * longer one, from a newer header, may only have zeros where this library knows nothing.
 */
static bool take_options(void *known, size_t known_size, const void *given)
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
    enum psc_status status = target_open_core(path, executable, &target_options, &target, err);
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
    enum psc_status status = target_open_process(pid, &target_options, &target, err);
    return status == PSC_OK ? finish_open(target, ret, err) : status;
}

enum psc_status psc_open_host(const struct psc_host *host, const char *executable,
                              const struct psc_open_options *options, struct psc_target **ret,
                              struct psc_error *err)
{
    struct psc_open_options open = {0};
    struct psc_host known = {0};
    if (!host || !ret || !take_options(&known, sizeof(known), host) ||
        !take_options(&open, sizeof(open), options))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_open_host: unusable arguments");
    const struct target_options target_options = make_target_options(&open);
    struct target *target;
    enum psc_status status = target_open_host(&known, executable, &target_options, &target, err);
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
    if (!trace)
        return;
    for (size_t i = 0; i < trace->thread_count; i++) {
        free(trace->threads[i].frames);
        free(trace->threads[i].locals);
    }
    free(trace->threads);
    warnings_deinit(&trace->warnings);
    text_deinit(&trace->explain);
    arena_destroy(trace->arena);
    free(trace);
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

/* ---- names ---- */

/* The Python name; utility code of Cython's has none. */
static bool demangle_cython(const char *symbol, struct text *text)
{
    struct arena *arena = arena_create();
    struct cython_name name = {0};
    bool named = arena && cython_parse_symbol(symbol, NULL, arena, &name) && name.function &&
                 strcmp(name.function, symbol);
    if (named) {
        text_add_string(text, name.function);
        if (name.parallel)
            text_add_string(text, " [parallel]");
    }
    arena_destroy(arena);
    return named;
}

size_t psc_demangle(const char *symbol, char *buffer, size_t size)
{
    struct text text = {0};
    if (buffer && size)
        *buffer = '\0';
    if (!symbol)
        return 0;
    if (!demangle_cython(symbol, &text)) {
        char *demangled PSC_CLEANUP(cleanup_free) = demangle_symbol(symbol);
        if (demangled)
            text_add_string(&text, demangled);
    }
    size_t length = text.failed ? 0 : text.size;
    if (buffer && size && length) {
        size_t kept = length < size ? length : size - 1;
        memcpy(buffer, text.data, kept);
        buffer[kept] = '\0';
    }
    text_deinit(&text);
    return length;
}

/* ---- capture ---- */

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
    trace->held = target->kind == TARGET_HOST;
    trace->path = target->path ? arena_strdup(arena, target->path) : NULL;
    trace->pid = process->pid;
    trace->executable = process->executable ? arena_strdup(arena, process->executable) : NULL;
    trace->architecture = "x86_64";
    const char **arguments = arena_array(arena, process->argument_count + 1, sizeof(*arguments));
    for (size_t i = 0; arguments && i < process->argument_count; i++)
        arguments[i] = arena_strdup(arena, process->arguments[i]);
    trace->arguments = arguments;
    trace->argument_count = arguments ? process->argument_count : 0;
}

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

/* Finds Python in every mode, so that the report can name it; its stacks only where wanted. */
static enum psc_status open_python(struct psc_target *target, struct psc_trace *trace,
                                   enum psc_mode mode, struct python **ret, struct psc_error *err)
{
    struct psc_error why = {0};
    *ret = NULL;
    enum psc_status status = python_open(target->target, target->modules, trace->arena, ret, &why);
    if (status == PSC_ERR_MEMORY)
        return psc_fail(err, status, "%s", why.message);
    if (status == PSC_OK) {
        describe_python(trace, *ret);
        return PSC_OK;
    }
    if (status != PSC_ERR_NOT_FOUND)
        trace->python_problem = arena_strdup(trace->arena, why.message);
    if (mode != PSC_MODE_NATIVE)
        target_warn(target->target, trace->python_problem ? "python-unsupported" : "no-python",
                    "%s", why.message);
    return PSC_OK;
}

/* ---- living processes ---- */

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

static void take_pause(struct psc_trace *trace, const struct target_pause *pause)
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

/* Before anything is done: a file that cannot be written is known then. */
static enum psc_status begin_core(struct target *target, struct psc_trace *trace,
                                  const struct psc_capture_options *options, struct psc_error *err)
{
    if (!options->core_path)
        return PSC_OK;
    if (target->kind != TARGET_PROCESS || options->no_pause)
        return psc_fail(err, PSC_ERR_ARGUMENT,
                        "a core file can be written of a living process that is stopped only");
    trace->core_path = arena_strdup(trace->arena, options->core_path);
    return target_keep_core(target, options->core_path, options->core_full, err);
}

/* The report is worth having without the file. */
static void end_core(struct target *target, struct psc_trace *trace)
{
    if (trace->core_path && !trace->core_error.status)
        trace->core_error.status = target_save_core(target, &trace->core_error);
}

/* Python frames only, from a process that goes on. */
static enum psc_status glance_at_process(struct target *target, struct capture_sources *sources,
                                         struct psc_error *err)
{
    if (!sources->python)
        return psc_fail(err, PSC_ERR_NOT_FOUND,
                        "process %d: no Python interpreter was found, and nothing else can be read "
                        "of a process that is not stopped",
                        target->process.pid);
    enum psc_status status = target_glance(target, rehearse, sources, err);
    if (status == PSC_OK && target->pause.changed)
        target_warn(target, "not-stopped",
                    "the process was not stopped, and %zu of %zu pages changed while they were "
                    "read: a stack may be a mixture of two moments",
                    target->pause.changed, target->pause.pages);
    return status;
}

/* A report without stacks, which says why. */
static enum psc_status survey_process(struct target *target, struct psc_trace *trace,
                                      struct psc_capture_options *options, const char *why,
                                      struct psc_error *err)
{
    target_warn(target, "not-permitted", "%s", why);
    trace->surveyed = true;
    if (!trace->python)
        trace->python_problem = "whether it runs Python cannot be told";
    options->mode = PSC_MODE_PYTHON; // Nothing is there to be unwound.
    return target_survey(target, err);
}

static void refuse_core(struct target *target, struct psc_trace *trace)
{
    target_drop_core(target);
    psc_fail(&trace->core_error, PSC_ERR_IO,
             "%s: is not written: process %d could not be stopped, and a core file needs that",
             trace->core_path ? trace->core_path : "", target->process.pid);
}

/* Finds what has to be known of the process before it is looked at. */
static enum psc_status prepare_look(struct psc_target *target, struct psc_trace *trace,
                                    enum psc_mode mode, bool again, struct capture_sources *sources,
                                    struct psc_error *err)
{
    bool changed = false;
    python_close(sources->python);
    sources->python = NULL;
    enum psc_status status = target_prepare_look(target->target, &changed, err);
    if (status == PSC_OK && (changed || again)) {
        modules_destroy(target->modules);
        target->modules = NULL;
        status = modules_create(target->target, &target->modules, err);
        sources->modules = target->modules;
    }
    if (status != PSC_OK || target->target->refusal)
        return status;
    return open_python(target, trace, mode, &sources->python, err);
}

/*
 * The interpreter is found before the stop, its stacks are read in it. When the process has just
 * loaded a library the look is worth nothing, and another one is taken. Variables of native frames
 * take two looks: the first one tells what debug information is needed. When somebody else has
 * stopped the process its Python side can still be read.
 */
static enum psc_status look_at_process(struct psc_target *target, struct psc_trace *trace,
                                       struct psc_capture_options *options,
                                       struct capture_sources *sources, struct psc_error *err)
{
    struct psc_error why = {0};
    enum psc_status status = PSC_OK;
    bool changed = false;
    bool natives = options->locals && options->mode != PSC_MODE_PYTHON;
    bool again = true;
    for (size_t i = 0; status == PSC_OK && again && i < LOOK_LIMIT; i++) {
        status = prepare_look(target, trace, options->mode, changed, sources, err);
        changed = false;
        if (status != PSC_OK)
            return status;
        if (target->target->refusal) {
            refuse_core(target->target, trace);
            return survey_process(target->target, trace, options, target->target->refusal, err);
        }
        if (options->no_pause)
            return glance_at_process(target->target, sources, err);
        target->target->tentative = natives && !sources->native_locals;
        status = target_look(target->target, rehearse, sources, &changed, &why);
        again = changed || (natives && !sources->native_locals);
        sources->native_locals = natives && !changed;
        // The process goes on while the debug information is read; then it is looked at again.
        if (status == PSC_OK && again && !changed)
            trace_rehearse_native(sources);
    }
    if (status == PSC_OK) {
        take_pause(trace, &target->target->pause);
        return PSC_OK;
    }
    if (!target->target->pause.refused)
        return psc_fail(err, status, "%s", why.message);
    refuse_core(target->target, trace);
    if (!sources->python || options->mode == PSC_MODE_NATIVE || options->thread >= 0)
        return survey_process(target->target, trace, options, why.message, err);
    options->mode = PSC_MODE_PYTHON;
    struct psc_error unread = {0};
    if (glance_at_process(target->target, sources, &unread) != PSC_OK)
        return survey_process(target->target, trace, options, why.message, err);
    target_warn(target->target, "not-permitted", "%s; only its Python frames are shown",
                why.message);
    return PSC_OK;
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
                                 ? look_at_process(target, trace, options, ret, err)
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
    struct psc_capture_options options = {.thread = -1};
    if (!target || !ret || !take_options(&options, sizeof(options), given))
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_capture: unusable arguments");
    if (options.no_pause && target->target->kind != TARGET_PROCESS)
        options.no_pause = 0;
    if (options.no_pause)
        options.mode = PSC_MODE_PYTHON;
    // Values of native frames decompress the debug information in any case.
    if (options.locals)
        options.all_inlined = 1;
    struct psc_trace *trace = calloc(1, sizeof(*trace));
    struct arena *arena = arena_create();
    if (!trace || !arena) {
        free(trace);
        arena_destroy(arena);
        return psc_fail(err, PSC_ERR_MEMORY, "out of memory");
    }
    trace->arena = arena;
    trace->complete = true;
    warnings_init(&trace->warnings, arena);
    double since = now_in_milliseconds();

    struct capture_sources sources = {0};
    describe_process(trace, target->target);
    enum psc_status status = begin_core(target->target, trace, &options, err);
    if (status == PSC_OK)
        status = open_sources(target, trace, &options, &sources, err);
    explain_stage(trace, "finding the interpreter", &since);
    if (status == PSC_OK)
        status = end_call(target->target, trace_fill(trace, &sources, &options, err), err);
    explain_stage(trace, "walking, merging and looking up", &since);
    if (status == PSC_OK)
        status = diagnose_crash(target->target, trace);
    if (status == PSC_OK) {
        find_gil_holder(trace, options.thread < 0 && !options.threads);
        finish(trace, &sources);
        end_core(target->target, trace);
    }
    close_sources(&sources);
    if (target->target->kind == TARGET_PROCESS)
        target_drop_core(target->target);
    status = end_call(target->target, status, err);

    if (status != PSC_OK) {
        psc_trace_destroy(trace);
        return status;
    }
    *ret = trace;
    return PSC_OK;
}
