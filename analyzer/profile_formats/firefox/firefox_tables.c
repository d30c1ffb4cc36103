/* What all threads share: stacks, frames, functions, symbols, sources, strings. */
#include "firefox_private.h"

#include <stdlib.h>

enum firefox_category category_of_sample(const struct profile_sample *sample)
{
    if (sample->flags & PROFILE_WAITS_GIL)
        return CATEGORY_GIL;
    if (sample->flags & PROFILE_COLLECTS)
        return CATEGORY_COLLECTOR;
    return sample->flags & (PROFILE_IDLE | PROFILE_STOPPED) ? CATEGORY_IDLE : CATEGORY_OTHER;
}

/* ---- prepared ---- */

static bool note_category(struct hash_table *table, uint32_t number, enum firefox_category category)
{
    if (hash_table_find_pair(table, number, category))
        return true;
    struct other_category *added = hash_table_add_pair(table, number, category);
    if (added)
        added->index = (uint32_t)table->count - 1;
    return added;
}

static bool find_categories(struct firefox *to)
{
    struct profile_reader reader;
    struct profile_sample sample;
    profile_start_reading(&reader, to->profile);
    while (profile_next_sample(&reader, &sample)) {
        enum firefox_category category = category_of_sample(&sample);
        if (category == CATEGORY_OTHER || !sample_has_stack(&sample))
            continue;
        if (!note_category(&to->other_stacks, sample.stack, category) ||
            !note_category(&to->other_frames, to->profile->stacks[sample.stack].frame, category))
            return false;
    }
    return true;
}

bool firefox_prepare(struct firefox *to)
{
    const struct profile *profile = to->profile;
    to->source_of = calloc(profile->string_count, sizeof(*to->source_of));
    to->sources = calloc(profile->string_count, sizeof(*to->sources));
    to->symbol_of = calloc(profile->function_count, sizeof(*to->symbol_of));
    to->symbols = calloc(profile->function_count, sizeof(*to->symbols));
    if (!to->source_of || !to->sources || !to->symbol_of || !to->symbols || !find_categories(to))
        return false;
    for (uint32_t i = 1; i < profile->function_count; i++) {
        const struct profile_function *function = &profile->functions[i];
        if (function->file && !to->source_of[function->file]) {
            to->sources[to->source_count++] = function->file;
            to->source_of[function->file] = to->source_count;
        }
        if (function->library && function->offset) {
            to->symbols[to->symbol_count++] = i;
            to->symbol_of[i] = to->symbol_count;
        }
    }
    return true;
}

/* ---- values of columns ---- */

static int64_t get_null(const struct firefox *to, uint32_t row)
{
    (void)to;
    (void)row;
    return FIREFOX_NULL;
}

static int64_t get_zero(const struct firefox *to, uint32_t row)
{
    (void)to;
    (void)row;
    return 0;
}

static int64_t get_one(const struct firefox *to, uint32_t row)
{
    (void)to;
    (void)row;
    return 1;
}

/* ---- stackTable: the profile's, then those with another category ---- */

static uint32_t own_stacks(const struct firefox *to)
{
    return to->profile->stack_count - 1;
}

static uint32_t own_frames(const struct firefox *to)
{
    return to->profile->frame_count - 1;
}

static const struct other_category *other_stack(const struct firefox *to, uint32_t row)
{
    return row < own_stacks(to) ? NULL : hash_table_at(&to->other_stacks, row - own_stacks(to));
}

static int64_t get_stack_frame(const struct firefox *to, uint32_t row)
{
    const struct other_category *other = other_stack(to, row);
    const struct profile_stack *stack =
        &to->profile->stacks[other ? (uint32_t)other->number : row + 1];
    if (!other)
        return (int64_t)stack->frame - 1;
    const struct other_category *frame =
        hash_table_find_pair(&to->other_frames, stack->frame, other->category);
    return frame ? (int64_t)own_frames(to) + frame->index : (int64_t)stack->frame - 1;
}

/* How far back the stack stands that this one is an extension of; 0: it is none. */
static int64_t get_prefix_offset(const struct firefox *to, uint32_t row)
{
    const struct other_category *other = other_stack(to, row);
    uint32_t parent = to->profile->stacks[other ? (uint32_t)other->number : row + 1].parent;
    return parent ? (int64_t)row - ((int64_t)parent - 1) : 0;
}

