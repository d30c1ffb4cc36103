#include "cython_private.h"

#include <stdlib.h>

struct cached_lines {
    struct module *module;
    struct generated_lines found;
    const struct generated_lines *kept; /**< Whose lines these are; NULL: they are the cache's. */
};

struct cython_cache {
    struct arena *arena;
    struct cached_lines *lines;
    size_t line_count;
    size_t line_capacity;
    struct cython_module *modules;
    size_t module_count;
    size_t module_capacity;
    struct hash_table sources;
};

struct cython_cache *cython_cache_create(void)
{
    struct cython_cache *cache = calloc(1, sizeof(*cache));
    if (cache && !(cache->arena = arena_create())) {
        free(cache);
        return NULL;
    }
    if (cache)
        cython_sources_init(&cache->sources);
    return cache;
}

void cython_cache_destroy(struct cython_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->line_count; i++)
        if (!cache->lines[i].kept)
            cython_lines_destroy(cache->lines[i].found.lines);
    for (size_t i = 0; i < cache->module_count; i++)
        cython_module_deinit(&cache->modules[i]);
    free(cache->lines);
    free(cache->modules);
    hash_table_deinit(&cache->sources);
    arena_destroy(cache->arena);
    free(cache);
}

/** What is known of a module; NULL when out of memory. */
static struct cython_module *cache_module(struct cython_cache *cache, struct module *module)
{
    for (size_t i = 0; i < cache->module_count; i++)
        if (cache->modules[i].module == module)
            return &cache->modules[i];
    if (!array_reserve((void **)&cache->modules, &cache->module_capacity, cache->module_count + 1,
                       sizeof(*cache->modules)))
        return NULL;
    struct cython_module *known = &cache->modules[cache->module_count++];
    *known = (struct cython_module){.module = module};
    return known;
}

bool cython_cache_name_of(struct cython_cache *cache, struct module *module, const char *symbol,
                          struct arena *arena, struct cython_name *ret)
{
    struct cython_module *known = cache_module(cache, module);
    return known ? cython_module_name_of(known, symbol, arena, cache->arena, ret)
                 : cython_name_of(module, symbol, arena, ret);
}

/** The module's machine code, made ready once; NULL when it is not Cython's. */
static struct reports *cache_reports(struct cython_cache *cache, struct module *module,
                                     struct cython_module **ret)
{
    struct cython_module *known = cache_module(cache, module);
    if (known && !known->code)
        known->code = cython_code_of(module);
    *ret = known;
    return known && known->code ? kept_code_reports(known->code) : NULL;
}

bool cython_cache_has_code(struct cython_cache *cache, struct module *module)
{
    struct cython_module *known;
    return cache_reports(cache, module, &known) != NULL;
}

bool cython_cache_is_mypyc(struct cython_cache *cache, struct module *module)
{
    struct cython_module *known;
    struct reports *reports = cache_reports(cache, module, &known);
    return reports && reports_is_mypyc(reports);
}

size_t cython_cache_find_code(struct cython_cache *cache, const struct cython_address *address,
                              struct cython_code *ret, size_t limit)
{
    struct cython_module *known;
    struct reports *reports = cache_reports(cache, address->module, &known);
    const uint64_t pc = address->pc - address->module->bias;
    size_t count;
    if (!reports || kept_code_find(known->code, pc, address->arena, ret, limit, &count))
        return reports ? count : 0;
    struct code_question question = {reports, cython_module_get_name(known, cache->arena),
                                     address->arena};
    module_note_code(address->module, pc);
    return cython_functions_at(&question, pc, ret, limit);
}

bool cython_cache_calls_itself(struct cython_cache *cache, struct module *module, psc_addr pc)
{
    struct cython_module *known;
    struct reports *reports = cache_reports(cache, module, &known);
    return !reports || flow_calls_itself(reports_get_flow(reports), pc - module->bias);
}

