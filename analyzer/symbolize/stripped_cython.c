/* Cython functions and .pyx lines where only machine code tells them. */
#include "symbolizer_private.h"

#include <string.h>

static bool is_user_code(const struct cython_code *code)
{
    return code->function && code->kind != CYTHON_PLUMBING;
}

static void set_code_line(struct symbolizer *symbolizer, const struct address_info *info,
                          struct trace_location *location, const struct cython_code *code)
{
    if (!code->file)
        return;
    const struct cython_source source = {.module = info->module, .pyx_file = code->file};
    location->file =
        cython_cache_source_path(symbolizer->cython, &source, symbolizer->trace->arena);
    location->line = code->line;
    location->line_source = !code->line      ? TRACE_LINE_NONE
                            : code->estimate ? TRACE_LINE_ESTIMATE
                                             : TRACE_LINE_MACHINE_CODE;
}

static void set_code_source(struct symbolizer *symbolizer, struct trace_location *location)
{
    if (!symbolizer->input.no_source && location->file && location->line)
        location->source = sources_copy_line(symbolizer->text, location->file, location->line);
}

/* A level for a function that has no symbol. */
static void make_level(struct symbolizer *symbolizer, const struct address_info *info,
                       const struct cython_code *code, bool inlined, struct address_level *ret)
{
    const struct trace_location *physical = info->levels[0].location;
    struct trace_location *location = arena_alloc(symbolizer->trace->arena, sizeof(*location));
    if (!location)
        return;
    *ret = (struct address_level){.location = location};
    *location = (struct trace_location){.kind = TRACE_NATIVE,
                                        .language = "C",
                                        .module = physical->module,
                                        .offset = physical->offset,
                                        .has_offset = physical->has_offset,
                                        .inlined = inlined};
    ret->plumbing = code->kind == CYTHON_PLUMBING;
    if (!is_user_code(code))
        return;
    /* Functions that method tables point to are not inlined: this one is a cdef function. */
    enum cython_kind kind = inlined ? CYTHON_C_FUNCTION : code->kind;
    ret->cython = (struct cython_name){
        .kind = kind, .function = code->function, .number = -1, .parallel = code->parallel};
    location->kind = TRACE_CYTHON;
    location->language =
        cython_cache_is_mypyc(symbolizer->cython, info->module) ? "mypyc" : "Cython";
    location->function = code->function;
    if (code->parallel)
        location->function =
            arena_printf(symbolizer->trace->arena, "%s [parallel]", code->function);
    location->name = last_part_of(code->function);
    set_code_line(symbolizer, info, location, code);
}

static size_t find_code(struct symbolizer *symbolizer, const struct address_info *info,
                        struct cython_code *ret)
{
    const struct cython_address address = {info->module, info->pc, symbolizer->trace->arena};
    return cython_cache_find_code(symbolizer->cython, &address, ret, CYTHON_CODE_LIMIT);
}

bool symbolizer_name_by_code(struct symbolizer *symbolizer, struct address_info *info)
{
    struct cython_code codes[CYTHON_CODE_LIMIT];
    if (!cython_cache_has_code(symbolizer->cython, info->module))
        return false;
    size_t count = find_code(symbolizer, info, codes);
    struct address_level *levels = arena_array(symbolizer->trace->arena, count, sizeof(*levels));
    if (!count)
        info->levels[0].plumbing =
            cython_cache_is_helper(symbolizer->cython, info->module, info->pc);
    if (!count || !levels)
        return true;
    for (size_t i = 0; i < count; i++)
        make_level(symbolizer, info, &codes[i], i + 1 < count, &levels[i]);
    if (arena_is_exhausted(symbolizer->trace->arena))
        return true;
    info->levels = levels;
    info->level_count = count;
    return true;
}

void symbolizer_add_code_source(struct symbolizer *symbolizer, struct address_info *info)
{
    for (size_t i = 0; i < info->level_count; i++)
        set_code_source(symbolizer, info->levels[i].location);
}

/* ---- with symbols ---- */

/* Lines of the generated C count as none. */
static bool lacks_line(const struct address_level *level)
{
    const struct trace_location *location = level->location;
    if (location->kind != TRACE_CYTHON || level->plumbing)
        return false;
    if (!location->line)
        return true;
    const char *dot = location->file ? strrchr(location->file, '.') : NULL;
    return location->line_source == TRACE_LINE_DWARF && dot &&
           (!strcmp(dot, ".c") || !strcmp(dot, ".cpp") || !strcmp(dot, ".cc") ||
            !strcmp(dot, ".cxx"));
}

/* Error paths of generators' bodies and of mypyc's functions report a bare name. */
static bool is_same_function(const struct address_level *level, const struct cython_code *code)
{
    const struct cython_name *name = &level->cython;
    if (!code->function || !name->function)
        return false;
    if (name->kind == CYTHON_GENERATOR ||
        (level->location->symbol && mypyc_is_symbol(level->location->symbol)))
        return !strcmp(last_part_of(code->function), last_part_of(name->function));
    return !strcmp(code->function, name->function);
}

/* Without debug information an inlined function is known only by what its error path reports. */
static void add_inlined(struct symbolizer *symbolizer, struct address_info *info,
                        const struct cython_code *codes, size_t count)
{
    size_t kept = 0;
    while (kept < count && is_user_code(&codes[kept]) && codes[kept].line &&
           !codes[kept].estimate && !is_same_function(&info->levels[0], &codes[kept]))
        kept++;
    struct address_level *levels = arena_array(symbolizer->trace->arena, kept + 1, sizeof(*levels));
    if (!kept || !levels)
        return;
    for (size_t i = 0; i < kept; i++) {
        make_level(symbolizer, info, &codes[i], true, &levels[i]);
        if (!levels[i].location)
            return;
        set_code_source(symbolizer, levels[i].location);
    }
    levels[kept] = info->levels[0];
    info->levels = levels;
    info->level_count = kept + 1;
}

void symbolizer_add_code_lines(struct symbolizer *symbolizer, struct address_info *info)
{
    struct cython_code codes[CYTHON_CODE_LIMIT];
    bool wanted = false;
    for (size_t i = 0; i < info->level_count; i++)
        wanted |= lacks_line(&info->levels[i]);
    if (!wanted)
        return;
    size_t count = find_code(symbolizer, info, codes);
    if (info->level_count == 1)
        add_inlined(symbolizer, info, codes, count);
    size_t next = 0;
    for (size_t i = 0; i < info->level_count; i++) {
        struct address_level *level = &info->levels[i];
        for (size_t k = next; lacks_line(level) && k < count; k++) {
            if (!is_same_function(level, &codes[k]) || !codes[k].line)
                continue;
            set_code_line(symbolizer, info, level->location, &codes[k]);
            set_code_source(symbolizer, level->location);
            next = k + 1;
        }
    }
}

void symbolizer_note_splits(struct symbolizer *symbolizer, struct address_info *info)
{
    for (size_t i = 1; i < info->level_count; i++) {
        const struct cython_name *inner = &info->levels[i - 1].cython;
        const struct cython_name *outer = &info->levels[i].cython;
        info->levels[i].split =
            inner->kind != CYTHON_NONE && inner->kind == outer->kind && inner->function &&
            outer->function && !strcmp(inner->function, outer->function) &&
            /* Only a cdef function calls itself directly; others are called through Python. */
            (inner->kind != CYTHON_C_FUNCTION ||
             !cython_cache_calls_itself(symbolizer->cython, info->module, info->pc));
    }
}
