/*
 * Who has an arena of glibc's malloc(): its lock does not say so, but a function of the allocator
 * keeps the arena's address, which is the lock's, while it works on it (malloc/malloc.c 2.31 to
 * 2.43: struct malloc_state begins with its mutex).
 */
#include "waits_private.h"

/*
 * Other arenas than the first lie behind a struct heap_info, at a multiple of HEAP_MAX_SIZE
 * (malloc/arena.c): 32 bytes of it up to 2.34, 48 since.
 */
#define HEAP_MASK      (((psc_addr)64 << 20) - 1)
#define OLD_HEAP_START 0x20u
#define NEW_HEAP_START 0x30u

/* Frames in which the allocator's functions are looked for, and bytes of their stack. */
#define FRAME_LIMIT 64u
#define STACK_SIZE  ((psc_addr)32 << 10)
#define PIECE_WORDS 128u

/** Which arenas' addresses a thread has. */
struct arenas_seen {
    psc_addr wanted;
    bool found;
    bool other; /**< Another one than the wanted. */
};

static void see_word(struct arenas_seen *seen, uint64_t word)
{
    uint64_t place = word & HEAP_MASK;
    if (word == seen->wanted)
        seen->found = true;
    else if (word > HEAP_MASK && (place == OLD_HEAP_START || place == NEW_HEAP_START))
        seen->other = true;
}

static void see_stack(struct target *target, psc_addr start, psc_addr end, struct arenas_seen *seen)
{
    uint64_t words[PIECE_WORDS];
    start &= ~(psc_addr)7;
    for (psc_addr at = end - start > STACK_SIZE ? end - STACK_SIZE : start; at < end;
         at += sizeof(words)) {
        size_t size = end - at < sizeof(words) ? (size_t)(end - at) : sizeof(words);
        size_t count = target_read_some(target, at, words, size) / 8;
        for (size_t i = 0; i < count; i++)
            see_word(seen, words[i]);
        if (count * 8 < size)
            return;
    }
}

static void see_registers(const struct target *target, int32_t tid, struct arenas_seen *seen)
{
    for (size_t i = 0; i < target->thread_count; i++)
        for (size_t k = 0; target->threads[i].tid == tid && k < TARGET_REGISTER_LIMIT; k++)
            see_word(seen, target->threads[i].registers.value[k]);
}

/* Of that module: an allocator of another library has other locks. */
static bool is_allocator(const struct trace_frame *frame, const struct trace_module *module)
{
    const struct trace_location *location = frame->location;
    return location->module == module &&
           waits_is_kind_of_function(location, TRACE_WAIT_MALLOC_LOCK);
}

/* Behind the call that sleeps: the first frame of another module, from which there is a way in. */
static size_t skip_own_call(const struct trace_thread *thread, const struct trace_module *module)
{
    size_t i = 0;
    while (i < thread->frame_count && thread->frames[i].location->module == module)
        i++;
    return i;
}

/*
 * Whether a thread has the arena in hand: it is in the allocator, and its registers or its stack
 * have the address. One that sleeps for it was interrupted by a signal in an earlier call.
 */
static bool has_in_hand(const struct wait_maker *maker, const struct trace_thread *thread,
                        const struct trace_module *module)
{
    struct target *target = maker->waits->input.target;
    psc_addr arena = maker->facts->arguments[0];
    const struct wait_facts *facts =
        thread->tid > 0 ? hash_table_find(&maker->waits->facts, (uint64_t)thread->tid) : NULL;
    bool sleeps_for_it = facts && facts->sleeps && facts->arguments[0] == arena;
    size_t first = sleeps_for_it ? skip_own_call(thread, module) : 0;
    for (size_t i = first; i < thread->frame_count && i < FRAME_LIMIT; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        if (!frame->has_pc || !frame->sp || frame->id <= frame->sp || !is_allocator(frame, module))
            continue;
        struct arenas_seen seen = {.wanted = arena};
        if (!sleeps_for_it)
            see_registers(target, thread->tid, &seen);
        see_stack(target, thread->frames[first].sp, frame->id, &seen);
        // The first arena's address is compared with that of each other one that is worked on.
        return seen.found && !seen.other;
    }
    return false;
}

void waits_find_arena_owner(struct wait_maker *maker)
{
    const struct trace_thread *waiter = maker->thread;
    const struct trace_module *module =
        waiter->frame_count ? waiter->frames[0].location->module : NULL;
    const struct trace_thread *found = NULL;
    for (size_t i = 0; module && i < maker->trace->thread_count; i++) {
        const struct trace_thread *thread = &maker->trace->threads[i];
        if (!has_in_hand(maker, thread, module))
            continue;
        if (found)
            return;
        found = thread;
    }
    if (!found || found->tid <= 0)
        return;
    maker->wait.owner_tid = found->tid;
    maker->wait.known_by =
        "the function that it called; the owner is in the allocator with the same arena in hand";
}
