/* The modules of a trace, and the files that are not at hand: all at once, with what to do. */
#include "symbolizer_private.h"

#include <stdlib.h>

/* ---- what is known of a file ---- */

static enum trace_file_state file_state(const struct module *module)
{
    if (!module->file)
        return TRACE_FILE_FOUND;
    switch (module->file->state) {
    case TARGET_FILE_FOUND:
    case TARGET_FILE_UNVERIFIED:
        return TRACE_FILE_FOUND;
    case TARGET_FILE_MISMATCH:
        return TRACE_FILE_MISMATCH;
    case TARGET_FILE_UNTRIED:
    case TARGET_FILE_MISSING:
        return TRACE_FILE_MISSING;
    }
    return TRACE_FILE_MISSING;
}

/* ---- what to do about files that are not at hand ---- */

/* Of a process that is gone, most of whose files are at hand: what became of this one. */
static const char *advise_for_core(const struct target_file *file)
{
    // PyInstaller's bootloader, pyi_archive: a program in one file unpacks itself there.
    if (strstr(file->path, "/_MEI"))
        return "the program unpacked it and removed it at its end: start the program again, copy "
               "its folder _MEI… while it runs, and name the copy with --lib-dir";
    if (strstr(file->path, "/site-packages/") || strstr(file->path, "/dist-packages/"))
        return "its package was installed anew or removed since: install the version that ran into "
               "another folder (pip install --target DIR PACKAGE==VERSION) and name that with "
               "--lib-dir";
    return file->state == TARGET_FILE_MISMATCH
               ? "it was replaced since, by an upgrade say: name a folder that has the old one "
                 "with "
                 "--lib-dir"
               : "it was removed since: name a folder that has it with --lib-dir";
}

static const char *advise(const struct target *target, const struct target_file *file,
                          bool other_machine)
{
    if (target->kind == TARGET_PROCESS && (file->deleted || file->state == TARGET_FILE_MISMATCH))
        return "it was deleted or replaced while the process runs; root, or who has "
               "CAP_CHECKPOINT_RESTORE, may open it as it is mapped";
    if (target->kind == TARGET_CORE && !other_machine)
        return advise_for_core(file);
    return "name its place with --lib-dir, or with --sysroot a copy of the file system that the "
           "program ran on";
}

/* ---- saying so ---- */

/* A module whose file is not at hand. */
struct absent_file {
    const struct module *module;
    const char *advice; /* Static. */
};

struct absent_files {
    struct absent_file *items;
    size_t count;
};

static bool is_alike(const struct absent_file *a, const struct absent_file *b)
{
    return a->advice == b->advice && a->module->file->state == b->module->file->state &&
           a->module->from_memory == b->module->from_memory;
}

/* Warns of all that are alike, the first of which is at `first`: what to do is told once. */
static void warn_about_absent(struct target *target, const struct absent_files *absent,
                              size_t first)
{
    const struct absent_file *one = &absent->items[first];
    bool other_build = one->module->file->state == TARGET_FILE_MISMATCH;
    const char *code = other_build ? "file-mismatch" : "file-missing";
    const char *what = one->module->from_memory
                           ? "what names its frames have comes from memory alone"
                           : "its frames lack names, and callers may be missing";
    const char *state =
        other_build ? "the file here is another build and is not used" : "the file is not here";
    size_t count = 0;
    for (size_t i = first; i < absent->count; i++)
        count += is_alike(one, &absent->items[i]);
    if (count == 1) {
        target_warn(target, code, "%s: %s; %s; %s", one->module->path, state, what, one->advice);
        return;
    }
    for (size_t i = first; i < absent->count; i++)
        if (is_alike(one, &absent->items[i]))
            target_warn(target, code, "%s: %s", absent->items[i].module->path, state);
    target_warn(target, code, "of each of these %zu files: %s; %s", count, what, one->advice);
}

