/* What a trace says of the process as a whole. */
#include "capture_private.h"

#include "core.h"

#include <string.h>

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/*
 * The name that execve() was called with, as a venv's link, where that named the program: the name
 * of a script stands behind that of its interpreter in the arguments (Linux, fs/exec.c and
 * fs/binfmt_script.c). Else the file that is mapped.
 */
static const char *find_executable(struct target *target)
{
    const struct target_process *process = &target->process;
    const char *const *arguments = process->arguments;
    char path[4096];
    if (!process->executable || !process->argument_count || !target->auxv.execfn ||
        target_read_string(target, target->auxv.execfn, path, sizeof(path)) != PSC_OK ||
        path[0] != '/' || strcmp(last_component(path), last_component(arguments[0])) != 0 ||
        (process->argument_count > 1 && !strcmp(path, arguments[1])))
        return process->executable;
    return arena_strdup(target->arena, path);
}

void describe_process(struct psc_trace *trace, struct target *target)
{
    struct arena *arena = trace->arena;
    const struct target_process *process = &target->process;
    const char *executable = find_executable(target);
    trace->kind = target->kind == TARGET_CORE ? "core" : "process";
    trace->held = target->kind == TARGET_DEBUGGER;
    const char *path = core_get_path(target);
    trace->path = path ? arena_strdup(arena, path) : NULL;
    trace->pid = process->pid;
    trace->executable = executable ? arena_strdup(arena, executable) : NULL;
    trace->architecture = target->machine->name;
    const char **arguments = arena_array(arena, process->argument_count + 1, sizeof(*arguments));
    for (size_t i = 0; arguments && i < process->argument_count; i++)
        arguments[i] = arena_strdup(arena, process->arguments[i]);
    trace->arguments = arguments;
    trace->argument_count = arguments ? process->argument_count : 0;
}

/* Explains the unwinder; moves the target's warnings into the trace. */
void summarize(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    if (capture->native) {
        const struct native_statistics *counts = native_get_statistics(capture->native);
        text_printf(&trace->explain,
                    "unwinding: %zu steps by libunwind, %zu by libdw, %zu by heuristics; "
                    "%zu distinct places\n",
                    counts->steps_libunwind, counts->steps_libdw, counts->steps_heuristic,
                    counts->rows);
    }
    if (capture->target->ops->warn_at_end)
        capture->target->ops->warn_at_end(capture->target);
    const struct warnings *warnings = &capture->target->warnings;
    for (size_t i = 0; i < warnings->count; i++)
        warnings_add(&trace->warnings, warnings->items[i].code, "%s", warnings->items[i].message);
    if (trace->warnings.count)
        trace->complete = false;
}

/* ---- the list of all files that a report needs ---- */

static enum trace_file_state state_of(const struct target_file *file)
{
    if (file->image)
        return TRACE_FILE_FOUND;
    return file->state == TARGET_FILE_MISMATCH ? TRACE_FILE_MISMATCH : TRACE_FILE_MISSING;
}

static struct trace_file describe_mapped(const struct capture *capture,
                                         const struct target_file *file)
{
    const char *executable = capture->target->process.executable;
    char hex[TARGET_BUILD_ID_TEXT];
    struct arena *arena = capture->trace->arena;
    bool is_program = executable && !strcmp(executable, file->path);
    target_build_id_text(&file->build_id, hex);
    return (struct trace_file){
        .kind = is_program ? TRACE_FILE_EXECUTABLE : TRACE_FILE_LIBRARY,
        .state = state_of(file),
        .path = arena_strdup(arena, file->path),
        .build_id = *hex ? arena_strdup(arena, hex) : NULL,
        .here = file->image && file->local_path ? arena_strdup(arena, file->local_path) : NULL,
    };
}

static struct trace_file describe_needed(const struct capture *capture,
                                         const struct target_needed_file *file)
{
    static const enum trace_file_kind kinds[] = {
        [TARGET_NEED_DEBUG] = TRACE_FILE_DEBUG,
        [TARGET_NEED_CYTHON] = TRACE_FILE_CYTHON,
        [TARGET_NEED_SOURCE] = TRACE_FILE_SOURCE,
    };
    char hex[TARGET_BUILD_ID_TEXT];
    struct arena *arena = capture->trace->arena;
    target_build_id_text(&file->build_id, hex);
    return (struct trace_file){
        .kind = kinds[file->kind],
        .state = file->local ? TRACE_FILE_FOUND : TRACE_FILE_MISSING,
        .path = arena_strdup(arena, file->path),
        .build_id = *hex ? arena_strdup(arena, hex) : NULL,
        .here = file->local ? arena_strdup(arena, file->local) : NULL,
    };
}

/* "<string>", "<frozen runpy>": no file has such a name. */
static bool is_made_up(const char *path)
{
    return !*path || *path == '<';
}

enum psc_status list_needed_files(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    const struct target *target = capture->target;
    struct modules *modules = *capture->modules;
    if (!capture->options.list_files)
        return PSC_OK;
    size_t module_count = modules_count(modules), count = 0;
    struct trace_file *files =
        arena_array(trace->arena, module_count + target->needed.count + 1, sizeof(*files));
    for (size_t i = 0; files && i < module_count; i++) {
        const struct target_file *file = modules_get(modules, i)->file;
        bool known = !file;
        for (size_t j = 0; j < count && !known; j++)
            known = !strcmp(files[j].path, file->path);
        if (!known)
            files[count++] = describe_mapped(capture, file);
        if (arena_is_exhausted(trace->arena))
            return PSC_ERR_MEMORY;
    }
    for (size_t i = 0; files && i < target->needed.count; i++) {
        const struct target_needed_file *file = hash_table_at(&target->needed, i);
        if (!is_made_up(file->path))
            files[count++] = describe_needed(capture, file);
    }
    trace->files = files;
    trace->file_count = count;
    return arena_is_exhausted(trace->arena) ? PSC_ERR_MEMORY : PSC_OK;
}
