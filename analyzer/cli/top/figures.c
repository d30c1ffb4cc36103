#include "figures.h"

#include <stdlib.h>
#include <string.h>

void figures_init(struct figures *figures)
{
    *figures = (struct figures){.stacks = HASH_TABLE_OF(struct figure_stack),
                                .threads = HASH_TABLE_OF(struct figure_thread),
                                .rows = HASH_TABLE_OF(struct figure_row)};
}

void figures_deinit(struct figures *figures)
{
    hash_table_deinit(&figures->stacks);
    hash_table_deinit(&figures->threads);
    hash_table_deinit(&figures->rows);
    free(figures->sorted);
}

void figures_drop(struct figures *figures, struct profile *profile)
{
    profile_drop_samples(profile);
    figures->weighed = profile->counts.weighed;
}

void figures_reset(struct figures *figures, struct profile *profile)
{
    figures_drop(figures, profile);
    hash_table_clear(&figures->stacks);
    hash_table_clear(&figures->threads);
    figures->recent = figures->all = 0;
    figures->gil = figures->collects = figures->cpu = 0;
}

/* ---- samples ---- */

static void begin_while(struct figures *figures)
{
    for (size_t i = 0; i < figures->stacks.count; i++)
        ((struct figure_stack *)hash_table_at(&figures->stacks, i))->recent = 0;
    for (size_t i = 0; i < figures->threads.count; i++) {
        struct figure_thread *one = hash_table_at(&figures->threads, i);
        *one = (struct figure_thread){.thread = one->thread, .stack = one->stack};
    }
    figures->gil = figures->collects = figures->cpu = 0;
}

static void add_to_thread(struct figure_thread *thread, const struct profile_sample *sample)
{
    thread->recent += sample->weight;
    thread->gil += sample->flags & PROFILE_HOLDS_GIL ? sample->weight : 0;
    thread->waits += sample->flags & PROFILE_WAITS_GIL ? sample->weight : 0;
    thread->collects += sample->flags & PROFILE_COLLECTS ? sample->weight : 0;
    thread->cpu += sample->cpu;
    thread->stack = sample->stack ? sample->stack : thread->stack;
}

static bool add_sample(struct figures *figures, const struct profile_sample *sample)
{
    struct figure_thread *thread = hash_table_find(&figures->threads, sample->thread);
    if (!thread && !(thread = hash_table_add(&figures->threads, sample->thread)))
        return false;
    add_to_thread(thread, sample);
    figures->gil += sample->flags & PROFILE_HOLDS_GIL ? sample->weight : 0;
    figures->collects += sample->flags & PROFILE_COLLECTS ? sample->weight : 0;
    figures->cpu += sample->cpu;
    if (!sample->stack)
        return true;
    struct figure_stack *stack = hash_table_find(&figures->stacks, sample->stack);
    if (!stack && !(stack = hash_table_add(&figures->stacks, sample->stack)))
        return false;
    stack->recent += sample->weight;
    stack->all += sample->weight;
    return true;
}

bool figures_take(struct figures *figures, struct profile *profile)
{
    struct profile_reader reader;
    struct profile_sample sample;
    bool good = true;
    begin_while(figures);
    figures->recent = (double)(profile->counts.weighed - figures->weighed);
    figures->weighed = profile->counts.weighed;
    figures->all += figures->recent;
    profile_start_reading(&reader, profile);
    while (good && profile_next_sample(&reader, &sample))
        good = add_sample(figures, &sample);
    profile_drop_samples(profile);
    return good;
}

/* ---- rows ---- */

/* Where the part of a stack ends that is counted: at the outermost frame of the function that is
 * followed. UINT32_MAX: it is not in it. */
static uint32_t outer_end(const struct profile *profile, uint32_t stack, uint32_t follows)
{
    uint32_t end = UINT32_MAX;
    if (!follows)
        return 0;
    for (uint32_t at = stack; at; at = profile->stacks[at].parent)
        if (profile->frames[profile->stacks[at].frame].function == follows)
            end = profile->stacks[at].parent;
    return end;
}

static bool add_stack(struct figures *figures, const struct profile *profile,
                      const struct figure_view *view, size_t index)
{
    const struct figure_stack *one = hash_table_at(&figures->stacks, index);
    uint32_t end = outer_end(profile, (uint32_t)one->stack, view->follows);
    if (end == UINT32_MAX)
        return true;
    for (uint32_t at = (uint32_t)one->stack; at != end; at = profile->stacks[at].parent) {
        uint32_t number = profile->stacks[at].frame;
        const struct profile_frame *frame = &profile->frames[number];
        uint64_t key = (uint64_t)frame->function << 32 | (view->by_line ? frame->line : 0);
        struct figure_row *row = hash_table_find(&figures->rows, key);
        if (!row && !(row = hash_table_add(&figures->rows, key)))
            return false;
        row->frame = number;
        if (at == one->stack) {
            row->own += one->recent;
            row->all_own += one->all;
        }
        if (row->seen != index + 1) {
            row->total += one->recent;
            row->all_total += one->all;
        }
        row->seen = index + 1;
    }
    return true;
}

static bool is_wanted(const struct profile *profile, const struct figure_row *row,
                      const char *filter)
{
    const struct profile_function *function = profile_function_of(profile, row->frame);
    const struct profile_library *library = &profile->libraries[function->library];
    return !*filter || strcasestr(profile_string(profile, function->name), filter) ||
           strcasestr(profile_string(profile, function->file), filter) ||
           strcasestr(profile_string(profile, library->path), filter);
}

static uint64_t measure(const struct figure_row *row, enum figure_order order)
{
    switch (order) {
    case ORDER_OWN:
        return row->own;
    case ORDER_TOTAL:
        return row->total;
    case ORDER_ALL_OWN:
        return row->all_own;
    case ORDER_ALL_TOTAL:
        break;
    }
    return row->all_total;
}

static int compare_rows(const void *one, const void *other, void *context)
{
    const struct figure_row *a = *(struct figure_row *const *)one;
    const struct figure_row *b = *(struct figure_row *const *)other;
    const enum figure_order *order = context;
    // What is equal in one column stands in the order of the others.
    const enum figure_order orders[] = {*order, ORDER_OWN, ORDER_TOTAL, ORDER_ALL_OWN,
                                        ORDER_ALL_TOTAL};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(orders); i++) {
        uint64_t mine = measure(a, orders[i]), others = measure(b, orders[i]);
        if (mine != others)
            return mine > others ? -1 : 1;
    }
    return a->key < b->key ? -1 : a->key > b->key;
}

bool figures_sort(struct figures *figures, const struct profile *profile,
                  const struct figure_view *view)
{
    enum figure_order order = view->order;
    hash_table_clear(&figures->rows);
    figures->row_count = 0;
    for (size_t i = 0; i < figures->stacks.count; i++)
        if (!add_stack(figures, profile, view, i))
            return false;
    if (!array_reserve(&figures->sorted, &figures->sorted_capacity, figures->rows.count + 1,
                       sizeof(struct figure_row *)))
        return false;
    for (size_t i = 0; i < figures->rows.count; i++) {
        struct figure_row *row = hash_table_at(&figures->rows, i);
        if (is_wanted(profile, row, view->filter))
            figures->sorted[figures->row_count++] = row;
    }
    if (figures->row_count)
        qsort_r(figures->sorted, figures->row_count, sizeof(struct figure_row *), compare_rows,
                &order);
    return true;
}
