/*
 * Dominators by the semi-NCA algorithm (Georgiadis, Tarjan, Werneck: "Finding dominators in
 * practice", 2006), without recursion, with sizes that are summed along the tree.
 */
#include "dominators.h"

#include <stdlib.h>
#include <string.h>

#define ROOT 1u /* The number of the one root above all; numbers of nodes begin behind it. */

struct step {
    uint32_t node;
    uint32_t edge;
};

struct search {
    const struct dominator_input *input;
    uint32_t *number;   /* Of each node, in the order of meeting; 0: not met. */
    uint32_t *node;     /* By number. */
    uint32_t *ancestor; /* By number; paths are compressed. */
    uint32_t *semi;
    uint32_t *label;
    uint32_t *dominator;   /* By number; at first the parent. */
    uint32_t last;         /* The number that was given last. */
    uint32_t last_reached; /* The last one that a root leads to. */
    struct step *way;
    size_t way_capacity;
    uint32_t *path;
    size_t path_capacity;
};

static void cleanup_search(struct search *search)
{
    free(search->number);
    free(search->node);
    free(search->ancestor);
    free(search->semi);
    free(search->label);
    free(search->dominator);
    free(search->way);
    free(search->path);
}

static bool make_search(struct search *search, const struct dominator_input *input)
{
    const size_t count = (size_t)input->forward.count + 2;
    *search = (struct search){.input = input, .last = ROOT};
    search->number = calloc(count, sizeof(uint32_t));
    search->node = calloc(count, sizeof(uint32_t));
    search->ancestor = calloc(count, sizeof(uint32_t));
    search->semi = calloc(count, sizeof(uint32_t));
    search->label = calloc(count, sizeof(uint32_t));
    search->dominator = calloc(count, sizeof(uint32_t));
    return search->number && search->node && search->ancestor && search->semi && search->label &&
           search->dominator;
}

static void meet(struct search *search, uint32_t node, uint32_t parent)
{
    const uint32_t number = ++search->last;
    search->number[node] = number;
    search->node[number] = node;
    search->ancestor[number] = search->dominator[number] = parent;
    search->semi[number] = search->label[number] = number;
}

/* Whether a reference counts. */
static bool counts(const struct dominator_input *input, uint32_t holder, uint32_t held)
{
    return !(input->flags[held] & DOMINATOR_OWNED) || (input->flags[holder] & DOMINATOR_OWNER);
}

/* Everything that one root leads to and that was not met before. */
static bool walk_from(struct search *search, uint32_t root)
{
    const struct holder_rows *forward = &search->input->forward;
    size_t depth = 0;
    if (!array_reserve(&search->way, &search->way_capacity, 1, sizeof(*search->way)))
        return false;
    meet(search, root, ROOT);
    search->way[depth++] = (struct step){root, forward->first[root]};
    while (depth) {
        struct step *step = &search->way[depth - 1];
        if (step->edge == forward->first[step->node + 1]) {
            depth--;
            continue;
        }
        const uint32_t to = forward->nodes[step->edge++];
        if (search->number[to] || !counts(search->input, step->node, to))
            continue;
        meet(search, to, search->number[step->node]);
        if (!array_reserve(&search->way, &search->way_capacity, depth + 1, sizeof(*search->way)))
            return false;
        search->way[depth++] = (struct step){to, forward->first[to]};
    }
    return true;
}

/* The number with the smallest semidominator on the way up, among those from `linked` on. */
static bool evaluate(struct search *search, uint32_t number, uint32_t linked, uint32_t *ret)
{
    uint32_t *const ancestor = search->ancestor, *const label = search->label;
    size_t depth = 0;
    if (ancestor[number] < linked) {
        *ret = label[number];
        return true;
    }
    uint32_t at = number;
    do {
        if (!array_reserve(&search->path, &search->path_capacity, depth + 1, sizeof(*search->path)))
            return false;
        search->path[depth++] = at;
        at = ancestor[at];
    } while (ancestor[at] >= linked);
    uint32_t before = at, best = label[at];
    while (depth) {
        at = search->path[--depth];
        ancestor[at] = ancestor[before];
        if (search->semi[best] < search->semi[label[at]])
            label[at] = best;
        else
            best = label[at];
        before = at;
    }
    *ret = label[number];
    return true;
}

