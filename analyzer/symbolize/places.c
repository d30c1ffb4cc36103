/* Places: every distinct program counter is looked up once, whatever the number of frames. */
#include "places_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t place_hash(psc_addr pc)
{
    return hash_u64(pc);
}

static bool places_grow(struct places *places)
{
    size_t size = places->mask ? (places->mask + 1) * 2 : 256;
    struct place **table = calloc(size, sizeof(*table));
    if (!table)
        return false;
    for (size_t i = 0; i < places->count; i++) {
        size_t at = place_hash(places->all[i]->pc) & (size - 1);
        while (table[at])
            at = (at + 1) & (size - 1);
        table[at] = places->all[i];
    }
    free(places->table);
    places->table = table;
    places->mask = size - 1;
    return true;
}

static bool is_interpreter_module(const struct places *places, const struct module *module)
{
    const struct python *python = places->sources.python;
    if (!python)
        return false;
    if (module == python_get_info(python)->module)
        return true;
    // The launcher of a shared libpython: python3.11 and nothing else.
    return module->is_executable_file && !strncmp(module->name, "python", strlen("python"));
}

/* CPython's Python/importdl.c: a module's entry is PyInit_ and the last part of its name. */
static bool is_extension(struct module *module)
{
    char entry[256];
    struct module_symbol symbol;
    int size = (int)strcspn(module->name, ".");
    // All suffixes of extension modules end so; "libc.so.6" need not be searched.
    const char *suffix = strrchr(module->name, '.');
    if (!suffix || strcmp(suffix, ".so") != 0)
        return false;
    snprintf(entry, sizeof(entry), "PyInit_%.*s", size, module->name);
    return module_find_symbol_named(module, entry, &symbol);
}

/* A program that holds compiled modules, with Python in a library: `cython --embed`. */
static bool is_embedding(const struct places *places, struct module *module)
{
    return module->is_executable_file && !is_interpreter_module(places, module) &&
           module_imports(module, "PyTraceBack_Here");
}

struct module_record *places_record(struct places *places, const struct module *module)
{
    size_t low = 0, high = places->record_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places->records[middle].module->start < module->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < places->record_count ? &places->records[low] : NULL;
}

bool place_is_evaluator(const struct place *place)
{
    return place->interpreter && place->level_count &&
           place->levels[place->level_count - 1].function_class == FUNCTION_EVALUATOR;
}

static void place_look_up(struct places *places, struct place *place)
{
    struct place_level *level = arena_alloc(places->trace->arena, sizeof(*level));
    struct trace_location *location = arena_alloc(places->trace->arena, sizeof(*location));
    if (!level || !location)
        return;
    level->location = location;
    place->levels = level;
    place->level_count = 1;
    location->kind = TRACE_NATIVE;
    location->language = "C";
    place->module = modules_find(places->sources.modules, place->pc);
    if (!place->module)
        return;
    struct module_record *record = places_record(places, place->module);
    if (record) {
        if (!record->used)
            record->extension = is_extension(place->module) || is_embedding(places, place->module);
        record->used = true;
        place->extension = record->extension;
        location->module = record->trace;
    }
    location->offset = place->pc - place->module->bias;
    location->has_offset = true;
    place->interpreter = is_interpreter_module(places, place->module);
    if (module_find_symbol(place->module, place->pc, &place->symbol))
        places_name_level(places, place, level, place->symbol.name);
    else if (place->extension)
        place->cython_code = places_name_by_code(places, place);
}

struct place *places_get(struct places *places, psc_addr pc)
{
    if ((places->count + 1) * 2 > places->mask && !places_grow(places))
        return NULL;
    size_t at = place_hash(pc) & places->mask;
    while (places->table[at]) {
        if (places->table[at]->pc == pc)
            return places->table[at];
        at = (at + 1) & places->mask;
    }
    struct place *place = arena_alloc(places->trace->arena, sizeof(*place));
    if (!place || !array_reserve((void **)&places->all, &places->capacity, places->count + 1,
                                 sizeof(*places->all)))
        return NULL;
    place->pc = pc;
    places->table[at] = place;
    places->all[places->count++] = place;
    place_look_up(places, place);
    return place->level_count ? place : NULL;
}

