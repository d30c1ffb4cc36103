/* All stacks as one tree of functions at lines. */
#include "samples.h"

#include <stdlib.h>

/* The child of a node with a label. */
struct call_child {
    uint64_t parent;
    uint64_t label;
    uint32_t node;
};

/* Where the stacks of a thread (or of all) lie. */
struct known_stack {
    uint64_t group; /* Of the threads whose stacks are put together. */
    uint64_t stack;
    uint32_t node;
};

/* A stack's frames that have no node yet, innermost first. */
struct pending {
    uint32_t *stacks;
    size_t count, capacity;
};

static uint64_t group_of(const struct profile *profile, uint32_t thread)
{
    if (profile->splits_threads)
        return thread;
    return profile->several_processes ? profile->threads[thread].process : 0;
}

/* 0: out of memory. */
static uint32_t find_or_add_child(struct call_tree *tree, uint32_t parent, uint64_t function,
                                  uint64_t number)
{
    struct call_label *label = hash_table_find_pair(&tree->labels, function, number);
    if (!label)
        label = hash_table_add_pair(&tree->labels, function, number);
    if (!label)
        return 0;
    uint32_t index = (uint32_t)(label - (struct call_label *)tree->labels.items);
    struct call_child *child = hash_table_find_pair(&tree->children, parent, index);
    if (child)
        return child->node;
    child = hash_table_add_pair(&tree->children, parent, index);
    if (!child || tree->count >= UINT32_MAX ||
        !array_reserve(&tree->nodes, &tree->capacity, tree->count + 1, sizeof(*tree->nodes)))
        return 0;
    child->node = (uint32_t)tree->count;
    tree->nodes[tree->count++] = (struct call_node){.parent = parent, .label = index};
    return child->node;
}

/* What is shown outside of a thread's frames; SIZE_MAX: out of memory. */
static size_t find_or_add_outside(struct call_tree *tree, uint32_t thread)
{
    const struct profile *profile = tree->profile;
    uint32_t node = 0;
    if (profile->several_processes)
        node = find_or_add_child(tree, 0, CALL_PROCESS, profile->threads[thread].process);
    if (profile->several_processes && !node)
        return SIZE_MAX;
    if (!profile->splits_threads)
        return node;
    node = find_or_add_child(tree, node, CALL_THREAD, thread);
    return node ? node : SIZE_MAX;
}

/* 0: out of memory. */
static uint32_t find_or_add_stack(struct call_tree *tree, struct pending *pending, uint32_t thread,
                                  uint32_t stack)
{
    const struct profile *profile = tree->profile;
    const uint64_t group = group_of(profile, thread);
    const struct known_stack *known = NULL;
    pending->count = 0;
    uint32_t at = stack;
    for (; at && !(known = hash_table_find_pair(&tree->known, group, at));
         at = profile->stacks[at].parent) {
        if (!array_reserve(&pending->stacks, &pending->capacity, pending->count + 1,
                           sizeof(*pending->stacks)))
            return 0;
        pending->stacks[pending->count++] = at;
    }
    size_t outside = known ? known->node : find_or_add_outside(tree, thread);
    if (outside == SIZE_MAX)
        return 0;
    uint32_t node = (uint32_t)outside;
    while (pending->count) {
        at = pending->stacks[--pending->count];
        const struct profile_frame *frame = &profile->frames[profile->stacks[at].frame];
        node = find_or_add_child(tree, node, frame->function, frame->line);
        struct known_stack *added = node ? hash_table_add_pair(&tree->known, group, at) : NULL;
        if (!added)
            return 0;
        added->node = node;
    }
    return node;
}

static enum psc_status add_stacks(struct call_tree *tree, const struct hash_table *weights)
{
    struct pending pending = {0};
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < weights->count && status == PSC_OK; i++) {
        const struct stack_weight *one = hash_table_at(weights, i);
        uint32_t node =
            find_or_add_stack(tree, &pending, (uint32_t)one->thread, (uint32_t)one->stack);
        if (node)
            tree->nodes[node].own += stack_weight_measure(tree->profile, one);
        else
            status = PSC_ERR_MEMORY;
    }
    free(pending.stacks);
    return status;
}

enum psc_status call_tree_read(const struct profile *profile, struct call_tree *ret,
                               struct psc_error *err)
{
    struct hash_table weights;
    *ret = (struct call_tree){.profile = profile,
                              .labels = HASH_TABLE_OF(struct call_label),
                              .children = HASH_TABLE_OF(struct call_child),
                              .known = HASH_TABLE_OF(struct known_stack)};
    enum psc_status status = stack_weights_read(profile, &weights, err);
    if (status == PSC_OK && !array_reserve(&ret->nodes, &ret->capacity, 1, sizeof(*ret->nodes)))
        status = psc_fail_memory(err);
    if (status == PSC_OK) {
        ret->nodes[ret->count++] = (struct call_node){0};
        status = psc_fail_status(err, add_stacks(ret, &weights));
    }
    hash_table_deinit(&weights);
    for (size_t i = ret->count; i-- > 0;) {
        ret->nodes[i].total += ret->nodes[i].own;
        if (i)
            ret->nodes[ret->nodes[i].parent].total += ret->nodes[i].total;
    }
    return status;
}

void call_tree_deinit(struct call_tree *tree)
{
    free(tree->nodes);
    hash_table_deinit(&tree->labels);
    hash_table_deinit(&tree->children);
    hash_table_deinit(&tree->known);
}

uint32_t call_tree_find(const struct call_tree *tree, uint32_t thread, uint32_t stack)
{
    const struct known_stack *known =
        hash_table_find_pair(&tree->known, group_of(tree->profile, thread), stack);
    return known ? known->node : 0;
}
