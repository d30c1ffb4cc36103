/* Where what is retained falls apart. */
#include "holders.h"

#include <stdlib.h>

#define SHARE 10u /* A node is one with more than a tenth. */

static bool is_large(const struct holders *holders, uint32_t node)
{
    return holders->tree.retained[node] > holders->total / SHARE;
}

struct child_sum {
    uint64_t type; /* The key. */
    uint64_t count;
    uint64_t bytes;
};

/* What lies right below it, by type. */
static enum psc_status sum_children(const struct holders *holders, struct suspect *suspect)
{
    const struct heap *heap = holders->heap;
    PSC_CLEANUP(hash_table_deinit) struct hash_table sums = HASH_TABLE_OF(struct child_sum);
    suspect->child_type = HEAP_NONE;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        if (holders->tree.dominator[i] != suspect->node)
            continue;
        struct child_sum *sum = hash_table_find(&sums, heap->objects[i].type);
        if (!sum)
            sum = hash_table_add(&sums, heap->objects[i].type);
        if (!sum)
            return PSC_ERR_MEMORY;
        sum->count++;
        sum->bytes += holders->tree.retained[i];
        suspect->children++;
        if (sum->bytes <= suspect->child_bytes && suspect->child_type != sum->type)
            continue;
        suspect->child_type = (uint32_t)sum->type;
        suspect->child_bytes = sum->bytes;
        suspect->child_count = sum->count;
    }
    return PSC_OK;
}

/* Namespaces, the list of modules, and what holds parts of the program from outside. */
static bool is_program(const struct holders *holders, const struct suspect *suspect)
{
    const struct heap *heap = holders->heap;
    const struct holder *holder = holders_get(holders, suspect->node);
    if (holder)
        return holder->kind != HOLDER_FRAME && holder->kind != HOLDER_THREAD;
    if (suspect->child_type == HEAP_NONE)
        return false;
    return suspect->child_type == holders->module_type ||
           heap->types[suspect->child_type].address == heap->layout.type_type;
}

static int compare_suspects(const void *left, const void *right)
{
    const struct suspect *one = left, *other = right;
    return COMPARE(other->retained, one->retained);
}

enum psc_status holders_find_suspects(const struct holders *holders,
                                      struct suspect ret[SUSPECT_LIMIT], size_t *ret_count)
{
    PSC_CLEANUP(cleanup_free) uint8_t *has_large = calloc((size_t)holders->node_count + 1, 1);
    *ret_count = 0;
    if (!has_large)
        return PSC_ERR_MEMORY;
    for (uint32_t i = 0; i < holders->node_count; i++)
        if (is_large(holders, i) && holders->tree.dominator[i] != HOLDERS_NO_NODE)
            has_large[holders->tree.dominator[i]] = 1;
    for (uint32_t i = 0; i < holders->node_count && *ret_count < SUSPECT_LIMIT; i++) {
        if (!is_large(holders, i) || has_large[i])
            continue;
        struct suspect suspect = {.node = i, .retained = holders->tree.retained[i]};
        enum psc_status status = sum_children(holders, &suspect);
        if (status != PSC_OK)
            return status;
        if (!is_program(holders, &suspect))
            ret[(*ret_count)++] = suspect;
    }
    qsort(ret, *ret_count, sizeof(*ret), compare_suspects);
    return PSC_OK;
}
