/* File and line of addresses: .debug_line, restricted by .debug_aranges where that is cheap. */
#include "dwarf_private.h"

#include "debug_line.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/** Units whose compilation directory is listed. */
#define UNIT_LIMIT 1000000
/** Bytes of line programs that are run unit by unit, as a multiple of the section. */
#define RESTRICTED_WORK_LIMIT 2
/** Who asks so often samples a running program, and will ask for more of a unit. */
#define OFTEN 3

/** What was found for two numbers. */
struct known_text {
    uint64_t key[2];
    const char *text; /**< May be NULL: known to have none. */
    uint32_t line;
};

struct line_cache {
    struct debug_line_sections sections;
    struct hash_table lines;       /**< Address, 0 → file and line. */
    struct hash_table files;       /**< Unit and file number → absolute name. */
    struct hash_table directories; /**< Unit, 0 → DW_AT_comp_dir. */
    struct line_rows *rows;        /**< Whole units, once it is asked often; or NULL. */
    size_t runs;                   /**< How often line programs were run. */
    bool directories_listed;
    bool aranges_read;
    bool aranges_compared;
    bool aranges_cover;     /**< Code that they do not list is of no unit. */
    Dwarf_Aranges *aranges; /**< Owned by the Dwarf; gcc writes them, clang does not. */
};

static struct line_cache *module_lines(struct module *module)
{
    struct module_dwarf *dwarf = dwarf_of(module);
    if (!dwarf || dwarf->lines)
        return dwarf ? dwarf->lines : NULL;
    struct line_cache *cache = calloc(1, sizeof(*cache));
    dwarf->lines = cache;
    if (!cache)
        return NULL;
    hash_table_init(&cache->lines, sizeof(struct known_text));
    hash_table_init(&cache->files, sizeof(struct known_text));
    hash_table_init(&cache->directories, sizeof(struct known_text));
    struct Elf *elf = module_debug_elf(module);
    struct arena *arena = module->owner->arena;
    struct elf_section section;
    if (elf && elf_file_find_section(elf, ".debug_line", &section) &&
        dwarf_may_inflate(module, elf) &&
        elf_file_read_section(elf, ".debug_line", arena, &cache->sections.line)) {
        elf_file_read_section(elf, ".debug_line_str", arena, &cache->sections.line_strings);
        elf_file_read_section(elf, ".debug_str", arena, &cache->sections.strings);
    }
    return cache;
}

void line_cache_destroy(struct line_cache *cache)
{
    if (!cache)
        return;
    hash_table_deinit(&cache->lines);
    hash_table_deinit(&cache->files);
    hash_table_deinit(&cache->directories);
    line_rows_destroy(cache->rows);
    free(cache);
}

static const struct known_text *find_known(const struct hash_table *table, uint64_t first,
                                           uint64_t second)
{
    return hash_table_find_pair(table, first, second);
}

/** Keeps an answer; out of memory, it is found anew when it is asked for again. */
static void keep_known(struct hash_table *table, uint64_t first, uint64_t second, const char *text,
                       uint32_t line)
{
    struct known_text *known = hash_table_add_pair(table, first, second);
    if (!known)
        return;
    known->text = text;
    known->line = line;
}

/* ---- file names ---- */

/** DWARF 2 to 4 keep the compilation directory in the unit's DIE only. */
static const char *find_compilation_directory(struct module *module, struct line_cache *cache,
                                              uint64_t line_unit)
{
    Dwarf *dwarf = cache->directories_listed ? NULL : module_dwarf(module);
    cache->directories_listed = true;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    for (size_t i = 0; dwarf && i < UNIT_LIMIT &&
                       dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0;
         i++) {
        uint64_t list;
        Dwarf_Attribute attribute;
        if (!unit_is_read_soon(module, &die))
            break;
        if (!unit_statement_list(&die, &list) || find_known(&cache->directories, list, 0))
            continue;
        const char *directory = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &attribute));
        keep_known(&cache->directories, list, 0, directory, 0);
    }
    const struct known_text *known = find_known(&cache->directories, line_unit, 0);
    return known ? known->text : NULL;
}

