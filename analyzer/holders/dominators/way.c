/* The shortest way from a holder with a name: backwards, breadth first. */
#include "dominators.h"

#include <stdlib.h>

struct met {
    uint64_t node; /* The key. */
    uint32_t to;   /* The next one on the way to what was asked for. */
};

static enum psc_status take_way(const struct hash_table *met, uint32_t from, uint32_t node,
                                struct holder_way *ret)
{
    size_t capacity = 0;
    for (uint32_t at = from;;) {
        if (!array_reserve(&ret->nodes, &capacity, ret->count + 1, sizeof(*ret->nodes))) {
            free(ret->nodes);
            *ret = (struct holder_way){0};
            return PSC_ERR_MEMORY;
        }
        ret->nodes[ret->count++] = at;
        if (at == node)
            return PSC_OK;
        const struct met *one = hash_table_find(met, at);
        at = one ? one->to : node;
    }
}

enum psc_status holder_way_find(const struct holder_search *search, uint32_t node,
                                struct holder_way *ret)
{
    PSC_CLEANUP(hash_table_deinit) struct hash_table met = HASH_TABLE_OF(struct met);
    struct met *one = hash_table_add(&met, node);
    uint32_t found = HOLDERS_NO_NODE;
    unsigned rank = 0;
    *ret = (struct holder_way){0};
    if (!one)
        return PSC_ERR_MEMORY;
    one->to = node;
    // Items stand in the order in which they were met: the table is the queue, too.
    size_t at = 0;
    for (; rank < search->best && at < met.count && at < search->most_nodes; at++) {
        const uint32_t holder = (uint32_t)((struct met *)hash_table_at(&met, at))->node;
        const unsigned own = search->rank(search->context, holder);
        if (own > rank) {
            rank = own;
            found = holder;
        }
        if (rank >= search->best)
            break;
        const struct holder_rows *rows = &search->holders;
        for (uint64_t i = rows->first[holder]; i < rows->first[holder + 1]; i++) {
            if (hash_table_find(&met, rows->nodes[i]))
                continue;
            one = hash_table_add(&met, rows->nodes[i]);
            if (!one)
                return PSC_ERR_MEMORY;
            one->to = holder;
        }
    }
    if (found != HOLDERS_NO_NODE)
        return take_way(&met, found, node, ret);
    return at < met.count ? PSC_ERR_LIMIT : PSC_ERR_NOT_FOUND;
}
