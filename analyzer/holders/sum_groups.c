/* What the nodes of a group retain together: the tree of dominators, gone through once. */
#include "dominators.h"

#include <stdlib.h>

struct place {
    uint32_t node;
    uint32_t child;
};

static bool enter(struct place **way, size_t *capacity, size_t *depth, struct place place)
{
    if (!array_reserve(way, capacity, *depth + 1, sizeof(**way)))
        return false;
    (*way)[(*depth)++] = place;
    return true;
}

enum psc_status dominators_sum_groups(const struct dominators *dominators, const uint32_t *group,
                                      size_t group_count, uint64_t *ret)
{
    PSC_CLEANUP(holder_rows_deinit) struct holder_rows children = {0};
    PSC_CLEANUP(cleanup_free) uint32_t *open = calloc(group_count + 1, sizeof(*open));
    PSC_CLEANUP(cleanup_free) struct place *way = NULL;
    size_t capacity = 0, depth = 0;
    enum psc_status status =
        open ? dominators_list_children(dominators, &children) : PSC_ERR_MEMORY;
    if (status != PSC_OK)
        return status;
    for (size_t i = 0; i < group_count; i++)
        ret[i] = 0;
    const uint32_t above_all = dominators->count;
    if (!enter(&way, &capacity, &depth, (struct place){above_all, children.first[above_all]}))
        return PSC_ERR_MEMORY;
    while (depth) {
        struct place *place = &way[depth - 1];
        if (place->child == children.first[(size_t)place->node + 1]) {
            if (place->node != above_all)
                open[group[place->node]]--;
            depth--;
            continue;
        }
        const uint32_t node = children.nodes[place->child++];
        if (!open[group[node]]++)
            ret[group[node]] += dominators->retained[node];
        if (!enter(&way, &capacity, &depth, (struct place){node, children.first[node]}))
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}