/* ---- frameTable: likewise ---- */

static const struct other_category *other_frame(const struct firefox *to, uint32_t row)
{
    return row < own_frames(to) ? NULL : hash_table_at(&to->other_frames, row - own_frames(to));
}

static const struct profile_frame *frame_of_row(const struct firefox *to, uint32_t row)
{
    const struct other_category *other = other_frame(to, row);
    return &to->profile->frames[other ? (uint32_t)other->number : row + 1];
}

static int64_t get_address(const struct firefox *to, uint32_t row)
{
    const struct profile_frame *frame = frame_of_row(to, row);
    const struct profile_function *function = &to->profile->functions[frame->function];
    return function->library && frame->offset && frame->offset <= INT64_MAX ? (int64_t)frame->offset
                                                                            : -1;
}

static int64_t get_inline_depth(const struct firefox *to, uint32_t row)
{
    return frame_of_row(to, row)->inlined;
}

static int64_t get_frame_category(const struct firefox *to, uint32_t row)
{
    static const enum firefox_category categories[PROFILE_KINDS] = {
        [PROFILE_PYTHON] = CATEGORY_PYTHON,
        [PROFILE_CYTHON] = CATEGORY_CYTHON,
        [PROFILE_NATIVE] = CATEGORY_NATIVE,
        [PROFILE_GAP] = CATEGORY_OTHER,
        [PROFILE_TASK] = CATEGORY_PYTHON};
    const struct other_category *other = other_frame(to, row);
    const struct profile_frame *frame = frame_of_row(to, row);
    return other ? (int64_t)other->category
                 : (int64_t)categories[to->profile->functions[frame->function].kind];
}

static int64_t get_function(const struct firefox *to, uint32_t row)
{
    return (int64_t)frame_of_row(to, row)->function - 1;
}

static int64_t get_native_symbol(const struct firefox *to, uint32_t row)
{
    const struct profile_frame *frame = frame_of_row(to, row);
    uint32_t symbol = frame->inlined ? 0 : to->symbol_of[frame->function];
    return symbol ? (int64_t)symbol - 1 : FIREFOX_NULL;
}

static int64_t get_line(const struct firefox *to, uint32_t row)
{
    const struct profile_frame *frame = frame_of_row(to, row);
    return frame->line ? (int64_t)frame->line : FIREFOX_NULL;
}

/* ---- funcTable, resourceTable, nativeSymbols, sources ---- */

static const struct profile_function *function_of_row(const struct firefox *to, uint32_t row)
{
    return &to->profile->functions[row + 1];
}

static int64_t get_function_name(const struct firefox *to, uint32_t row)
{
    return function_of_row(to, row)->name;
}

static int64_t get_resource(const struct firefox *to, uint32_t row)
{
    return (int64_t)function_of_row(to, row)->library - 1;
}

static int64_t get_source(const struct firefox *to, uint32_t row)
{
    uint32_t file = function_of_row(to, row)->file;
    return file ? (int64_t)to->source_of[file] - 1 : FIREFOX_NULL;
}

static int64_t get_first_line(const struct firefox *to, uint32_t row)
{
    const struct profile_function *function = function_of_row(to, row);
    return function->line ? (int64_t)function->line : FIREFOX_NULL;
}

static int64_t get_library_name(const struct firefox *to, uint32_t row)
{
    return (int64_t)to->profile->string_count + STRING_COUNT + row;
}

static int64_t get_row(const struct firefox *to, uint32_t row)
{
    (void)to;
    return row;
}

static const struct profile_function *symbol_of_row(const struct firefox *to, uint32_t row)
{
    return &to->profile->functions[to->symbols[row]];
}

static int64_t get_symbol_library(const struct firefox *to, uint32_t row)
{
    return (int64_t)symbol_of_row(to, row)->library - 1;
}

static int64_t get_symbol_address(const struct firefox *to, uint32_t row)
{
    return (int64_t)symbol_of_row(to, row)->offset;
}

static int64_t get_symbol_name(const struct firefox *to, uint32_t row)
{
    return symbol_of_row(to, row)->name;
}

static int64_t get_source_name(const struct firefox *to, uint32_t row)
{
    return to->sources[row];
}

/* ---- written ---- */

struct column {
    const char *key;
    firefox_value_fn *value;
};

