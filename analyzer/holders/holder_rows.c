/* References the other way round, and trees, as compressed rows: by counting. */
#include "dominators.h"

#include <stdlib.h>

void holder_rows_deinit(struct holder_rows *rows)
{
    free(rows->own_first);
    free(rows->own_nodes);
    *rows = (struct holder_rows){0};
}

static bool make_rows(struct holder_rows *rows, uint32_t count, uint64_t edges)
{
    *rows = (struct holder_rows){.count = count};
    rows->own_first = calloc((size_t)count + 2, sizeof(*rows->own_first));
    rows->own_nodes = malloc((edges ? edges : 1) * sizeof(*rows->own_nodes));
    rows->first = rows->own_first;
    rows->nodes = rows->own_nodes;
    if (rows->own_first && rows->own_nodes)
        return true;
    holder_rows_deinit(rows);
    return false;
}

enum psc_status holder_rows_reverse(const struct holder_rows *forward, struct holder_rows *ret)
{
    const uint64_t edges = forward->count ? forward->first[forward->count] : 0;
    if (!make_rows(ret, forward->count, edges))
        return PSC_ERR_MEMORY;
    // Row i ends where row i + 1 begins: counted two further on, then moved back by filling.
    uint32_t *const first = ret->own_first;
    for (uint64_t i = 0; i < edges; i++)
        first[(size_t)forward->nodes[i] + 2]++;
    for (size_t i = 0; i < forward->count; i++)
        first[i + 2] += first[i + 1];
    for (uint32_t node = 0; node < forward->count; node++)
        for (uint32_t i = forward->first[node]; i < forward->first[node + 1]; i++)
            ret->own_nodes[first[(size_t)forward->nodes[i] + 1]++] = node;
    return PSC_OK;
}

enum psc_status dominators_list_children(const struct dominators *dominators,
                                         struct holder_rows *ret)
{
    // The root above all is the last row.
    const uint32_t count = dominators->count;
    if (!make_rows(ret, count + 1, count))
        return PSC_ERR_MEMORY;
    uint32_t *const first = ret->own_first;
    for (uint32_t node = 0; node < count; node++) {
        const uint32_t above = dominators->dominator[node];
        first[(above == HOLDERS_NO_NODE ? (size_t)count : above) + 2]++;
    }
    for (size_t i = 0; i <= count; i++)
        first[i + 2] += first[i + 1];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = dominators->order[i], above = dominators->dominator[node];
        ret->own_nodes[first[(above == HOLDERS_NO_NODE ? (size_t)count : above) + 1]++] = node;
    }
    return PSC_OK;
}
