/*
 * What CPython's hooks for debugging put around each block (Objects/obmalloc.c, write_size_t() and
 * _PyMem_DebugRawAlloc()): its size, a letter and seven bytes of 0xfd before it, eight behind it.
 */
#include "verify_private.h"

enum { GUARD_BEHIND = 8, LAYERS = 2 };

static uint64_t read_size(const uint8_t *bytes)
{
    uint64_t size = 0;
    for (size_t i = 0; i < sizeof(size); i++)
        size = size << 8 | bytes[i];
    return size;
}

/* The first byte that is not a guard's; `size`: all are. */
static size_t find_other(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && bytes[at] == PYTHON_HOOK_FILL)
        at++;
    return at;
}

static void note_guard(struct verification *all, uint32_t block, psc_addr address,
                       const char *where)
{
    struct heap *heap = all->heap;
    struct text text = {0};
    struct finding *finding = verify_add(all, FINDING_GUARD, address);
    if (!finding || finding->message)
        return;
    finding->object = heap->blocks[block].owner;
    text_printf(&text, "the guard %s the block at 0x%llx was written to", where,
                (unsigned long long)heap->blocks[block].address + heap->hook_size);
    if (finding->object != HEAP_NONE) {
        text_add_string(&text, ", of ");
        verify_add_object(heap, finding->object, &text);
    }
    verify_set_message(all, finding, &text);
}

/* The guards of one allocator's hooks; false: there are none. `certain`: there must be some. */
static bool judge_block(struct verification *all, uint32_t block, uint64_t before, bool certain)
{
    struct heap *heap = all->heap;
    const struct heap_block *found = &heap->blocks[block];
    const psc_addr start = found->address + before;
    const uint64_t room = heap_block_bytes(found) - before;
    const uint8_t *bytes = heap_bytes(heap, start, PYTHON_HOOK_SIZE);
    if (!bytes || room < PYTHON_HOOK_SIZE + GUARD_BEHIND)
        return false;
    const size_t first = PYTHON_HOOK_LETTER + 1;
    const size_t other = find_other(bytes + first, PYTHON_HOOK_SIZE - first);
    const uint64_t size = read_size(bytes);
    if (other < PYTHON_HOOK_SIZE - first || bytes[PYTHON_HOOK_LETTER] < 'a' ||
        bytes[PYTHON_HOOK_LETTER] > 'z' || size > room - PYTHON_HOOK_SIZE - GUARD_BEHIND) {
        if (certain)
            note_guard(all, block, start + (other < PYTHON_HOOK_SIZE - first ? first + other : 0),
                       "before");
        return false;
    }
    const psc_addr end = start + PYTHON_HOOK_SIZE + size;
    const uint8_t *behind = heap_bytes(heap, end, GUARD_BEHIND);
    const size_t at = behind ? find_other(behind, GUARD_BEHIND) : GUARD_BEHIND;
    if (at < GUARD_BEHIND)
        note_guard(all, block, end + at, "behind");
    return true;
}

void verify_guards(struct verification *all)
{
    struct heap *heap = all->heap;
    psc_addr swept = 0;
    for (uint32_t i = 0; heap->hook_size && i < heap->block_count; i++) {
        const bool is_pool = heap_block_layer(heap, i) == HEAP_PYMALLOC;
        heap_sweep(heap, &swept, heap->blocks[i].address);
        // What pymalloc hands on to malloc() passed through the hooks of both.
        if (judge_block(all, i, 0, is_pool) && !is_pool)
            (void)judge_block(all, i, heap->hook_size, false);
    }
}
