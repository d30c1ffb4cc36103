/* Lines and inlined calls of the addresses that are shown. */
#include "symbolizer_private.h"

#include <stdlib.h>
#include <string.h>

#define INLINE_LIMIT 64

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);
    return length >= end && !strcmp(text + length - end, suffix);
}

static bool is_c_source(const char *file)
{
    return has_suffix(file, ".c") || has_suffix(file, ".cpp") || has_suffix(file, ".cc") ||
           has_suffix(file, ".cxx");
}

static bool is_cython_source(const char *file)
{
    return has_suffix(file, ".pyx") || has_suffix(file, ".pxd") || has_suffix(file, ".pxi") ||
           has_suffix(file, ".py");
}

/* Code that Cython generated but nobody wrote stands under this name (Cython's emit_linenums). */
static bool is_cython_utility(const char *file)
{
    const char *slash = strrchr(file, '/');
    return !strcmp(slash ? slash + 1 : file, "cython_utility");
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void set_cython_line(struct symbolizer *symbolizer, const struct address_info *info,
                            struct address_level *level, const char *file, uint32_t line)
{
    struct trace_location *location = level->location;
    struct arena *arena = symbolizer->trace->arena;
    if (is_cython_utility(file))
        return;
    struct cython_line mapped = {.file = file, .line = line};
    enum trace_line_source source = TRACE_LINE_DWARF;
    if (is_c_source(file)) {
        bool xml;
        const struct cython_lines *lines =
            cython_lines_find(symbolizer->cython, info->module, file, &xml);
        // A line of the generated C file is not shown: nobody wrote it.
        if (!lines || !cython_lines_get(lines, line, &mapped) ||
            (mapped.only_of && strcmp(mapped.only_of, or_empty(level->cython.module)) != 0))
            return;
        source = xml ? TRACE_LINE_XML : TRACE_LINE_C_FILE;
    }
    location->line = mapped.line;
    location->line_source = source;
    const struct cython_source pyx = {info->module, file, mapped.file};
    location->file = is_cython_source(mapped.file) || source != TRACE_LINE_DWARF
                         ? cython_cache_source_path(symbolizer->cython, &pyx, arena)
                         : arena_strdup(arena, mapped.file);
    if (!symbolizer->input.no_source && location->file)
        location->source = sources_copy_line(symbolizer->text, location->file, location->line);
}

/* Gives a level its line, and for Cython the .pyx line. */
static void set_line(struct symbolizer *symbolizer, const struct address_info *info,
                     struct address_level *level, const char *file, uint32_t line)
{
    struct trace_location *location = level->location;
    if (!file || !line)
        return;
    if (level->cython.kind != CYTHON_NONE) {
        if (is_cython_utility(file) && level->cython.kind == CYTHON_PLUMBING)
            level->plumbing = true;
        if (!level->plumbing)
            set_cython_line(symbolizer, info, level, file, line);
        return;
    }
    if (is_cython_utility(file))
        level->plumbing = true;
    location->file = arena_strdup(symbolizer->trace->arena, file);
    location->line = line;
    location->line_source = TRACE_LINE_DWARF;
    // What a JIT compiler has made of Python stands where its source stood.
    if (info->module->made_at_run_time && !symbolizer->input.no_source)
        location->source = sources_copy_line(symbolizer->text, file, line);
}

/* Inline functions of Python's headers, which connect calls. */
static bool is_python_header(const char *file)
{
    return file && has_suffix(file, ".h") &&
           (strstr(file, "/Include/") || strstr(file, "/include/python"));
}

/* Whether inlined calls cost too much here; --explain tells that once for a module. */
static bool symbolizer_skip_inlines(struct symbolizer *symbolizer, struct module *module)
{
    if (symbolizer->input.all_inlined || module_inlines_are_cheap(module))
        return false;
    struct module_record *record = symbolizer_record(symbolizer, module);
    if (record && !record->inlines_skipped)
        text_printf(&symbolizer->trace->explain,
                    "inlined calls: not looked up in %s, whose debug information is large and "
                    "compressed (--all-inlined does)\n",
                    module->path);
    if (record)
        record->inlines_skipped = true;
    return true;
}

/* The physical function and the calls inlined at the address, innermost first. */
static enum psc_status resolve_address(struct symbolizer *symbolizer, struct address_info *info,
                                       const struct module_line *line)
{
    struct module_inline inlines[INLINE_LIMIT];
    size_t count = 0;
    if (info->cython_code) {
        symbolizer_add_code_source(symbolizer, info);
        return PSC_OK;
    }
    if (!symbolizer_skip_inlines(symbolizer, info->module))
        count = module_find_inlines(info->module, info->pc, inlines, INLINE_LIMIT);
    struct arena *arena = symbolizer->trace->arena;
    struct address_level *levels = arena_array(arena, count + 1, sizeof(*levels));
    if (!levels)
        return PSC_ERR_MEMORY;
    levels[count] = info->levels[0];
    info->levels = levels;
    info->level_count = count + 1;
    const char *file = line->file;
    uint32_t number = line->line;
    for (size_t i = 0; i < count; i++) {
        struct trace_location *location = arena_alloc(arena, sizeof(*location));
        if (!location)
            return PSC_ERR_MEMORY;
        const struct trace_location *physical = levels[count].location;
        *location = (struct trace_location){.kind = TRACE_NATIVE,
                                            .language = "C",
                                            .module = physical->module,
                                            .offset = physical->offset,
                                            .has_offset = physical->has_offset,
                                            .inlined = true};
        levels[i].location = location;
        if (inlines[i].function)
            symbolizer_name_level(symbolizer, info, &levels[i], inlines[i].function);
        set_line(symbolizer, info, &levels[i], file, number);
        if (is_python_header(file))
            levels[i].python_function = PYTHON_FUNCTION_CALL;
        file = inlines[i].call_file;
        number = inlines[i].call_line;
    }
    set_line(symbolizer, info, &levels[count], file, number);
    symbolizer_add_code_lines(symbolizer, info);
    symbolizer_note_splits(symbolizer, info);
    for (size_t i = 0; i < info->level_count; i++)
        symbolizer_add_fused_types(symbolizer, info, i);
    return PSC_OK;
}

static int compare_by_module(const void *left, const void *right)
{
    const struct address_info *a = *(struct address_info *const *)left,
                              *b = *(struct address_info *const *)right;
    return a->module != b->module ? COMPARE(a->module->start, b->module->start)
                                  : COMPARE(a->pc, b->pc);
}

static enum psc_status resolve_module(struct symbolizer *symbolizer, struct address_info **group,
                                      size_t count)
{
    psc_addr *addresses PSC_CLEANUP(cleanup_free) = calloc(count, sizeof(*addresses));
    struct module_line *lines PSC_CLEANUP(cleanup_free) = calloc(count, sizeof(*lines));
    if (!addresses || !lines)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        addresses[i] = group[i]->pc;
    module_find_lines(group[0]->module, addresses, count, lines);
    for (size_t i = 0; i < count && !target_interrupted(symbolizer->input.target); i++) {
        enum psc_status status = resolve_address(symbolizer, group[i], &lines[i]);
        if (status != PSC_OK)
            return status;
        group[i]->resolved = true;
    }
    return PSC_OK;
}

enum psc_status symbolizer_resolve(struct symbolizer *symbolizer)
{
    const struct hash_table *addresses = &symbolizer->addresses;
    struct address_info **wanted PSC_CLEANUP(cleanup_free) =
        calloc(addresses->count ? addresses->count : 1, sizeof(struct address_info *));
    if (!wanted)
        return PSC_ERR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < addresses->count; i++) {
        const struct known_address *known = hash_table_at(addresses, i);
        if (known->info->wanted && !known->info->resolved && known->info->module)
            wanted[count++] = known->info;
    }
    qsort(wanted, count, sizeof(struct address_info *), compare_by_module);
    for (size_t first = 0, end; first < count && !target_interrupted(symbolizer->input.target);
         first = end) {
        for (end = first + 1; end < count && wanted[end]->module == wanted[first]->module; end++)
            ;
        enum psc_status status = resolve_module(symbolizer, wanted + first, end - first);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}
