/* Own and total time of each line of each source file, with its text: the heat of sources. */
#include "profile_formats_private.h"

#include <stdlib.h>

/** A line of a file, or (line 0) what of a function has no line. */
struct heated_line {
    uint64_t place; /**< Function << 32 | line: lines of functions that share a file stay apart. */
    uint64_t own;
    uint64_t total;
    uint64_t seen; /**< The last stack that was counted: recursion counts once. */
};

/** A source file, or a library of functions without one. */
struct heated_file {
    uint64_t name; /**< String; of a library, its path's. */
    uint64_t own;
    size_t first; /**< Its lines, in the sorted array. */
    size_t count;
};

struct heat {
    const struct profile *profile;
    struct hash_table lines;   /**< struct heated_line */
    struct hash_table weights; /**< struct stack_weight */
    struct hash_table files;   /**< struct heated_file */
    struct heated_line **sorted;
    uint64_t whole;
};

struct stack_weight {
    uint64_t stack;
    uint64_t weight;
};

static void heat_deinit(struct heat *heat)
{
    hash_table_deinit(&heat->lines);
    hash_table_deinit(&heat->weights);
    hash_table_deinit(&heat->files);
    free(heat->sorted);
}

static enum psc_status sum_weights(struct heat *heat)
{
    struct profile_reader reader;
    struct profile_sample sample;
    profile_start_reading(&reader, heat->profile);
    while (profile_next_sample(&reader, &sample)) {
        if (!sample.stack)
            continue;
        struct stack_weight *one = hash_table_find(&heat->weights, sample.stack);
        if (!one && !(one = hash_table_add(&heat->weights, sample.stack)))
            return PSC_ERR_MEMORY;
        one->weight += profile_weight(heat->profile, &sample);
        heat->whole += profile_weight(heat->profile, &sample);
    }
    return PSC_OK;
}

static struct heated_line *line_of(struct heat *heat, uint32_t frame)
{
    const struct profile_frame *one = &heat->profile->frames[frame];
    uint64_t place = (uint64_t)one->function << 32 | one->line;
    struct heated_line *line = hash_table_find(&heat->lines, place);
    return line ? line : hash_table_add(&heat->lines, place);
}

static enum psc_status heat_lines(struct heat *heat)
{
    const struct profile *profile = heat->profile;
    for (size_t i = 0; i < heat->weights.count; i++) {
        const struct stack_weight *one = hash_table_at(&heat->weights, i);
        for (uint32_t at = (uint32_t)one->stack; at; at = profile->stacks[at].parent) {
            struct heated_line *line = line_of(heat, profile->stacks[at].frame);
            if (!line)
                return PSC_ERR_MEMORY;
            line->own += at == one->stack ? one->weight : 0;
            line->total += line->seen != i + 1 ? one->weight : 0;
            line->seen = i + 1;
        }
    }
    return PSC_OK;
}

/* ---- by files ---- */

static uint32_t function_of_place(uint64_t place)
{
    return (uint32_t)(place >> 32);
}

static uint32_t file_of(const struct profile *profile, uint64_t place)
{
    const struct profile_function *function = &profile->functions[function_of_place(place)];
    return function->file ? function->file : profile->libraries[function->library].path;
}

static int compare_lines(const void *one, const void *other, void *context)
{
    const struct profile *profile = context;
    const struct heated_line *a = *(struct heated_line *const *)one;
    const struct heated_line *b = *(struct heated_line *const *)other;
    uint64_t keys[2][3] = {
        {file_of(profile, a->place), (uint32_t)a->place, function_of_place(a->place)},
        {file_of(profile, b->place), (uint32_t)b->place, function_of_place(b->place)}};
    for (size_t i = 0; i < 3; i++)
        if (keys[0][i] != keys[1][i])
            return keys[0][i] < keys[1][i] ? -1 : 1;
    return 0;
}

