#include "cython_private.h"

#include <stdlib.h>
#include <unistd.h>

/* Larger files are not generated C. */
#define C_FILE_SIZE_LIMIT ((size_t)256 * 1024 * 1024)

struct cached_lines {
    struct module *module;
    const char *c_file;
    struct cython_lines *lines; /**< NULL: looked for and not there. */
    bool xml;                   /**< From Cython's debug XML, not from the C file. */
};

struct cython_cache {
    struct arena *arena;
    struct cached_lines *lines;
    size_t line_count;
    size_t line_capacity;
    struct cython_module *modules;
    size_t module_count;
    size_t module_capacity;
};

struct cython_cache *cython_cache_create(void)
{
    struct cython_cache *cache = calloc(1, sizeof(*cache));
    if (cache && !(cache->arena = arena_create())) {
        free(cache);
        return NULL;
    }
    return cache;
}

void cython_cache_destroy(struct cython_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->line_count; i++)
        cython_lines_destroy(cache->lines[i].lines);
    for (size_t i = 0; i < cache->module_count; i++)
        cython_module_deinit(&cache->modules[i]);
    free(cache->lines);
    free(cache->modules);
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

/** The search for the lines of one C file. */
struct lines_search {
    struct module *module;
    struct reports *reports;
    const char *c_file;
    bool xml;
    struct cython_lines *lines; /**< What was found. */
    const char *used;           /**< The file that they are of. */
    const char *other;          /**< A file of another build. */
};

/** Whether errors may stand in a file that was included: its name is a string of the module's. */
static bool names_include(const struct module *module)
{
    static const char ending[] = ".pxi";
    return module->image && memmem(module->image, module->image_size, ending, sizeof(ending));
}

/** Takes the lines of a file's bytes when they are the module's. */
static void take_lines(struct lines_search *search, const char *path, struct slice text)
{
    struct cython_lines *lines = NULL;
    enum psc_status status = search->xml ? parse_cython_xml(text.data, text.size, &lines)
                                         : parse_cython_lines(text.data, text.size, &lines);
    if (status != PSC_OK)
        return;
    if (!cython_lines_has_files(lines) && names_include(search->module)) {
        cython_lines_destroy(lines);
        return;
    }
    struct slice c_text = search->xml ? (struct slice){"", 0} : text;
    if (!cython_lines_is_empty(lines) &&
        cython_matches_build(search->module, search->reports, search->c_file, c_text, lines)) {
        search->lines = lines;
        search->used = path;
        return;
    }
    if (!cython_lines_is_empty(lines))
        search->other = path;
    cython_lines_destroy(lines);
}

static bool visit_lines(void *context, const char *path)
{
    struct lines_search *search = context;
    int fd = target_open_local(modules_target(search->module->owner), path);
    if (fd < 0)
        return false;
    size_t size;
    char *text PSC_CLEANUP(cleanup_free) = file_bytes_read(fd, C_FILE_SIZE_LIMIT, &size);
    close(fd);
    if (text)
        take_lines(search, path, (struct slice){text, size});
    return search->lines;
}

/* In the list of all files; the generated C stands for both where neither is at hand. */
static void note_need(const struct lines_search *search, const char *name, struct arena *arena)
{
    struct target *target = modules_target(search->module->owner);
    const char *home = search->used ? target_home_of(target, search->used) : NULL;
    if (!home && search->used && search->xml)
        name = arena_printf(arena, "cython_debug/cython_debug_info_%s", name);
    else
        name = search->c_file;
    if (!home && name)
        home = cython_home_of(search->module, name, arena);
    if (home)
        target_need_file(target, &(struct target_needed_file){.kind = TARGET_NEED_CYTHON,
                                                              .path = home,
                                                              .local = search->used});
}

static void search_lines(struct cython_cache *cache, struct cached_lines *entry)
{
    struct module *module = entry->module;
    struct cython_module *known;
    struct lines_search search = {.module = module, .c_file = entry->c_file};
    search.reports = cache_reports(cache, module, &known);
    struct cython_file_search files = {module, entry->c_file, cache->arena, visit_lines, &search};
    cython_each_c_file(&files);
    const char *name = known && !search.lines ? cython_module_get_name(known, cache->arena) : NULL;
    if (name) {
        search.xml = true;
        cython_each_xml(&files, name);
    }
    note_need(&search, name, cache->arena);
    entry->lines = search.lines;
    entry->xml = search.lines && search.xml;
    if (search.other && !search.lines)
        target_warn(modules_target(module->owner), "cython-source-mismatch",
                    "%s: not of the build of %s; its lines are not used", search.other,
                    module->path);
}

static struct cached_lines *find_lines(struct cython_cache *cache, struct module *module,
                                       const char *c_file)
{
    for (size_t i = 0; i < cache->line_count; i++) {
        if (cache->lines[i].module == module && strcmp(cache->lines[i].c_file, c_file) == 0)
            return &cache->lines[i];
    }
    const char *copy = arena_strdup(cache->arena, c_file);
    if (!copy || !array_reserve((void **)&cache->lines, &cache->line_capacity,
                                cache->line_count + 1, sizeof(*cache->lines)))
        return NULL;
    struct cached_lines *entry = &cache->lines[cache->line_count++];
    *entry = (struct cached_lines){.module = module, .c_file = copy};
    search_lines(cache, entry);
    return entry;
}

const struct cython_lines *cython_lines_find(struct cython_cache *cache, struct module *module,
                                             const char *c_file, bool *ret_xml)
{
    const struct cached_lines *entry = find_lines(cache, module, c_file);
    *ret_xml = entry && entry->xml;
    return entry ? entry->lines : NULL;
}