psc_addr cython_cache_find_suspension(struct cython_cache *cache, struct module *module,
                                      psc_addr body, uint32_t label, uint64_t offset)
{
    struct cython_module *known;
    struct reports *reports = cache_reports(cache, module, &known);
    uint64_t call =
        reports ? reports_find_suspension(reports, body - module->bias, label, offset) : 0;
    return call ? call + module->bias : 0;
}

bool cython_cache_is_same_function(struct cython_cache *cache, struct module *module, psc_addr a,
                                   psc_addr b)
{
    struct cython_module *known;
    struct reports *reports = cache_reports(cache, module, &known);
    return reports && code_is_same_function(&reports_get_flow(reports)->image, a - module->bias,
                                            b - module->bias);
}

bool cython_cache_is_helper(struct cython_cache *cache, struct module *module, psc_addr pc)
{
    struct cython_module *known;
    struct reports *reports = cache_reports(cache, module, &known);
    bool helper;
    if (reports && kept_code_find_helper(known->code, pc - module->bias, &helper))
        return helper;
    return reports && cython_is_own_code(reports_get_flow(reports), pc - module->bias);
}

bool cython_cache_public_name(struct cython_cache *cache, struct module *module, const char *symbol,
                              struct arena *arena, struct cython_name *ret)
{
    struct cython_module *known;
    struct reports *reports = cache_reports(cache, module, &known);
    const char *whole =
        reports ? reports_find_whole_name(&reports_get_flow(reports)->image, symbol) : NULL;
    if (!whole)
        return false;
    const char *module_name = cython_module_get_name(known, cache->arena);
    const char *function = cython_traceback_function(whole, module_name, NULL, arena);
    if (!function || strcmp(function, symbol) != 0)
        return false;
    *ret = (struct cython_name){.kind = CYTHON_C_FUNCTION, .function = function, .number = -1};
    return true;
}

/* ---- from C lines to those of the .pyx ---- */

static void search_lines(struct cython_cache *cache, struct cached_lines *entry)
{
    struct cython_module *known;
    struct module *module = entry->module;
    struct reports *reports = cache_reports(cache, module, &known);
    entry->kept = known && known->code
                      ? kept_code_find_lines(known->code, module, entry->found.c_file)
                      : NULL;
    if (entry->kept) {
        entry->found = *entry->kept;
    } else if (known) {
        module_note_source(module, entry->found.c_file, "");
        cython_generated_lines_find(known, reports, cache->arena, &entry->found);
    }
    cython_generated_lines_tell(module, &entry->found);
}

static struct cached_lines *find_lines(struct cython_cache *cache, struct module *module,
                                       const char *c_file)
{
    for (size_t i = 0; i < cache->line_count; i++) {
        if (cache->lines[i].module == module && strcmp(cache->lines[i].found.c_file, c_file) == 0)
            return &cache->lines[i];
    }
    const char *copy = arena_strdup(cache->arena, c_file);
    if (!copy || !array_reserve((void **)&cache->lines, &cache->line_capacity,
                                cache->line_count + 1, sizeof(*cache->lines)))
        return NULL;
    struct cached_lines *entry = &cache->lines[cache->line_count++];
    *entry = (struct cached_lines){.module = module, .found = {.c_file = copy}};
    search_lines(cache, entry);
    return entry;
}

const struct cython_lines *cython_lines_find(struct cython_cache *cache, struct module *module,
                                             const char *c_file, bool *ret_xml)
{
    const struct cached_lines *entry = find_lines(cache, module, c_file);
    *ret_xml = entry && entry->found.lines && entry->found.xml;
    return entry ? entry->found.lines : NULL;
}

const char *cython_cache_source_path(struct cython_cache *cache, const struct cython_source *source,
                                     struct arena *arena)
{
    const struct cython_place *place = cython_sources_find(&cache->sources, source);
    if (!place)
        place = cython_sources_add(&cache->sources, source, kept_code_find_source(source),
                                   cache->arena);
    if (place && place->home)
        target_add_home(modules_target(source->module->owner), place->local, place->home);
    return place ? arena_strdup(arena, place->path) : NULL;
}
