/* Addresses and the modules that they are in. */
#include "symbolizer_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct module *interpreter_of(const struct python *python)
{
    return python ? python_get_info(python)->module : NULL;
}

static bool is_interpreter_module(const struct symbolizer *symbolizer, const struct module *module)
{
    const struct python *python = symbolizer->input.python;
    if (!python)
        return false;
    if (module == interpreter_of(python))
        return true;
    // The launcher of a shared libpython: python3.11 and nothing else.
    return module->is_executable_file && c_api_is_interpreter_file(module->name);
}

static bool is_extension(struct module *module)
{
    char entry[256];
    struct module_symbol symbol;
    // The suffixes of extension modules end in ".so", names of libraries mostly do not.
    const char *suffix = strrchr(module->name, '.');
    if (!suffix || strcmp(suffix, ".so") != 0)
        return false;
    c_api_format_module_entry(module->name, entry, sizeof(entry));
    return module_find_symbol_named(module, entry, &symbol);
}

/* A program that holds compiled modules, with Python in a library: `cython --embed`. */
static bool is_embedding(const struct symbolizer *symbolizer, struct module *module)
{
    return module->is_executable_file && !is_interpreter_module(symbolizer, module) &&
           module_imports(module, c_api_traceback_symbol);
}

struct module_record *symbolizer_record(struct symbolizer *symbolizer, const struct module *module)
{
    const struct module_record *records = symbolizer->records;
    size_t at = SORTED_COUNT(i, symbolizer->record_count, records[i].module->start < module->start);
    bool listed = at < symbolizer->record_count && records[at].module == module;
    return listed ? &symbolizer->records[at] : NULL;
}

bool address_is_evaluator(const struct address_info *info)
{
    return info->interpreter && info->level_count &&
           info->levels[info->level_count - 1].python_function == PYTHON_FUNCTION_EVALUATOR;
}

/* Code of no module, of which the program itself has written what it is. */
static void name_unlisted_code(struct symbolizer *symbolizer, psc_addr pc,
                               struct trace_location *location)
{
    const char *name = modules_find_code_name(symbolizer->input.modules, pc);
    location->function = name ? arena_strdup(symbolizer->trace->arena, name) : NULL;
    if (location->function)
        location->language = "JIT";
}

static void look_up_symbol(struct symbolizer *symbolizer, struct address_info *info)
{
    struct address_level *level = arena_alloc(symbolizer->trace->arena, sizeof(*level));
    struct trace_location *location = arena_alloc(symbolizer->trace->arena, sizeof(*location));
    if (!level || !location)
        return;
    level->location = location;
    info->levels = level;
    info->level_count = 1;
    location->kind = TRACE_NATIVE;
    location->language = "C";
    info->module = modules_find(symbolizer->input.modules, info->pc);
    if (!info->module) {
        name_unlisted_code(symbolizer, info->pc, location);
        return;
    }
    struct module_record *record = symbolizer_record(symbolizer, info->module);
    if (record) {
        if (!record->used)
            record->extension =
                is_extension(info->module) || is_embedding(symbolizer, info->module);
        record->used = true;
        info->extension = record->extension;
        location->module = record->trace;
    }
    location->offset = info->pc - info->module->bias;
    location->has_offset = record != NULL;
    info->interpreter = is_interpreter_module(symbolizer, info->module);
    if (module_find_symbol(info->module, info->pc, &info->symbol))
        symbolizer_name_level(symbolizer, info, level, info->symbol.name);
    else if (info->extension)
        info->cython_code = symbolizer_name_by_code(symbolizer, info);
}

struct address_info *symbolizer_get(struct symbolizer *symbolizer, psc_addr pc)
{
    struct known_address *known = hash_table_find(&symbolizer->addresses, pc);
    if (known)
        return known->info;
    struct address_info *info = arena_alloc(symbolizer->trace->arena, sizeof(*info));
    if (!info || !hash_table_reserve(&symbolizer->addresses, symbolizer->addresses.count + 1))
        return NULL;
    info->pc = pc;
    look_up_symbol(symbolizer, info);
    if (!info->level_count)
        return NULL;
    // There is room: NULL is for addresses that were made to collide. Those get no lines.
    known = hash_table_add(&symbolizer->addresses, pc);
    if (known)
        known->info = info;
    return info;
}

