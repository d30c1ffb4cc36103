/* The words of objects that are references, and blocks that objects keep. */
#include "references.h"

/* Addresses below this are none. */
#define ADDRESS_LEAST 4096u
#define OBJECT_HEADER 16u

bool heap_spend(struct heap_walk *walk, uint64_t words)
{
    struct heap *heap = walk->heap;
    if (words > heap->words_left) {
        heap->words_left = 0;
        heap->cut = true;
        walk->stopped = true;
        return false;
    }
    heap->words_left -= words;
    return true;
}

static void visit(struct heap_walk *walk, uint32_t target, const struct heap_reference *what)
{
    if (!walk->stopped && !walk->visit(walk, target, what))
        walk->stopped = true;
}

void heap_may_refer(struct heap_walk *walk, psc_addr word, const struct heap_reference *what)
{
    if (word < ADDRESS_LEAST || word & 7 || !heap_spend(walk, 1))
        return;
    uint32_t target = heap_object_reached(walk->heap, word);
    if (target != HEAP_NONE)
        visit(walk, target, what);
}

void heap_refer(struct heap_walk *walk, psc_addr word, const struct heap_reference *what)
{
    if (!heap_spend(walk, 1))
        return;
    uint32_t target = word < ADDRESS_LEAST ? HEAP_NONE : heap_object_reached(walk->heap, word);
    if (target != HEAP_NONE)
        visit(walk, target, what);
    else if (word && walk->dangling)
        walk->dangling(walk, word);
}

void heap_scan(struct heap_walk *walk, uint64_t from, uint64_t to, uint64_t skipped)
{
    const struct heap_type_facts *facts = walk->facts;
    const uint8_t *bytes = from < to ? heap_at(walk->heap, walk->address + from, to - from) : NULL;
    for (uint64_t at = from; bytes && at + 8 <= to && !walk->stopped; at += 8) {
        const bool certain = at < OBJECT_HEADER + UINT64_C(8) * facts->leading ||
                             (at >= facts->slots_from && at < facts->basic_size);
        if (at != skipped)
            (certain ? heap_refer : heap_may_refer)(
                walk, load_u64(bytes + (at - from)),
                &(struct heap_reference){.kind = HEAP_EDGE_WORD, .number = at});
    }
}

/* False: no block begins there. */
static bool own(struct heap_walk *walk, psc_addr address)
{
    struct heap *heap = walk->heap;
    for (uint32_t hooks = 0; hooks <= 2 * heap->hook_size; hooks += 16) {
        uint32_t block = heap_block_at(heap, address - hooks);
        if (block == HEAP_NONE)
            continue;
        enum heap_use use = heap_block_use(heap, block);
        if (use != HEAP_UNOWNED && use != HEAP_DEAD)
            return true;
        heap_block_set_use(heap, block, HEAP_BUFFER, walk->object);
        walk->owned += heap_block_bytes(&heap->blocks[block]);
        return true;
    }
    return false;
}

void heap_own(struct heap_walk *walk, psc_addr address)
{
    if (walk->owns && address >= ADDRESS_LEAST)
        (void)own(walk, address);
}

void heap_own_table(struct heap_walk *walk, uint64_t offset)
{
    const psc_addr table = heap_u64(walk->heap, walk->address + offset);
    if (walk->owns && table && (table < ADDRESS_LEAST || !own(walk, table)) && walk->lost)
        walk->lost(walk, offset, table);
}

void heap_own_scanned(struct heap_walk *walk, uint64_t from, uint64_t to)
{
    if (!walk->owns)
        return;
    const uint8_t *bytes = from < to ? heap_at(walk->heap, walk->address + from, to - from) : NULL;
    for (uint64_t at = from; bytes && at + 8 <= to; at += 8) {
        psc_addr word = load_u64(bytes + (at - from));
        if (!(word & 15))
            heap_own(walk, word);
    }
}