static int compare_files(const void *one, const void *other)
{
    const struct heated_file *a = one, *b = other;
    if (a->own != b->own)
        return a->own > b->own ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static enum psc_status sort_lines(struct heat *heat)
{
    size_t count = heat->lines.count;
    heat->sorted = calloc(count ? count : 1, sizeof(*heat->sorted));
    if (!heat->sorted)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        heat->sorted[i] = hash_table_at(&heat->lines, i);
    qsort_r(heat->sorted, count, sizeof(struct heated_line *), compare_lines,
            (void *)(uintptr_t)heat->profile);
    struct heated_file *file = NULL;
    for (size_t i = 0; i < count; i++) {
        uint32_t name = file_of(heat->profile, heat->sorted[i]->place);
        if (!file || file->name != name) {
            file = hash_table_add_by(&heat->files, name);
            if (!file)
                return PSC_ERR_MEMORY;
            file->name = name;
            file->first = i;
        }
        file->own += heat->sorted[i]->own;
        file->count++;
    }
    // The table is not searched from here on.
    if (heat->files.count)
        qsort(heat->files.items, heat->files.count, sizeof(struct heated_file), compare_files);
    return PSC_OK;
}

/* ---- printed ---- */

/** The text of a file, walked line by line upwards. */
struct source_walk {
    char *text;
    const char *at;
    const char *end;
    uint32_t line;
};

static void source_deinit(struct source_walk *walk)
{
    free(walk->text);
}

static void find_line(struct source_walk *walk, uint32_t line, struct text *ret)
{
    while (walk->at && walk->line < line) {
        const char *newline = memchr(walk->at, '\n', (size_t)(walk->end - walk->at));
        walk->at = newline ? newline + 1 : NULL;
        walk->line++;
    }
    if (!walk->at || walk->line != line || walk->at == walk->end)
        return;
    const char *newline = memchr(walk->at, '\n', (size_t)(walk->end - walk->at));
    size_t size = (size_t)((newline ? newline : walk->end) - walk->at);
    struct text copy = {0};
    text_add(&copy, walk->at, size);
    if (copy.data)
        text_add_escaped(ret, copy.data);
    text_deinit(&copy);
}

static double percent(const struct heat *heat, uint64_t weight)
{
    return heat->whole ? 100.0 * (double)weight / (double)heat->whole : 0;
}

static void print_line(const struct heat *heat, const struct heated_line *line,
                       struct source_walk *walk, struct text *text)
{
    const struct profile *profile = heat->profile;
    uint32_t number = (uint32_t)line->place;
    text_printf(text, "%6.1f %6.1f  ", percent(heat, line->own), percent(heat, line->total));
    if (number)
        text_printf(text, "%6u  ", number);
    else
        text_add_string(text, "     -  ");
    size_t from = text->size;
    text_add_escaped(
        text, profile_string(profile, profile->functions[function_of_place(line->place)].name));
    struct text source = {0};
    if (number)
        find_line(walk, number, &source);
    if (source.size) {
        text_printf(text, "%*s| %s", from + 24 > text->size ? (int)(from + 24 - text->size) : 1, "",
                    source.data);
    }
    text_deinit(&source);
    text_add_char(text, '\n');
}

static void print_file(const struct heat *heat, const struct heated_file *file,
                       struct profile_printer *printer)
{
    const struct profile *profile = heat->profile;
    const struct profile_output *output = printer->output;
    const char *name = profile_string(profile, (uint32_t)file->name);
    struct source_walk walk PSC_CLEANUP(source_deinit) = {.line = 1};
    size_t size = 0;
    if (file->name && output->read_source)
        walk.text = output->read_source(output->source_context, name, &size);
    walk.at = walk.text;
    walk.end = walk.text ? walk.text + size : NULL;
    text_add_char(&printer->text, '\n');
    text_add_escaped(&printer->text, *name ? name : "(no file)");
    text_printf(&printer->text, "  %.1f %% own\n   own%% total%%    line  function\n",
                percent(heat, file->own));
    for (size_t i = 0; i < file->count; i++) {
        print_line(heat, heat->sorted[file->first + i], &walk, &printer->text);
        printer_flow(printer);
    }
}

static enum psc_status print_heat(const struct heat *heat, const struct profile_output *output)
{
    const struct profile *profile = heat->profile;
    struct profile_printer printer = {.output = output};
    text_add_escaped(&printer.text, profile->target ? profile->target : "profile");
    text_printf(&printer.text, "\n  %.1f s, %llu samples of threads at %llu moments\n",
                (double)profile->duration / 1e9, (unsigned long long)profile->counts.samples,
                (unsigned long long)profile->counts.taken);
    for (size_t i = 0; i < heat->files.count; i++)
        print_file(heat, hash_table_at(&heat->files, i), &printer);
    return printer_end(&printer);
}

enum psc_status write_lines(const struct profile *profile, const struct profile_output *output,
                            struct psc_error *err)
{
    struct heat heat PSC_CLEANUP(heat_deinit) = {.profile = profile,
                                                 .lines = HASH_TABLE_OF(struct heated_line),
                                                 .weights = HASH_TABLE_OF(struct stack_weight),
                                                 .files = HASH_TABLE_OF(struct heated_file)};
    enum psc_status status = sum_weights(&heat);
    if (status == PSC_OK)
        status = heat_lines(&heat);
    if (status == PSC_OK)
        status = sort_lines(&heat);
    if (status == PSC_OK)
        status = print_heat(&heat, output);
    return psc_fail_status(err, status);
}