static bool find_semidominator(struct search *search, uint32_t number)
{
    const struct holder_rows *holders = &search->input->holders;
    const uint32_t node = search->node[number];
    uint32_t semi = search->ancestor[number];
    if (search->input->flags[node] & DOMINATOR_ROOT)
        semi = ROOT;
    for (uint32_t i = holders->first[node]; semi > ROOT && i < holders->first[node + 1]; i++) {
        const uint32_t holder = search->number[holders->nodes[i]];
        uint32_t best;
        if (!counts(search->input, holders->nodes[i], node))
            continue;
        // What is held by garbage goes without it, too.
        if (number <= search->last_reached && holder > search->last_reached)
            continue;
        if (!evaluate(search, holder, number + 1, &best))
            return false;
        if (search->semi[best] < semi)
            semi = search->semi[best];
    }
    search->semi[number] = semi;
    return true;
}

static void find_dominators(struct search *search)
{
    uint32_t *const dominator = search->dominator;
    for (uint32_t number = ROOT + 1; number <= search->last; number++) {
        uint32_t candidate = dominator[number];
        while (candidate > search->semi[number])
            candidate = dominator[candidate];
        dominator[number] = candidate;
    }
}

static enum psc_status search_all(struct search *search, uint32_t *ret_reached)
{
    const struct dominator_input *input = search->input;
    for (uint32_t node = 0; node < input->forward.count; node++)
        if ((input->flags[node] & DOMINATOR_ROOT) && !search->number[node] &&
            !walk_from(search, node))
            return PSC_ERR_MEMORY;
    search->last_reached = search->last;
    *ret_reached = search->last - ROOT;
    // What nothing leads to, such as cycles that were not collected yet.
    for (uint32_t node = 0; node < input->forward.count; node++)
        if (!search->number[node] && !walk_from(search, node))
            return PSC_ERR_MEMORY;
    search->semi[ROOT] = search->label[ROOT] = ROOT;
    for (uint32_t number = search->last; number > ROOT; number--)
        if (!find_semidominator(search, number))
            return PSC_ERR_MEMORY;
    find_dominators(search);
    return PSC_OK;
}

/* What only the search needs goes before the result is made: most memory is taken here. */
static void drop_search(struct search *search)
{
    uint32_t **const arrays[] = {&search->number, &search->ancestor, &search->semi, &search->label};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(arrays); i++) {
        free(*arrays[i]);
        *arrays[i] = NULL;
    }
    free(search->way);
    search->way = NULL;
    free(search->path);
    search->path = NULL;
}

static enum psc_status take_result(struct search *search, struct dominators *ret)
{
    const struct dominator_input *input = search->input;
    const uint32_t count = input->forward.count;
    ret->count = count;
    drop_search(search);
    ret->dominator = malloc(((size_t)count + 1) * sizeof(*ret->dominator));
    ret->retained = calloc((size_t)count + 1, sizeof(*ret->retained));
    if (!ret->dominator || !ret->retained)
        return PSC_ERR_MEMORY;
    for (uint32_t number = ROOT + 1; number <= search->last; number++) {
        const uint32_t node = search->node[number], above = search->dominator[number];
        ret->dominator[node] = above == ROOT ? HOLDERS_NO_NODE : search->node[above];
        ret->retained[node] = input->size(input->context, node);
    }
    // The nodes by their numbers are the order.
    ret->order = search->node;
    search->node = NULL;
    memmove(ret->order, ret->order + ROOT + 1, (size_t)count * sizeof(*ret->order));
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t node = ret->order[i], above = ret->dominator[node];
        if (above != HOLDERS_NO_NODE)
            ret->retained[above] += ret->retained[node];
    }
    return PSC_OK;
}

enum psc_status dominators_create(const struct dominator_input *input, struct dominators *ret)
{
    PSC_CLEANUP(cleanup_search) struct search search;
    *ret = (struct dominators){0};
    enum psc_status status = make_search(&search, input) ? PSC_OK : PSC_ERR_MEMORY;
    if (status == PSC_OK)
        status = search_all(&search, &ret->reached);
    if (status == PSC_OK)
        status = take_result(&search, ret);
    if (status != PSC_OK)
        dominators_deinit(ret);
    return status;
}

void dominators_deinit(struct dominators *dominators)
{
    free(dominators->dominator);
    free(dominators->order);
    free(dominators->retained);
    *dominators = (struct dominators){0};
}
