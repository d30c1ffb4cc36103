/* What has grown between two looks at one process: by type, and by who holds what is new. */
#include "growth.h"

#include "holders.h"

#include <stdlib.h>
#include <string.h>

void growth_deinit(struct growth *growth)
{
    free(growth->types);
    free(growth->holders);
    *growth = (struct growth){0};
}

struct comparison {
    const struct heap *old;
    const struct heap *now;
    const struct holders *holders;
    struct growth *growth;
    uint32_t *old_types; /* Of each type of the old one its number here, or HEAP_NONE. */
    uint8_t *is_new;     /* Of each object of the new one. */
    uint64_t *grown;     /* Of each that was there before: bytes that it owns more. */
    uint64_t *retained;  /* Of each type of the new one, see struct type_growth. */
};

/* ---- by type ---- */

struct type_name {
    const char *name;
    uint32_t index;
};

static uint64_t hash_name(const char *name)
{
    return hash_text(name, strlen(name));
}

static bool is_name(const void *item, const void *key)
{
    return !strcmp(((const struct type_name *)item)->name, key);
}

static struct type_growth *add_type(struct hash_table *names, struct growth *growth,
                                    const char *name)
{
    const uint64_t hash = hash_name(name);
    struct type_name *found = hash_table_find_by(names, hash, is_name, name);
    if (found)
        return &growth->types[found->index];
    if (!array_reserve(&growth->types, &growth->type_capacity, growth->type_count + 1,
                       sizeof(*growth->types)))
        return NULL;
    found = hash_table_add_by(names, hash);
    if (!found)
        return NULL;
    *found = (struct type_name){name, (uint32_t)growth->type_count};
    growth->types[growth->type_count] = (struct type_growth){.name = name};
    return &growth->types[growth->type_count++];
}

static int compare_types(const void *left, const void *right)
{
    const struct type_growth *one = left, *other = right;
    const int64_t one_size = one->occupied + one->owned;
    const int64_t other_size = other->occupied + other->owned;
    int order = COMPARE(other->retained, one->retained);
    order = order ? order : COMPARE(other_size, one_size);
    return order ? order : COMPARE(other->objects, one->objects);
}

static enum psc_status compare_by_type(struct comparison *all)
{
    PSC_CLEANUP(hash_table_deinit) struct hash_table names = HASH_TABLE_OF(struct type_name);
    for (uint32_t i = 0; i < all->now->type_count; i++) {
        const struct heap_type *type = &all->now->types[i];
        struct type_growth *growth = add_type(&names, all->growth, type->name);
        if (!growth)
            return PSC_ERR_MEMORY;
        growth->objects += (int64_t)type->count;
        // Damaged ones may come to more than there are numbers for.
        growth->bytes = (int64_t)((uint64_t)growth->bytes + type->bytes);
        growth->owned += (int64_t)type->owned;
        growth->occupied = (int64_t)((uint64_t)growth->occupied + type->occupied);
        growth->retained += all->retained[i];
    }
    for (uint32_t i = 0; i < all->old->type_count; i++) {
        const struct heap_type *type = &all->old->types[i];
        struct type_growth *growth = add_type(&names, all->growth, type->name);
        if (!growth)
            return PSC_ERR_MEMORY;
        growth->objects -= (int64_t)type->count;
        growth->bytes = (int64_t)((uint64_t)growth->bytes - type->bytes);
        growth->owned -= (int64_t)type->owned;
        growth->occupied = (int64_t)((uint64_t)growth->occupied - type->occupied);
    }
    if (all->growth->type_count)
        qsort(all->growth->types, all->growth->type_count, sizeof(*all->growth->types),
              compare_types);
    return PSC_OK;
}

/* ---- what is new ---- */

static enum psc_status match_types(struct comparison *all)
{
    PSC_CLEANUP(hash_table_deinit) struct hash_table names = HASH_TABLE_OF(struct type_name);
    all->old_types = malloc(((size_t)all->old->type_count + 1) * sizeof(*all->old_types));
    if (!all->old_types)
        return PSC_ERR_MEMORY;
    for (uint32_t i = 0; i < all->now->type_count; i++) {
        struct type_name *name = hash_table_add_by(&names, hash_name(all->now->types[i].name));
        if (!name)
            return PSC_ERR_MEMORY;
        *name = (struct type_name){all->now->types[i].name, i};
    }
    for (uint32_t i = 0; i < all->old->type_count; i++) {
        const char *name = all->old->types[i].name;
        const uint32_t here = heap_find_type((struct heap *)all->now, all->old->types[i].address);
        const struct type_name *found = hash_table_find_by(&names, hash_name(name), is_name, name);
        all->old_types[i] = here != HEAP_NONE && !strcmp(all->now->types[here].name, name) ? here
                            : found ? found->index
                                    : HEAP_NONE;
    }
    return PSC_OK;
}

/* Objects do not move: one of the same type at the same address is the same, or as good as it. */
static void find_new(struct comparison *all)
{
    uint32_t old = 0;
    for (uint32_t i = 0; i < all->now->in_blocks; i++) {
        const struct heap_object *object = &all->now->objects[i];
        while (old < all->old->in_blocks && all->old->objects[old].address < object->address)
            old++;
        const struct heap_object *before = &all->old->objects[old];
        const bool same = old < all->old->in_blocks && before->address == object->address &&
                          all->old_types[before->type] == object->type;
        all->is_new[i] = !same;
        all->growth->new_objects += !same;
        all->growth->same_objects += same;
        if (same && heap_owned_bytes(object) > heap_owned_bytes(before))
            all->grown[i] = heap_owned_bytes(object) - heap_owned_bytes(before);
    }
}

/* ---- by holder ---- */

