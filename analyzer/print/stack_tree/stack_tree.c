#include "stack_tree.h"

#include "sink.h"

#include <stdlib.h>
#include <string.h>

struct builder {
    const struct psc_print_options *options;
    struct stack_tree *tree;
    size_t capacity;
    struct hash_table locations; /* Pointers to locations of which no two are alike. */
    struct hash_table children;  /* struct child */
    /* Of one thread, the innermost first. */
    struct step {
        const struct trace_location *location;
        size_t cycle_frames;
        size_t cycle_times;
    } * steps;
    size_t step_count;
    size_t step_capacity;
};

struct child {
    uint64_t parent;
    uint64_t location;
    size_t node;
};

/* ---- places that are alike ---- */

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static const char *module_path(const struct trace_location *location)
{
    return location->module ? text_of(location->module->path) : "";
}

/* What tells native frames without a line apart. */
static uint64_t address_of(const struct trace_location *location)
{
    return !location->line && !location->function && location->has_offset ? location->offset : 0;
}

static uint64_t hash_string(const char *text)
{
    return hash_text(text, strlen(text));
}

static uint64_t hash_location(const struct trace_location *location)
{
    uint64_t numbers = hash_u64((uint64_t)location->kind << 32 | location->line);
    uint64_t names =
        hash_pair(hash_string(text_of(location->function)), hash_string(text_of(location->file)));
    return hash_pair(numbers ^ hash_u64(address_of(location)), names);
}

static bool location_matches(const void *item, const void *key)
{
    const struct trace_location *a = *(const struct trace_location *const *)item, *b = key;
    return a->kind == b->kind && a->line == b->line && address_of(a) == address_of(b) &&
           !strcmp(text_of(a->function), text_of(b->function)) &&
           !strcmp(text_of(a->file), text_of(b->file)) &&
           (a->line || !strcmp(module_path(a), module_path(b)));
}

/* The one that stands for all that are alike; NULL when out of memory. */
static const struct trace_location *intern(struct builder *builder,
                                           const struct trace_location *location)
{
    uint64_t hash = hash_location(location);
    const struct trace_location **found =
        hash_table_find_by(&builder->locations, hash, location_matches, location);
    if (!found && (found = hash_table_add_by(&builder->locations, hash)))
        *found = location;
    return found ? *found : NULL;
}

/* ---- one stack ---- */

static bool add_step(struct builder *builder, const struct trace_location *location)
{
    if (!array_reserve(&builder->steps, &builder->step_capacity, builder->step_count + 1,
                       sizeof(*builder->steps)))
        return false;
    builder->steps[builder->step_count++] = (struct step){.location = location};
    return location;
}

/* The frames that are shown, of a recursion the innermost cycle. */
static bool take_steps(struct builder *builder, const struct trace_thread *thread)
{
    size_t recursion = 0, in_cycle = 0;
    const struct trace_location *last = NULL, *interned = NULL;
    builder->step_count = 0;
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct trace_recursion *one =
            recursion < thread->recursion_count ? &thread->recursions[recursion] : NULL;
        bool inside = one && i >= one->first && i <= one->last;
        if (one && i > one->last) {
            recursion++;
            in_cycle = 0;
        }
        if (!print_shows_frame(builder->options, &thread->frames[i]))
            continue;
        if (inside && in_cycle++ >= one->frames)
            continue;
        if (thread->frames[i].location != last)
            interned = intern(builder, thread->frames[i].location);
        last = thread->frames[i].location;
        if (!add_step(builder, interned))
            return false;
        if (inside && in_cycle == 1) {
            builder->steps[builder->step_count - 1].cycle_frames = one->frames;
            builder->steps[builder->step_count - 1].cycle_times = one->times;
        }
    }
    return true;
}

/* ---- the tree ---- */

static size_t add_node(struct builder *builder, size_t parent,
                       const struct trace_location *location)
{
    struct stack_tree *tree = builder->tree;
    if (!array_reserve(&tree->nodes, &builder->capacity, tree->count + 1, sizeof(*tree->nodes)))
        return STACK_TREE_NONE;
    tree->nodes[tree->count] = (struct stack_node){.location = location,
                                                   .parent = parent,
                                                   .first_child = STACK_TREE_NONE,
                                                   .next = STACK_TREE_NONE,
                                                   .first_end = STACK_TREE_NONE};
    return tree->count++;
}

static size_t find_child(struct builder *builder, size_t parent,
                         const struct trace_location *location)
{
    uint64_t key = (uintptr_t)location;
    const struct child *known = hash_table_find_pair(&builder->children, parent, key);
    if (known)
        return known->node;
    struct child *added = hash_table_add_pair(&builder->children, parent, key);
    size_t node = added ? add_node(builder, parent, location) : STACK_TREE_NONE;
    if (node != STACK_TREE_NONE)
        added->node = node;
    return node;
}

