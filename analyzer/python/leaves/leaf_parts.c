/* What the files for each library fill leaves with. */
#include "leaves.h"

void leaf_set_deadline(struct python_leaf *leaf, double deadline)
{
    if (!(deadline > 0 && deadline < PY_CLOCK_LIMIT))
        return;
    if (!leaf->has_deadline || deadline < leaf->deadline)
        leaf->deadline = deadline;
    leaf->has_deadline = leaf->timed = true;
}

size_t leaf_find_task(const struct leaves *leaves, psc_addr address)
{
    const struct known_task *known = hash_table_find(&leaves->addresses, address);
    return known ? known->index : SIZE_MAX;
}

bool leaf_set_holder(struct leaf_search *search, size_t holder, bool certain)
{
    size_t *holders = arena_alloc(search->leaves->python->arena, sizeof(*holders));
    if (!holders)
        return false;
    *holders = holder;
    search->leaf->holders = holders;
    search->leaf->holder_count = 1;
    search->leaf->certain = certain;
    return true;
}