/** Appends a path to a path; an absolute one replaces it. "." components are left out. */
static void join_path(struct text *path, const char *more)
{
    if (more[0] == '/') {
        text_clear(path);
        text_add_char(path, '/');
    }
    while (*more) {
        size_t length = strcspn(more, "/");
        if (length > 1 || (length == 1 && more[0] != '.')) {
            if (path->size && path->data[path->size - 1] != '/')
                text_add_char(path, '/');
            text_add(path, more, length);
        }
        more += length;
        more += strspn(more, "/");
    }
}

static const char *make_file_name(struct module *module, struct line_cache *cache, uint64_t unit,
                                  uint32_t file)
{
    struct debug_line_file found;
    if (!parse_debug_line_file(&cache->sections, unit, file, &found))
        return NULL;
    const char *base = found.base;
    bool absolute = found.name[0] == '/' || (found.directory && found.directory[0] == '/');
    if (!absolute && !base)
        base = find_compilation_directory(module, cache, unit);
    struct text path = {0};
    if (base && !absolute)
        join_path(&path, base);
    if (found.directory)
        join_path(&path, found.directory);
    join_path(&path, found.name);
    const char *name =
        path.failed || !path.size ? NULL : arena_strdup(module->owner->arena, path.data);
    text_deinit(&path);
    return name;
}

const char *module_line_file(struct module *module, uint64_t unit, uint32_t file)
{
    struct line_cache *cache = module_lines(module);
    if (!cache)
        return NULL;
    const struct known_text *known = find_known(&cache->files, unit, file);
    if (known)
        return known->text;
    const char *name = make_file_name(module, cache, unit, file);
    keep_known(&cache->files, unit, file, name, 0);
    return name;
}

/* ---- which unit ---- */

bool module_find_unit_by_aranges(struct module *module, Dwarf *dwarf, uint64_t address,
                                 Dwarf_Die *ret)
{
    struct line_cache *cache = module_lines(module);
    if (!cache)
        return false;
    size_t count;
    if (!cache->aranges_read && dwarf_getaranges(dwarf, &cache->aranges, &count) != 0)
        cache->aranges = NULL;
    cache->aranges_read = true;
    Dwarf_Off offset;
    Dwarf_Arange *range = dwarf_getarange_addr(cache->aranges, address);
    return range && dwarf_getarangeinfo(range, NULL, NULL, &offset) == 0 &&
           dwarf_offdie(dwarf, offset, ret);
}

static bool has_code(Dwarf_Die *unit)
{
    Dwarf_Addr base, start, end;
    return dwarf_ranges(unit, 0, &base, &start, &end) > 0;
}

/** Whether each unit that has code is in .debug_aranges. */
static bool do_aranges_cover(struct module *module, const struct line_cache *cache, Dwarf *dwarf)
{
    struct hash_table listed PSC_CLEANUP(hash_table_deinit) = HASH_TABLE_OF(struct known_text);
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    Dwarf_Off offset;
    const Dwarf_Arange *range;
    size_t count = 0;
    for (; (range = dwarf_onearange(cache->aranges, count)); count++)
        if (dwarf_getarangeinfo((Dwarf_Arange *)range, NULL, NULL, &offset) == 0)
            keep_known(&listed, offset, 0, NULL, 0);
    int more = 1;
    for (size_t i = 0; count && i < UNIT_LIMIT; i++) {
        more = dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL);
        if (more != 0)
            break;
        if (!find_known(&listed, dwarf_dieoffset(&die), 0) &&
            (!unit_is_read_soon(module, &die) || has_code(&die)))
            return false;
    }
    // 1: the last one is passed; else it is not known what follows.
    return count && more == 1;
}

/** Code of no unit has no line: it is not looked for in all of them. */
static void answer_rows_of_none(struct module *module, struct line_cache *cache,
                                const struct debug_line_query *query)
{
    Dwarf *dwarf = module_dwarf_if_cheap(module);
    Dwarf_Die unit;
    for (size_t i = 0; dwarf && i < query->count; i++) {
        struct debug_line_row *row = &query->rows[i];
        if (row->found || module_find_unit_by_aranges(module, dwarf, row->address, &unit))
            continue;
        if (!cache->aranges_compared)
            cache->aranges_cover = do_aranges_cover(module, cache, dwarf);
        cache->aranges_compared = true;
        if (!cache->aranges_cover)
            break;
        row->found = true;
        row->line = 0;
    }
}