void symbolizer_forget_python(struct symbolizer *symbolizer, struct python *python)
{
    symbolizer->input.python = python;
    hash_table_clear(&symbolizer->instructions);
    if (symbolizer->interpreter == interpreter_of(python))
        return;
    // What is known of an address depends on where the interpreter is, and on whether there is one.
    symbolizer->interpreter = interpreter_of(python);
    hash_table_clear(&symbolizer->addresses);
    for (size_t i = 0; i < symbolizer->record_count; i++)
        symbolizer->records[i].used = false;
}

/* ---- modules ---- */

static struct trace_module *make_trace_module(struct arena *arena, const struct module *module)
{
    struct trace_module *record = arena_alloc(arena, sizeof(*record));
    if (!record)
        return NULL;
    record->path = arena_strdup(arena, module->path);
    record->base = module->bias;
    if (module->build_id_hex)
        record->build_id = arena_strdup(arena, module->build_id_hex);
    record->start = module->start;
    record->end = module->end;
    if (record->path) {
        const char *slash = strrchr(record->path, '/');
        record->name = slash ? slash + 1 : record->path;
    }
    return record;
}

/*
 * A record for each module, those that there were as they are. What the file tells is added by
 * symbolizer_list_modules().
 */
static enum psc_status make_records(struct symbolizer *symbolizer)
{
    struct arena *arena = symbolizer->trace->arena;
    size_t count = modules_count(symbolizer->input.modules);
    struct module_record *records PSC_CLEANUP(cleanup_free) = calloc(count + 1, sizeof(*records));
    if (!records)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct module *module = modules_get(symbolizer->input.modules, i);
        const struct module_record *known = symbolizer_record(symbolizer, module);
        if (known)
            records[i] = *known;
        else
            records[i] =
                (struct module_record){.module = module, .trace = make_trace_module(arena, module)};
    }
    if (arena_is_exhausted(arena))
        return PSC_ERR_MEMORY;
    free(symbolizer->records);
    symbolizer->records = records;
    symbolizer->record_count = count;
    records = NULL;
    return PSC_OK;
}

enum psc_status symbolizer_take_modules(struct symbolizer *symbolizer)
{
    struct hash_table kept = HASH_TABLE_OF(struct known_address);
    const struct hash_table *addresses = &symbolizer->addresses;
    enum psc_status status = make_records(symbolizer);
    if (status != PSC_OK)
        return status;
    for (size_t i = 0; i < addresses->count; i++) {
        const struct known_address *known = hash_table_at(addresses, i);
        struct known_address *added =
            known->info->module ? hash_table_add(&kept, known->info->pc) : NULL;
        if (added)
            added->info = known->info;
    }
    hash_table_deinit(&symbolizer->addresses);
    symbolizer->addresses = kept;
    return PSC_OK;
}

/* ---- life ---- */

enum psc_status symbolizer_create(struct psc_trace *trace, const struct symbolizer_input *input,
                                  struct symbolizer **ret)
{
    struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
    if (!symbolizer)
        return PSC_ERR_MEMORY;
    symbolizer->trace = trace;
    symbolizer->input = *input;
    symbolizer->interpreter = interpreter_of(input->python);
    symbolizer->addresses = HASH_TABLE_OF(struct known_address);
    symbolizer->instructions = HASH_TABLE_OF(struct known_instruction);
    symbolizer->text = sources_create(input->target, trace->arena);
    symbolizer->cython = cython_cache_create();
    enum psc_status status =
        symbolizer->text && symbolizer->cython ? make_records(symbolizer) : PSC_ERR_MEMORY;
    if (status != PSC_OK) {
        symbolizer_destroy(symbolizer);
        return status;
    }
    *ret = symbolizer;
    return PSC_OK;
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
    if (!symbolizer)
        return;
    sources_destroy(symbolizer->text);
    cython_cache_destroy(symbolizer->cython);
    free(symbolizer->records);
    hash_table_deinit(&symbolizer->addresses);
    hash_table_deinit(&symbolizer->instructions);
    free(symbolizer);
}
