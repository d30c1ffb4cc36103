/* Line tables of whole units, which a running program asks for again and again. */
#include "dwarf_private.h"

#include <stdlib.h>

/** Extents of all units that are kept of a module; one has 24 bytes. */
#define EXTENT_LIMIT ((size_t)2 * 1024 * 1024)

/** A unit, by its offset in .debug_line. */
struct kept_unit {
    uint64_t unit; /**< The key. */
    struct debug_line_extent *extents;
    size_t count;
};

struct line_rows {
    struct hash_table units; /**< struct kept_unit */
    size_t extent_count;
};

struct line_rows *line_rows_create(void)
{
    struct line_rows *rows = calloc(1, sizeof(*rows));
    if (rows)
        rows->units = HASH_TABLE_OF(struct kept_unit);
    return rows;
}

void line_rows_destroy(struct line_rows *rows)
{
    for (size_t i = 0; rows && i < rows->units.count; i++)
        free(((struct kept_unit *)hash_table_at(&rows->units, i))->extents);
    if (rows)
        hash_table_deinit(&rows->units);
    free(rows);
}

/** The extents of one unit while its program runs. */
struct extent_list {
    struct debug_line_extent *items;
    size_t count;
    size_t capacity;
    size_t limit;
};

static bool take_extent(void *context, const struct debug_line_extent *extent)
{
    struct extent_list *list = context;
    struct debug_line_extent *last = list->count ? &list->items[list->count - 1] : NULL;
    if (last && last->end == extent->start && last->file == extent->file &&
        last->line == extent->line) {
        last->end = extent->end;
        return true;
    }
    if (list->count == list->limit ||
        !array_reserve(&list->items, &list->capacity, list->count + 1, sizeof(*list->items))) {
        list->limit = 0;
        return false;
    }
    list->items[list->count++] = *extent;
    return true;
}

static int compare_extents(const void *left, const void *right)
{
    const struct debug_line_extent *a = left, *b = right;
    return COMPARE(a->start, b->start);
}

/** Where they overlap, the first one in the program answers: that is left to a run of it. */
static bool sort_extents(struct extent_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_extents);
    for (size_t i = 1; i < list->count; i++)
        if (list->items[i].start < list->items[i - 1].end)
            return false;
    return true;
}

void line_rows_keep(struct line_rows *rows, const struct debug_line_sections *sections,
                    uint64_t unit, const struct module_layout *layout)
{
    if (hash_table_find(&rows->units, unit))
        return;
    struct extent_list list = {.limit = EXTENT_LIMIT - rows->extent_count};
    struct kept_unit *kept = hash_table_add(&rows->units, unit);
    if (!kept)
        return;
    const struct debug_line_taker taker = {take_extent, &list};
    if (list.limit)
        parse_debug_line_extents(sections, unit, layout->code, layout->code_count, &taker);
    // Without any it is known that there is no table for it.
    if (!list.limit || !list.count || !sort_extents(&list)) {
        free(list.items);
        return;
    }
    struct debug_line_extent *fitting = realloc(list.items, list.count * sizeof(*list.items));
    kept->extents = fitting ? fitting : list.items;
    kept->count = list.count;
    rows->extent_count += list.count;
}

static bool find_in(const struct kept_unit *kept, struct debug_line_row *row)
{
    size_t behind = SORTED_UP_TO(kept->extents, start, kept->count, row->address);
    if (!behind || row->address >= kept->extents[behind - 1].end)
        return false;
    *row = (struct debug_line_row){.address = row->address,
                                   .unit = kept->unit,
                                   .file = kept->extents[behind - 1].file,
                                   .line = kept->extents[behind - 1].line,
                                   .found = true};
    return true;
}

bool line_rows_find(const struct line_rows *rows, uint64_t unit, struct debug_line_row *row)
{
    const struct kept_unit *kept = hash_table_find(&rows->units, unit);
    return kept && find_in(kept, row);
}

bool line_rows_find_anywhere(const struct line_rows *rows, struct debug_line_row *row)
{
    for (size_t i = 0; i < rows->units.count; i++)
        if (find_in(hash_table_at(&rows->units, i), row))
            return true;
    return false;
}
