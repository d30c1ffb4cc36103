/* What suspended frames hold: those of generators, and frame objects. */
#include "references.h"

#define SLOT_MOST 65536u

static uint64_t word_of(struct heap_walk *walk, uint64_t offset)
{
    return heap_u64(walk->heap, walk->address + offset);
}

/* The values of an _PyInterpreterFrame (3.11+) that lies at the end of the object. */
static uint64_t slot_count(struct heap_walk *walk, psc_addr frame)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    psc_addr slots = frame + layout->inner_slots;
    if (layout->inner_slot_count != PYTHON_HEAP_NONE) {
        int32_t count = (int32_t)heap_u32(walk->heap, frame + layout->inner_slot_count);
        return count > 0 ? (uint64_t)count : 0;
    }
    psc_addr end = heap_u64(walk->heap, frame + layout->inner_stack_end);
    return end > slots ? (end - slots) / 8 : 0;
}

static void walk_inner(struct heap_walk *walk, psc_addr frame)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    const uint64_t tags = layout->slot_tags;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(layout->inner_owned); i++)
        heap_may_refer(
            walk, heap_u64(walk->heap, frame + layout->inner_owned[i]) & ~tags,
            &(struct heap_reference){.kind = HEAP_EDGE_WORD,
                                     .number = frame + layout->inner_owned[i] - walk->address});
    uint64_t count = slot_count(walk, frame);
    for (uint64_t i = 0; i < count && i < SLOT_MOST && !walk->stopped; i++) {
        psc_addr slot = frame + layout->inner_slots + 8 * i;
        heap_may_refer(
            walk, heap_u64(walk->heap, slot) & ~tags,
            &(struct heap_reference){.kind = HEAP_EDGE_WORD, .number = slot - walk->address});
    }
}

void heap_walk_generator(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    const uint64_t basic = walk->facts->basic_size;
    const uint64_t weaklist = walk->facts->weaklist;
    if (layout->inner_slots == PYTHON_HEAP_NONE || basic < layout->inner_slots) {
        heap_scan(walk, 16, basic, weaklist);
        return;
    }
    // The type's size ends where the slots begin.
    uint64_t frame = basic - layout->inner_slots;
    heap_scan(walk, 16, frame, weaklist);
    walk_inner(walk, walk->address + frame);
}

/* Up to 3.10. A frame that is run has not noted how many values are on its stack: none is certain.
 */
static uint64_t end_of_values(struct heap_walk *walk, uint64_t bytes)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    psc_addr end = word_of(walk, layout->frame_values);
    if (layout->frame_stack_end != PYTHON_HEAP_NONE) {
        const psc_addr top = word_of(walk, layout->frame_stack_end);
        end = top ? top : end;
    } else if (layout->frame_depth != PYTHON_HEAP_NONE) {
        const int32_t depth = (int32_t)heap_u32(walk->heap, walk->address + layout->frame_depth);
        end += depth > 0 ? 8 * (uint64_t)depth : 0;
    }
    return end >= walk->address && end - walk->address <= bytes ? end - walk->address : bytes;
}

void heap_walk_frame(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    const uint64_t basic = walk->facts->basic_size;
    uint32_t block = walk->heap->objects[walk->object].block;
    uint64_t bytes = basic;
    if (block != HEAP_NONE) {
        const struct heap_block *found = &walk->heap->blocks[block];
        bytes = heap_block_bytes(found) - (walk->address - found->address);
    }
    if (layout->frame_inner != PYTHON_HEAP_NONE) {
        psc_addr frame = word_of(walk, layout->frame_inner);
        heap_scan(walk, 16, layout->frame_inner, 0);
        if (frame > walk->address && frame - walk->address < basic)
            walk_inner(walk, frame);
        else
            heap_scan(walk, layout->frame_inner + UINT64_C(8), layout->frame_size, 0);
        return;
    }
    heap_scan(walk, 16, layout->frame_blocks, layout->frame_skip);
    heap_scan(walk, layout->frame_slots, end_of_values(walk, bytes), 0);
}