static enum psc_status warn_about_all(const struct symbolizer *symbolizer)
{
    struct target *target = symbolizer->input.target;
    struct absent_file *items PSC_CLEANUP(cleanup_free) =
        calloc(symbolizer->record_count + 1, sizeof(*items));
    struct absent_files absent = {items, 0};
    if (!items)
        return PSC_ERR_MEMORY;
    bool program = false;
    for (size_t i = 0; i < symbolizer->record_count; i++) {
        const struct module *module = symbolizer->records[i].module;
        if (file_state(module) == TRACE_FILE_FOUND)
            continue;
        items[absent.count++].module = module;
        program |= module->is_executable_file;
    }
    bool other_machine = program && absent.count > symbolizer->record_count / 2;
    for (size_t i = 0; i < absent.count; i++)
        items[i].advice = advise(target, items[i].module->file, other_machine);
    for (size_t i = 0; i < absent.count; i++) {
        size_t first = 0;
        while (!is_alike(&items[first], &items[i]))
            first++;
        if (first == i)
            warn_about_absent(target, &absent, i);
    }
    return PSC_OK;
}

/* ---- the list ---- */

/* When one file that is needed is not at hand, the others are looked for, too: one round is enough.
 */
static bool look_for_files(const struct symbolizer *symbolizer)
{
    bool absent = false;
    struct target *target = symbolizer->input.target;
    for (size_t i = 0; i < symbolizer->record_count; i++) {
        const struct module_record *record = &symbolizer->records[i];
        target->local_only = !record->used;
        if (record->used || symbolizer->input.all_modules)
            module_open(record->module);
        absent |= record->used && file_state(record->module) != TRACE_FILE_FOUND;
    }
    target->local_only = true;
    for (size_t i = 0; absent && i < symbolizer->record_count; i++)
        if (symbolizer->records[i].module->file)
            target_file_open(target, symbolizer->records[i].module->file);
    target->local_only = false;
    return absent;
}

/* Of a file that is at hand. @return whether it is used although nothing tells that it is the same.
 */
static bool warn_about_file(struct target *target, const struct target_file *file)
{
    if (file->image && !target_file_is_whole(file))
        target_warn(target, "file-cut-off",
                    "%s: the file is cut off, or has debug information only; what is not in it is "
                    "missing below",
                    file->local_path ? file->local_path : file->path);
    return file->state == TARGET_FILE_UNVERIFIED;
}

enum psc_status symbolizer_list_modules(struct symbolizer *symbolizer)
{
    struct psc_trace *trace = symbolizer->trace;
    struct target *target = symbolizer->input.target;
    size_t unverified = 0;
    trace->modules =
        arena_array(trace->arena, symbolizer->record_count + 1, sizeof(*trace->modules));
    if (!trace->modules)
        return PSC_ERR_MEMORY;
    bool absent = look_for_files(symbolizer);
    for (size_t i = 0; i < symbolizer->record_count; i++) {
        const struct module_record *record = &symbolizer->records[i];
        struct module *module = record->module;
        bool listed = record->used || symbolizer->input.all_modules ||
                      (absent && file_state(module) != TRACE_FILE_FOUND);
        if (!listed)
            continue;
        record->trace->file = file_state(module);
        record->trace->debug_info = module->has_debug_info;
        if (module->build_id_hex)
            record->trace->build_id = arena_strdup(trace->arena, module->build_id_hex);
        trace->modules[trace->module_count++] = record->trace;
        if (record->used && module->file)
            unverified += warn_about_file(target, module->file);
    }
    enum psc_status status = absent ? warn_about_all(symbolizer) : PSC_OK;
    if (unverified)
        target_warn(target, "files-unverified",
                    "the core file holds no build-ids: %zu mapped files are used without a check "
                    "that they are the same",
                    unverified);
    return status == PSC_OK && arena_is_exhausted(trace->arena) ? PSC_ERR_MEMORY : status;
}