/** Runs only the line programs of the units that hold the rows. */
static void find_rows_by_unit(struct module *module, struct line_cache *cache,
                              const struct debug_line_query *query)
{
    const struct debug_line_row *rows = query->rows;
    Dwarf *dwarf = module_dwarf_if_cheap(module);
    uint64_t work = 0;
    for (size_t i = 0; dwarf && i < query->count; i++) {
        Dwarf_Die unit;
        uint64_t list;
        if (rows[i].found || !module_find_unit_by_aranges(module, dwarf, rows[i].address, &unit) ||
            !unit_statement_list(&unit, &list))
            continue;
        uint64_t next = parse_debug_line_unit(&cache->sections, list, query);
        work += (next > list ? next : cache->sections.line.size) - list;
        if (work > cache->sections.line.size * RESTRICTED_WORK_LIMIT)
            return;
    }
}

/* ---- all units ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct debug_line_row *a = left;
    const struct debug_line_row *b = right;
    return COMPARE(a->address, b->address);
}

static void find_rows(struct module *module, struct line_cache *cache, struct debug_line_row *rows,
                      size_t count)
{
    const struct module_layout *layout = module->layout;
    if (count == 0 || !cache->sections.line.data)
        return;
    qsort(rows, count, sizeof(*rows), compare_rows);
    const struct debug_line_query query = {rows, count, layout->code, layout->code_count};
    find_rows_by_unit(module, cache, &query);
    answer_rows_of_none(module, cache, &query);
    size_t missing = 0;
    while (missing < count && rows[missing].found)
        missing++;
    if (missing < count)
        parse_debug_line(&cache->sections, &query);
}

static void remember_rows(struct module *module, struct line_cache *cache,
                          const struct debug_line_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct debug_line_row *row = &rows[i];
        if (find_known(&cache->lines, row->address, 0))
            continue;
        const char *file =
            row->found && row->line ? module_line_file(module, row->unit, row->file) : NULL;
        keep_known(&cache->lines, row->address, 0, file, file ? row->line : 0);
    }
}

/* ---- whole units ---- */

/** By the unit that covers the address, else by those that are known. */
static bool find_kept(struct module *module, struct line_cache *cache, struct debug_line_row *row)
{
    const struct module_layout *layout = module->layout;
    Dwarf *dwarf = module_dwarf_if_cheap(module);
    Dwarf_Die unit;
    uint64_t list;
    if (dwarf && module_find_unit_by_aranges(module, dwarf, row->address, &unit) &&
        unit_statement_list(&unit, &list)) {
        line_rows_keep(cache->rows, &cache->sections, list, layout);
        return line_rows_find(cache->rows, list, row);
    }
    return line_rows_find_anywhere(cache->rows, row);
}

/** Those that no unit has which is kept are looked for, and their units kept. */
static void find_often(struct module *module, struct line_cache *cache, struct debug_line_row *rows,
                       size_t count)
{
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        if (find_kept(module, cache, &rows[i]))
            remember_rows(module, cache, &rows[i], 1);
        else
            rows[missing++] = rows[i];
    }
    find_rows(module, cache, rows, missing);
    remember_rows(module, cache, rows, missing);
    for (size_t i = 0; i < missing; i++)
        if (rows[i].found && rows[i].line)
            line_rows_keep(cache->rows, &cache->sections, rows[i].unit, module->layout);
}

/* ---- the door ---- */

void module_find_lines(struct module *module, const psc_addr *addresses, size_t count,
                       struct module_line *ret)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct module_line){NULL, 0};
    struct line_cache *cache = module_lines(module);
    struct debug_line_row *rows PSC_CLEANUP(cleanup_free) = calloc(count + 1, sizeof(*rows));
    if (!cache || !rows)
        return;
    size_t row_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = addresses[i] - module->bias;
        if (find_known(&cache->lines, address, 0))
            continue;
        rows[row_count++].address = address;
        if (module->asked)
            asked_add(&module->asked->lines, address);
    }
    if (row_count && ++cache->runs > OFTEN && !cache->rows)
        cache->rows = line_rows_create();
    if (cache->rows) {
        find_often(module, cache, rows, row_count);
    } else {
        find_rows(module, cache, rows, row_count);
        remember_rows(module, cache, rows, row_count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct known_text *known = find_known(&cache->lines, addresses[i] - module->bias, 0);
        if (known)
            ret[i] = (struct module_line){known->text, known->line};
    }
}