/* ---- modules ---- */

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

/* A record for each module; what it takes opening the file to know comes at the end. */
static enum psc_status make_records(struct places *places)
{
    struct arena *arena = places->trace->arena;
    size_t count = modules_count(places->sources.modules);
    places->records = calloc(count ? count : 1, sizeof(*places->records));
    struct trace_module *traced = arena_array(arena, count + 1, sizeof(*traced));
    if (!places->records || !traced)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct module *module = modules_get(places->sources.modules, i);
        struct trace_module *record = &traced[i];
        record->path = arena_strdup(arena, module->path);
        record->base = module->bias;
        record->start = module->start;
        record->end = module->end;
        if (record->path) {
            const char *slash = strrchr(record->path, '/');
            record->name = slash ? slash + 1 : record->path;
        }
        places->records[i] = (struct module_record){.module = module, .trace = record};
    }
    places->record_count = count;
    return arena_is_exhausted(arena) ? PSC_ERR_MEMORY : PSC_OK;
}

/* @return whether the file is used although nothing tells that it is the same. */
static bool warn_about_file(struct target *target, const struct target_file *file)
{
    if (file->state == TARGET_FILE_MISSING)
        target_warn(target, "file-missing",
                    "%s: the file is not here; its frames lack names and may be incomplete; "
                    "name its place with --sysroot or --lib-dir",
                    file->path);
    else if (file->state == TARGET_FILE_MISMATCH)
        target_warn(target, "file-mismatch",
                    "%s: the file here is another build and is not used; name the right one's "
                    "place with --sysroot or --lib-dir",
                    file->path);
    else if (file->image && !target_file_is_whole(file))
        target_warn(target, "file-cut-off",
                    "%s: the file is cut off, or has debug information only; what is not in it is "
                    "missing below",
                    file->local_path ? file->local_path : file->path);
    return file->state == TARGET_FILE_UNVERIFIED;
}

enum psc_status places_list_modules(struct places *places)
{
    struct psc_trace *trace = places->trace;
    struct target *target = places->sources.target;
    size_t unverified = 0;
    trace->modules = arena_array(trace->arena, places->record_count + 1, sizeof(*trace->modules));
    if (!trace->modules)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < places->record_count; i++) {
        const struct module_record *record = &places->records[i];
        struct module *module = record->module;
        if (!record->used && !places->all_modules)
            continue;
        module_open(module);
        record->trace->file = file_state(module);
        record->trace->debug_info = module->has_debug_info;
        if (module->build_id_hex)
            record->trace->build_id = arena_strdup(trace->arena, module->build_id_hex);
        trace->modules[trace->module_count++] = record->trace;
        if (record->used && module->file)
            unverified += warn_about_file(target, module->file);
    }
    if (unverified)
        target_warn(target, "files-unverified",
                    "the core file holds no build-ids: %zu mapped files are used without a check "
                    "that they are the same",
                    unverified);
    return arena_is_exhausted(trace->arena) ? PSC_ERR_MEMORY : PSC_OK;
}

/* ---- life ---- */

enum psc_status places_create(struct psc_trace *trace, const struct capture_sources *sources,
                              const struct psc_capture_options *options, struct places **ret)
{
    struct places *places = calloc(1, sizeof(*places));
    if (!places)
        return PSC_ERR_MEMORY;
    places->trace = trace;
    places->sources = *sources;
    places->keep_source = !options->no_source;
    places->all_inlined = options->all_inlined;
    places->all_modules = options->all_modules;
    places->text = sources_create(sources->target, trace->arena);
    places->cython = cython_cache_create();
    enum psc_status status = places->text && places->cython ? make_records(places) : PSC_ERR_MEMORY;
    if (status != PSC_OK) {
        places_destroy(places);
        return status;
    }
    *ret = places;
    return PSC_OK;
}

void places_destroy(struct places *places)
{
    if (!places)
        return;
    sources_destroy(places->text);
    cython_cache_destroy(places->cython);
    free(places->records);
    free(places->table);
    free(places->all);
    free(places->python_table);
    free(places);
}