static bool add_thread(struct builder *builder, size_t process, const struct trace_thread *thread)
{
    struct stack_tree *tree = builder->tree;
    bool crashed = thread->state & TRACE_STATE_CRASHED;
    size_t node = 0;
    if (!take_steps(builder, thread))
        return false;
    tree->nodes[0].threads++;
    for (size_t i = builder->step_count; i--;) {
        const struct step *step = &builder->steps[i];
        node = find_child(builder, node, step->location);
        if (node == STACK_TREE_NONE)
            return false;
        struct stack_node *at = &tree->nodes[node];
        at->threads++;
        at->crashed |= crashed;
        if (step->cycle_times > at->cycle_times) {
            at->cycle_frames = step->cycle_frames;
            at->cycle_times = step->cycle_times;
        }
    }
    struct stack_node *last = &tree->nodes[node];
    tree->stacks += !last->ends++;
    tree->ends[tree->end_count] = (struct stack_end){process, thread, STACK_TREE_NONE};
    if (crashed || last->first_end == STACK_TREE_NONE) {
        tree->ends[tree->end_count].next = last->first_end;
        last->first_end = tree->end_count;
    } else {
        tree->ends[tree->end_count].next = tree->ends[last->first_end].next;
        tree->ends[last->first_end].next = tree->end_count;
    }
    tree->end_count++;
    return true;
}

/* Pushing behind the first has turned the others around. */
static void order_ends(struct stack_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct stack_node *node = &tree->nodes[i];
        size_t at = node->ends ? tree->ends[node->first_end].next : STACK_TREE_NONE;
        size_t turned = STACK_TREE_NONE;
        while (at != STACK_TREE_NONE) {
            size_t next = tree->ends[at].next;
            tree->ends[at].next = turned;
            turned = at;
            at = next;
        }
        if (node->ends)
            tree->ends[node->first_end].next = turned;
    }
}

/* ---- odd ones first ---- */

static int compare_nodes(const void *left, const void *right)
{
    const struct stack_node *a = *(const struct stack_node *const *)left;
    const struct stack_node *b = *(const struct stack_node *const *)right;
    if (a->parent != b->parent)
        return COMPARE(a->parent, b->parent);
    if (a->crashed != b->crashed)
        return a->crashed ? -1 : 1;
    return a->threads != b->threads ? COMPARE(a->threads, b->threads) : COMPARE(a, b);
}

static bool order_children(struct stack_tree *tree)
{
    PSC_CLEANUP(cleanup_free) struct stack_node **order = calloc(tree->count, sizeof(*order));
    if (!order)
        return false;
    for (size_t i = 1; i < tree->count; i++)
        order[i - 1] = &tree->nodes[i];
    qsort(order, tree->count - 1, sizeof(struct stack_node *), compare_nodes);
    for (size_t i = tree->count - 1; i--;) {
        struct stack_node *parent = &tree->nodes[order[i]->parent];
        order[i]->next = parent->first_child;
        parent->first_child = (size_t)(order[i] - tree->nodes);
    }
    return true;
}

static bool build(struct builder *builder, const struct psc_trace *const *traces, size_t count)
{
    struct stack_tree *tree = builder->tree;
    size_t threads = 0;
    for (size_t i = 0; i < count; i++)
        threads += traces[i]->thread_count;
    tree->ends = calloc(threads ? threads : 1, sizeof(*tree->ends));
    bool good = tree->ends && add_node(builder, STACK_TREE_NONE, NULL) == 0;
    for (size_t i = 0; good && i < count; i++)
        for (size_t j = 0; good && j < traces[i]->thread_count; j++)
            good = add_thread(builder, i, &traces[i]->threads[j]);
    if (good)
        order_ends(tree);
    return good && order_children(tree);
}

struct stack_tree *stack_tree_create(const struct psc_trace *const *traces, size_t count,
                                     const struct psc_print_options *options)
{
    struct stack_tree *tree = calloc(1, sizeof(*tree));
    struct builder builder = {.options = options,
                              .tree = tree,
                              .locations = HASH_TABLE_OF(const struct trace_location *),
                              .children = HASH_TABLE_OF(struct child)};
    if (tree && !build(&builder, traces, count)) {
        stack_tree_destroy(tree);
        tree = NULL;
    }
    hash_table_deinit(&builder.locations);
    hash_table_deinit(&builder.children);
    free(builder.steps);
    return tree;
}

void stack_tree_destroy(struct stack_tree *tree)
{
    if (!tree)
        return;
    free(tree->nodes);
    free(tree->ends);
    free(tree);
}

/* ---- the way through ---- */

size_t stack_tree_skip(const struct stack_tree *tree, size_t node)
{
    while (node && tree->nodes[node].next == STACK_TREE_NONE)
        node = tree->nodes[node].parent;
    return node ? tree->nodes[node].next : STACK_TREE_NONE;
}

size_t stack_tree_next(const struct stack_tree *tree, size_t node)
{
    size_t child = tree->nodes[node].first_child;
    return child == STACK_TREE_NONE ? stack_tree_skip(tree, node) : child;
}

bool stack_tree_has_rank(const struct psc_trace *const *traces, size_t count, size_t process)
{
    const struct trace_running *own = traces[process]->running;
    for (size_t i = 0; own && own->rank_by && i < count; i++)
        if (i != process && traces[i]->running && traces[i]->running->rank_by &&
            traces[i]->running->rank == own->rank)
            return false;
    return own && own->rank_by;
}