static void put_table(struct firefox *to, const char *key, uint32_t count,
                      const struct column *columns)
{
    json_break_line(to->writer);
    json_open_object(to->writer, key);
    json_put_unsigned(to->writer, "length", true, count);
    for (; columns->key; columns++)
        firefox_column(to, columns->key, count, columns->value);
    json_close_object(to->writer);
}

static void put_functions(struct firefox *to)
{
    static const struct column after_flags[] = {{"name", get_function_name},
                                                {"resource", get_resource},
                                                {"source", get_source},
                                                {"lineNumber", get_first_line},
                                                {"columnNumber", get_null},
                                                {"originalLocation", get_null},
                                                {NULL, NULL}};
    static const char *const flags[] = {"isJS", "relevantForJS"};
    uint32_t count = to->profile->function_count - 1;
    json_break_line(to->writer);
    json_open_object(to->writer, "funcTable");
    json_put_unsigned(to->writer, "length", true, count);
    for (size_t flag = 0; flag < PSC_ARRAY_SIZE(flags); flag++) {
        json_open_array(to->writer, flags[flag]);
        for (uint32_t i = 0; i < count; i++) {
            json_put_boolean(to->writer, NULL, false);
            printer_flow(to->printer);
        }
        json_close_array(to->writer);
    }
    for (const struct column *column = after_flags; column->key; column++)
        firefox_column(to, column->key, count, column->value);
    json_close_object(to->writer);
}

static void put_strings(struct firefox *to)
{
    static const char *const more[STRING_COUNT] = {
        [STRING_GIL_WAIT] = "GIL wait", [STRING_COLLECTION] = "GC"};
    json_break_line(to->writer);
    json_open_array(to->writer, "stringArray");
    for (uint32_t i = 0; i < to->profile->string_count; i++) {
        json_put_string(to->writer, NULL, profile_string(to->profile, i));
        printer_flow(to->printer);
    }
    for (size_t i = 0; i < STRING_COUNT; i++)
        json_put_string(to->writer, NULL, more[i]);
    for (uint32_t i = 1; i < to->profile->library_count; i++)
        json_put_string(to->writer, NULL, firefox_library_name(to->profile, i));
    json_close_array(to->writer);
}

void firefox_put_shared(struct firefox *to)
{
    static const struct column stacks[] = {
        {"frame", get_stack_frame}, {"prefixOffset", get_prefix_offset}, {NULL, NULL}};
    static const struct column frames[] = {{"address", get_address},
                                           {"inlineDepth", get_inline_depth},
                                           {"category", get_frame_category},
                                           {"subcategory", get_zero},
                                           {"func", get_function},
                                           {"nativeSymbol", get_native_symbol},
                                           {"innerWindowID", get_zero},
                                           {"line", get_line},
                                           {"column", get_null},
                                           {"originalLocation", get_null},
                                           {NULL, NULL}};
    static const struct column resources[] = {{"lib", get_row},
                                              {"name", get_library_name},
                                              {"host", get_null},
                                              {"type", get_one}, // A library.
                                              {NULL, NULL}};
    static const struct column symbols[] = {{"libIndex", get_symbol_library},
                                            {"address", get_symbol_address},
                                            {"name", get_symbol_name},
                                            {"functionSize", get_null},
                                            {NULL, NULL}};
    static const struct column sources[] = {{"id", get_null},
                                            {"filename", get_source_name},
                                            {"startLine", get_one},
                                            {"startColumn", get_one},
                                            {"sourceMapURL", get_null},
                                            {"content", get_null},
                                            {NULL, NULL}};
    static const struct column locations[] = {
        {"source", get_null}, {"line", get_null}, {"column", get_null}, {NULL, NULL}};
    json_open_object(to->writer, "shared");
    put_table(to, "stackTable", own_stacks(to) + (uint32_t)to->other_stacks.count, stacks);
    put_table(to, "frameTable", own_frames(to) + (uint32_t)to->other_frames.count, frames);
    put_functions(to);
    put_table(to, "resourceTable", to->profile->library_count - 1, resources);
    put_table(to, "nativeSymbols", to->symbol_count, symbols);
    put_table(to, "sources", to->source_count, sources);
    put_table(to, "sourceLocationTable", 0, locations);
    put_strings(to);
    json_close_object(to->writer);
}
