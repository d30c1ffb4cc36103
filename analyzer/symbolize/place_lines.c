/* Lines and inlined calls of the places that are shown. */
#include "places_private.h"

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

static void set_cython_line(struct places *places, const struct place *place,
                            struct place_level *level, const char *file, uint32_t line)
{
    struct trace_location *location = level->location;
    struct arena *arena = places->trace->arena;
    if (is_cython_utility(file))
        return;
    struct cython_line mapped = {.file = file, .line = line};
    enum trace_line_source source = TRACE_LINE_DWARF;
    if (is_c_source(file)) {
        bool xml;
        const struct cython_lines *lines =
            cython_lines_find(places->cython, place->module, file, &xml);
        // Its line in the C file would say nothing to who wrote the .pyx.
        if (!lines || !cython_lines_get(lines, line, &mapped) ||
            (mapped.only_of && strcmp(mapped.only_of, or_empty(level->cython.module)) != 0))
            return;
        source = xml ? TRACE_LINE_XML : TRACE_LINE_C_FILE;
    }
    location->line = mapped.line;
    location->line_source = source;
    location->file = is_cython_source(mapped.file) || source != TRACE_LINE_DWARF
                         ? cython_source_path(place->module, file, mapped.file, arena)
                         : arena_strdup(arena, mapped.file);
    if (places->keep_source && location->file)
        location->source = sources_copy_line(places->text, location->file, location->line);
}

/** Gives a level its line, and for Cython the .pyx line. */
static void set_line(struct places *places, const struct place *place, struct place_level *level,
                     const char *file, uint32_t line)
{
    struct trace_location *location = level->location;
    if (!file || !line)
        return;
    if (level->cython.kind != CYTHON_NONE) {
        if (is_cython_utility(file) && level->cython.kind == CYTHON_PLUMBING)
            level->plumbing = true;
        if (!level->plumbing)
            set_cython_line(places, place, level, file, line);
        return;
    }
    if (is_cython_utility(file))
        level->plumbing = true;
    location->file = arena_strdup(places->trace->arena, file);
    location->line = line;
    location->line_source = TRACE_LINE_DWARF;
}

/* Code of Python's own headers that was inlined into an extension: it connects calls. */
static bool is_python_header(const char *file)
{
    return file && has_suffix(file, ".h") &&
           (strstr(file, "/Include/") || strstr(file, "/include/python"));
}

/* Said once for a module, for --explain. */
static bool places_skip_inlines(struct places *places, struct module *module)
{
    if (places->all_inlined || module_inlines_are_cheap(module))
        return false;
    struct module_record *record = places_record(places, module);
    if (record && !record->inlines_skipped)
        text_printf(&places->trace->explain,
                    "inlined calls: not looked up in %s, whose debug information is large and "
                    "compressed (--all-inlined does)\n",
                    module->path);
    if (record)
        record->inlines_skipped = true;
    return true;
}

/* The physical function and the calls inlined at the place, innermost first. */
static enum psc_status place_resolve(struct places *places, struct place *place,
                                     const struct module_line *line)
{
    struct module_inline inlines[INLINE_LIMIT];
    size_t count = 0;
    if (place->cython_code) {
        places_add_code_source(places, place);
        return PSC_OK;
    }
    if (!places_skip_inlines(places, place->module))
        count = module_find_inlines(place->module, place->pc, inlines, INLINE_LIMIT);
    struct arena *arena = places->trace->arena;
    struct place_level *levels = arena_array(arena, count + 1, sizeof(*levels));
    if (!levels)
        return PSC_ERR_MEMORY;
    levels[count] = place->levels[0];
    place->levels = levels;
    place->level_count = count + 1;
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
            places_name_level(places, place, &levels[i], inlines[i].function);
        set_line(places, place, &levels[i], file, number);
        if (is_python_header(file))
            levels[i].function_class = FUNCTION_CALL;
        file = inlines[i].call_file;
        number = inlines[i].call_line;
    }
    set_line(places, place, &levels[count], file, number);
    places_add_code_lines(places, place);
    places_note_splits(places, place);
    for (size_t i = 0; i < place->level_count; i++)
        places_add_fused_types(places, place, i);
    return PSC_OK;
}

static int compare_by_module(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
    if (a->module != b->module)
        return a->module->start < b->module->start ? -1 : 1;
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

static enum psc_status resolve_module(struct places *places, struct place **group, size_t count)
{
    psc_addr *addresses PSC_CLEANUP(cleanup_free) = calloc(count, sizeof(*addresses));
    struct module_line *lines PSC_CLEANUP(cleanup_free) = calloc(count, sizeof(*lines));
    if (!addresses || !lines)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        addresses[i] = group[i]->pc;
    module_find_lines(group[0]->module, addresses, count, lines);
    for (size_t i = 0; i < count && !target_interrupted(places->sources.target); i++) {
        enum psc_status status = place_resolve(places, group[i], &lines[i]);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}

enum psc_status places_resolve(struct places *places)
{
    struct place **wanted PSC_CLEANUP(cleanup_free) =
        calloc(places->count ? places->count : 1, sizeof(struct place *));
    if (!wanted)
        return PSC_ERR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < places->count; i++)
        if (places->all[i]->wanted && places->all[i]->module)
            wanted[count++] = places->all[i];
    qsort(wanted, count, sizeof(struct place *), compare_by_module);
    for (size_t first = 0, end; first < count && !target_interrupted(places->sources.target);
         first = end) {
        for (end = first + 1; end < count && wanted[end]->module == wanted[first]->module; end++)
            ;
        enum psc_status status = resolve_module(places, wanted + first, end - first);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}
