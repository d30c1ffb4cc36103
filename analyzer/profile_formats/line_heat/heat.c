/* How much time each line had, itself and with all that it called. */
#include "line_heat_private.h"
#include "samples.h"

#include <stdlib.h>

void heat_deinit(struct heat *heat)
{
    hash_table_deinit(&heat->lines);
    hash_table_deinit(&heat->weights);
    hash_table_deinit(&heat->files);
    free(heat->sorted);
}

double heat_percent(const struct heat *heat, uint64_t weight)
{
    return heat->whole ? 100.0 * (double)weight / (double)heat->whole : 0;
}

static uint32_t file_of_function(const struct profile *profile, uint64_t number)
{
    const struct profile_function *function = &profile->functions[number];
    return function->file ? function->file : profile->libraries[function->library].path;
}

static struct heated_line *line_of(struct heat *heat, uint32_t frame)
{
    const struct profile_frame *one = &heat->profile->frames[frame];
    uint64_t place = (uint64_t)one->function << 32 | one->line;
    struct heated_line *line = hash_table_find(&heat->lines, place);
    return line ? line : hash_table_add(&heat->lines, place);
}

static struct heated_file *file_of(struct heat *heat, uint32_t frame)
{
    uint64_t name = file_of_function(heat->profile, heat->profile->frames[frame].function);
    struct heated_file *file = hash_table_find(&heat->files, name);
    return file ? file : hash_table_add(&heat->files, name);
}

/* Each line and each file once for a stack, whatever recursion there is. */
static enum psc_status heat_lines(struct heat *heat)
{
    const struct profile *profile = heat->profile;
    for (size_t i = 0; i < heat->weights.count; i++) {
        const struct stack_weight *one = hash_table_at(&heat->weights, i);
        uint64_t weight = stack_weight_measure(profile, one);
        heat->whole += weight;
        for (uint32_t at = (uint32_t)one->stack; at; at = profile->stacks[at].parent) {
            struct heated_line *line = line_of(heat, profile->stacks[at].frame);
            struct heated_file *file = file_of(heat, profile->stacks[at].frame);
            if (!line || !file)
                return PSC_ERR_MEMORY;
            uint64_t own = at == one->stack ? weight : 0;
            line->own += own;
            file->own += own;
            line->total += line->seen != i + 1 ? weight : 0;
            file->total += file->seen != i + 1 ? weight : 0;
            line->seen = file->seen = i + 1;
        }
    }
    return PSC_OK;
}

/* ---- by files ---- */

static int compare_lines(const void *one, const void *other, void *context)
{
    const struct profile *profile = context;
    const struct heated_line *a = *(struct heated_line *const *)one;
    const struct heated_line *b = *(struct heated_line *const *)other;
    uint64_t keys[2][3] = {
        {file_of_function(profile, a->place >> 32), heated_line_number(a), a->place >> 32},
        {file_of_function(profile, b->place >> 32), heated_line_number(b), b->place >> 32}};
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
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
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
    for (size_t i = 0; i < count; i++) {
        uint64_t name = file_of_function(heat->profile, heat->sorted[i]->place >> 32);
        struct heated_file *file = hash_table_find(&heat->files, name);
        if (!file)
            return PSC_ERR_MEMORY;
        file->first = file->count ? file->first : i;
        file->count++;
    }
    // The table is not searched from here on.
    if (heat->files.count)
        qsort(heat->files.items, heat->files.count, sizeof(struct heated_file), compare_files);
    return PSC_OK;
}

enum psc_status heat_read(const struct profile *profile, struct heat *ret, struct psc_error *err)
{
    *ret = (struct heat){.profile = profile,
                         .lines = HASH_TABLE_OF(struct heated_line),
                         .files = HASH_TABLE_OF(struct heated_file)};
    enum psc_status status = stack_weights_read(profile, &ret->weights, err);
    if (status != PSC_OK)
        return status;
    status = heat_lines(ret);
    return psc_fail_status(err, status == PSC_OK ? sort_lines(ret) : status);
}
