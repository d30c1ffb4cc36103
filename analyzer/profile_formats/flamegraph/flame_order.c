/* Which nodes of a tree a page has, and in which order. */
#include "flamegraph_private.h"
#include "printer.h"

#include <stdlib.h>

const char *flame_label_name(const struct profile *profile, const struct call_label *label,
                             struct text *made)
{
    if (label->function != CALL_THREAD && label->function != CALL_PROCESS)
        return profile_string(profile, profile->functions[label->function].name);
    text_clear(made);
    if (label->function == CALL_THREAD)
        thread_label(profile, (uint32_t)label->number, made);
    else
        process_label(profile, (uint32_t)label->number, made);
    return made->data ? made->data : "";
}

/* ---- labels by name ---- */

struct named_label {
    const struct profile *profile;
    const struct call_label *label;
    uint32_t index;
};

static const char *name_of(const struct named_label *one)
{
    // Threads and processes stand in the order of their numbers, before functions.
    return one->label->function >= CALL_PROCESS
               ? ""
               : profile_string(one->profile, one->profile->functions[one->label->function].name);
}

static int compare_labels(const void *one, const void *other)
{
    const struct named_label *a = one, *b = other;
    int order = strcmp(name_of(a), name_of(b));
    if (order)
        return order;
    if (a->label->function != b->label->function)
        return a->label->function < b->label->function ? -1 : 1;
    return a->label->number < b->label->number ? -1 : a->label->number > b->label->number;
}

/* By label: its place among all. NULL: out of memory. */
static uint32_t *rank_labels(const struct call_tree *tree)
{
    size_t count = tree->labels.count;
    struct named_label *named = calloc(count ? count : 1, sizeof(*named));
    uint32_t *ranks = calloc(count ? count : 1, sizeof(*ranks));
    if (named && ranks) {
        for (size_t i = 0; i < count; i++)
            named[i] =
                (struct named_label){tree->profile, hash_table_at(&tree->labels, i), (uint32_t)i};
        qsort(named, count, sizeof(*named), compare_labels);
        for (size_t i = 0; i < count; i++)
            ranks[named[i].index] = (uint32_t)i;
    } else {
        free(ranks);
        ranks = NULL;
    }
    free(named);
    return ranks;
}

/* ---- which are left out ---- */

static int compare_totals(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a > b ? -1 : a < b;
}

/* The smallest total of a node that is kept. A parent's is never smaller than its child's. */
static bool find_least(const struct call_tree *tree, size_t limit, uint64_t *ret)
{
    *ret = 0;
    if (tree->count <= limit)
        return true;
    uint64_t *totals = calloc(tree->count, sizeof(*totals));
    if (!totals)
        return false;
    for (size_t i = 0; i < tree->count; i++)
        totals[i] = tree->nodes[i].total;
    qsort(totals, tree->count, sizeof(*totals), compare_totals);
    *ret = totals[limit] + 1;
    free(totals);
    return true;
}

/* ---- the walk ---- */

struct child {
    uint32_t parent, rank, node;
};

static int compare_children(const void *one, const void *other)
{
    const struct child *a = one, *b = other;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/** What walk_children() works with; each as long as the tree. */
struct walk {
    struct child *children; /**< Kept ones, sorted. */
    size_t child_count;
    uint32_t *first; /**< By node: its first child; FLAME_NONE. */
    uint32_t *open;  /**< Of the path to where it stands: the next child to be taken. */
};

static void walk_children(const struct walk *walk, struct flame_order *order)
{
    size_t depth = 0;
    order->nodes[order->count++] = 0;
    order->number[0] = 0;
    walk->open[depth++] = walk->first[0];
    while (depth) {
        uint32_t at = walk->open[depth - 1];
        if (at == FLAME_NONE) {
            depth--;
            continue;
        }
        const struct child *child = &walk->children[at];
        bool last = at + 1 >= walk->child_count || child[1].parent != child->parent;
        walk->open[depth - 1] = last ? FLAME_NONE : at + 1;
        order->number[child->node] = (uint32_t)order->count;
        order->nodes[order->count++] = child->node;
        walk->open[depth++] = walk->first[child->node];
    }
}

static void sort_children(const struct call_tree *tree, const uint32_t *ranks, uint64_t least,
                          struct walk *walk)
{
    for (size_t i = 1; i < tree->count; i++)
        if (tree->nodes[i].total >= least)
            walk->children[walk->child_count++] =
                (struct child){tree->nodes[i].parent, ranks[tree->nodes[i].label], (uint32_t)i};
    if (walk->child_count)
        qsort(walk->children, walk->child_count, sizeof(*walk->children), compare_children);
    for (size_t i = walk->child_count; i-- > 0;)
        walk->first[walk->children[i].parent] = (uint32_t)i;
}

bool flame_order_make(const struct call_tree *tree, size_t limit, struct flame_order *ret)
{
    size_t count = tree->count;
    *ret = (struct flame_order){.nodes = calloc(count, sizeof(*ret->nodes)),
                                .number = calloc(count, sizeof(*ret->number))};
    uint32_t *ranks = rank_labels(tree);
    struct walk walk = {.children = calloc(count, sizeof(*walk.children)),
                        .first = calloc(count, sizeof(*walk.first)),
                        .open = calloc(count + 1, sizeof(*walk.open))};
    bool good = ret->nodes && ret->number && ranks && walk.children && walk.first && walk.open &&
                find_least(tree, limit, &ret->least);
    if (good) {
        memset(ret->number, 0xff, count * sizeof(*ret->number));
        memset(walk.first, 0xff, count * sizeof(*walk.first));
        sort_children(tree, ranks, ret->least, &walk);
        walk_children(&walk, ret);
    }
    free(ranks);
    free(walk.children);
    free(walk.first);
    free(walk.open);
    return good;
}

void flame_order_deinit(struct flame_order *order)
{
    free(order->nodes);
    free(order->number);
}