struct child {
    uint64_t node; /* The keys: its holder, */
    uint64_t type;
    uint64_t objects;
    uint64_t bytes;
};

static int compare_holders(const void *left, const void *right)
{
    const struct holder_growth *one = left, *other = right;
    const int order = COMPARE(other->bytes, one->bytes);
    return order ? order : COMPARE(other->objects, one->objects);
}

/* Of a new object: what was there before and is the nearest above, and the outermost new one. */
struct anchors {
    uint32_t *before;
    uint32_t *outermost;
};

static uint32_t no_node(const struct holders *holders, size_t place, uint32_t node)
{
    if (place >= holders->tree.reached)
        return GROWTH_GARBAGE;
    return holders->flags[node] & DOMINATOR_ROOT ? GROWTH_BY_CODE : GROWTH_BY_SEVERAL;
}

/* @param place  of the node in the order of the tree. */
static void set_anchor(const struct comparison *all, struct anchors *anchors, size_t place,
                       uint32_t node)
{
    const struct holders *holders = all->holders;
    const uint32_t above = holders->tree.dominator[node];
    anchors->outermost[node] = node;
    anchors->before[node] = above == HOLDERS_NO_NODE ? no_node(holders, place, node) : above;
    if (above != HOLDERS_NO_NODE && holders_is_object(holders, above) && all->is_new[above]) {
        anchors->before[node] = anchors->before[above];
        anchors->outermost[node] = anchors->outermost[above];
    }
}

static struct holder_growth *add_holder(struct comparison *all, struct hash_table *indices,
                                        uint32_t node)
{
    struct growth *growth = all->growth;
    struct child *found = hash_table_find_pair(indices, node, 0);
    if (found)
        return &growth->holders[found->objects];
    found = hash_table_add_pair(indices, node, 0);
    if (!found || !array_reserve(&growth->holders, &growth->holder_capacity,
                                 growth->holder_count + 1, sizeof(*growth->holders)))
        return NULL;
    found->objects = growth->holder_count;
    growth->holders[growth->holder_count] = (struct holder_growth){.node = node, .type = HEAP_NONE};
    return &growth->holders[growth->holder_count++];
}

/* What it holds directly, by type: the one with which most would go. */
static bool take_child(struct hash_table *children, struct holder_growth *growth, uint32_t type,
                       bool is_outermost, uint64_t bytes)
{
    struct child *child = hash_table_find_pair(children, growth->node, type);
    if (!child)
        child = hash_table_add_pair(children, growth->node, type);
    if (!child)
        return false;
    child->objects += is_outermost;
    child->bytes += bytes;
    if (child->bytes > growth->direct_bytes || growth->type == type) {
        growth->type = type;
        growth->direct = child->objects;
        growth->direct_bytes = child->bytes;
    }
    return true;
}

static enum psc_status sum_by_holder(struct comparison *all, struct anchors *anchors)
{
    const struct holders *holders = all->holders;
    PSC_CLEANUP(hash_table_deinit) struct hash_table indices = HASH_TABLE_OF(struct child);
    PSC_CLEANUP(hash_table_deinit) struct hash_table children = HASH_TABLE_OF(struct child);
    for (uint32_t i = 0; i < holders->tree.count; i++) {
        const uint32_t node = holders->tree.order[i];
        if (!holders_is_object(holders, node))
            continue;
        uint64_t bytes = all->grown[node];
        if (all->is_new[node]) {
            set_anchor(all, anchors, i, node);
            bytes =
                heap_object_bytes(holders->heap, node) + heap_owned_bytes(&all->now->objects[node]);
            all->retained[all->now->objects[anchors->outermost[node]].type] += bytes;
        }
        const uint32_t anchor = all->is_new[node] ? anchors->before[node] : node;
        if (!bytes && !all->is_new[node])
            continue;
        struct holder_growth *growth = add_holder(all, &indices, anchor);
        if (!growth)
            return PSC_ERR_MEMORY;
        growth->bytes += bytes;
        growth->objects += all->is_new[node];
        const uint32_t outermost = all->is_new[node] ? anchors->outermost[node] : node;
        if (all->is_new[node] && !take_child(&children, growth, all->now->objects[outermost].type,
                                             outermost == node, bytes))
            return PSC_ERR_MEMORY;
    }
    if (all->growth->holder_count)
        qsort(all->growth->holders, all->growth->holder_count, sizeof(*all->growth->holders),
              compare_holders);
    return PSC_OK;
}

enum psc_status growth_find(const struct heap *old, struct holders *holders, struct growth *ret)
{
    struct comparison all = {.old = old, .now = holders->heap, .holders = holders, .growth = ret};
    const size_t count = (size_t)all.now->object_count + 1;
    *ret = (struct growth){0};
    enum psc_status status = match_types(&all);
    all.is_new = calloc(count, sizeof(*all.is_new));
    all.grown = calloc(count, sizeof(*all.grown));
    all.retained = calloc((size_t)all.now->type_count + 1, sizeof(*all.retained));
    struct anchors anchors = {.before = malloc(count * sizeof(*anchors.before)),
                              .outermost = malloc(count * sizeof(*anchors.outermost))};
    if (!all.is_new || !all.grown || !all.retained || !anchors.before || !anchors.outermost)
        status = PSC_ERR_MEMORY;
    if (status == PSC_OK)
        find_new(&all);
    ret->related = ret->same_objects >= all.old->in_blocks / 4;
    if (status == PSC_OK && ret->related)
        status = sum_by_holder(&all, &anchors);
    if (status == PSC_OK)
        status = compare_by_type(&all);
    free(all.old_types);
    free(all.is_new);
    free(all.grown);
    free(all.retained);
    free(anchors.before);
    free(anchors.outermost);
    if (status != PSC_OK)
        growth_deinit(ret);
    return status;
}
