/* Thread pointers where nobody told them: searched in memory, by what glibc keeps at them. */
#include "target_private.h"

#include <stdlib.h>

/* Where a thread's block may begin: all of a small mapping, the end of a large one (a stack). */
#define TCB_SEARCH_SIZE ((size_t)256 * 1024)
#define TCB_END_SIZE    ((size_t)16 * 1024)

static void take_thread_pointer(struct target *target, psc_addr tcb, const uint8_t *bytes)
{
    const struct target_machine *machine = target->machine;
    if (load_u64(bytes) != tcb || load_u64(bytes + machine->pthread_self) != tcb)
        return;
    for (size_t i = 0; i < target->thread_count; i++)
        if (!target->threads[i].thread_pointer &&
            (uint32_t)target->threads[i].tid == load_u32(bytes + machine->pthread_tid))
            target->threads[i].thread_pointer = tcb;
}

void target_search_thread_pointers(struct target *target)
{
    bool wanted = false;
    for (size_t i = 0; i < target->thread_count; i++)
        wanted |= !target->threads[i].thread_pointer;
    uint8_t *bytes = wanted ? malloc(TCB_SEARCH_SIZE) : NULL;
    for (size_t i = 0; bytes && i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (mapping->file || !mapping->writable)
            continue;
        uint64_t size = mapping->end - mapping->start;
        if (size > TCB_SEARCH_SIZE)
            size = TCB_END_SIZE;
        psc_addr start = mapping->end - size;
        size_t got = target_read_some(target, start, bytes, (size_t)size);
        // The ABI aligns the block to 16 bytes at least.
        for (size_t at = (size_t)(-start & 15); at + target->machine->pthread_end <= got; at += 16)
            take_thread_pointer(target, start + at, bytes + at);
    }
    free(bytes);
}
