/* Findings as they are made: one of each place, with what is around it. */
#include "verify_private.h"

#include <stdlib.h>
#include <string.h>

const char *finding_kind_name(enum finding_kind kind)
{
    switch (kind) {
    case FINDING_REFCOUNT:
        return "refcount-too-low";
    case FINDING_DANGLING:
        return "dangling";
    case FINDING_OVERWRITTEN:
        return "overwritten";
    case FINDING_COLLECTOR:
        return "collector-list";
    case FINDING_FREE_BLOCK:
        return "free-block";
    case FINDING_TABLE:
        return "table";
    case FINDING_GUARD:
        return "guard";
    case FINDING_CHUNK:
        break;
    }
    return "chunk";
}

void verify_deinit(struct findings *findings)
{
    free(findings->items);
    *findings = (struct findings){0};
}

/* ---- what is around ---- */

static void take_around(struct heap *heap, struct finding *finding)
{
    // A bit before it, where the block before ends; what cannot be read is cut off.
    const psc_addr wanted[] = {finding->address - 32, finding->address};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(wanted) && !finding->around_size; i++)
        for (size_t size = FINDING_AROUND; size >= 16 && !finding->around_size; size /= 2) {
            const uint8_t *bytes = heap_bytes(heap, wanted[i] & ~(psc_addr)7, size);
            if (!bytes)
                continue;
            memcpy(finding->around, bytes, size);
            finding->around_start = wanted[i] & ~(psc_addr)7;
            finding->around_size = size;
        }
}

/* The object, or the owner, of the block that ends where this one begins. */
static uint32_t find_before(struct heap *heap, psc_addr address)
{
    const uint32_t count = heap->block_count;
    uint32_t at = (uint32_t)SORTED_BELOW(heap->blocks, address, count, address);
    uint32_t around = heap_find_block_around(heap, address);
    if (around != HEAP_NONE)
        at = around;
    if (!at || !count)
        return HEAP_NONE;
    const struct heap_block *before = &heap->blocks[at - 1];
    const psc_addr end = before->address + heap_block_bytes(before);
    const psc_addr start = around != HEAP_NONE ? heap->blocks[around].address : address;
    return end <= start && start - end <= 16 ? before->owner : HEAP_NONE;
}

void verify_add_object(struct heap *heap, uint32_t object, struct text *text)
{
    if (object == HEAP_NONE)
        text_add_string(text, "memory of no object");
    else
        text_printf(text, "%s at 0x%llx", heap->types[heap->objects[object].type].name,
                    (unsigned long long)heap->objects[object].address);
}

/* ---- findings ---- */

struct finding *verify_add(struct verification *all, enum finding_kind kind, psc_addr address)
{
    struct findings *findings = all->findings;
    struct finding_place *place = hash_table_find(&all->places, address);
    if (place)
        return &findings->items[place->index];
    if (findings->count >= FINDING_LIMIT) {
        findings->left_out++;
        return NULL;
    }
    place = hash_table_add(&all->places, address);
    if (!place || !array_reserve(&findings->items, &findings->capacity, findings->count + 1,
                                 sizeof(*findings->items))) {
        all->failed = true;
        return NULL;
    }
    place->index = findings->count;
    struct finding *finding = &findings->items[findings->count++];
    *finding = (struct finding){.kind = kind, .address = address, .object = HEAP_NONE};
    finding->before = find_before(all->heap, address);
    take_around(all->heap, finding);
    return finding;
}

void verify_add_holder(struct finding *finding, uint32_t object)
{
    if (!finding || object == HEAP_NONE)
        return;
    for (size_t i = 0; i < finding->holder_count && i < FINDING_HOLDERS; i++)
        if (finding->holders[i] == object)
            return;
    if (finding->holder_count < FINDING_HOLDERS)
        finding->holders[finding->holder_count] = object;
    finding->holder_count++;
}

void verify_set_message(struct verification *all, struct finding *finding, struct text *text)
{
    finding->message = text->failed || !text->data
                           ? NULL
                           : arena_strndup(all->heap->arena, text->data, text->size);
    if (!finding->message)
        all->failed = true;
    text_deinit(text);
}
