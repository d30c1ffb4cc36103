/* Threads that did not come along when the process was forked. */
#include "waits_private.h"

/*
 * glibc, nptl/descr.h: cancelhandling, whose bits say that a thread ends (EXITING, TERMINATED and
 * those of cancellation, the numbers of which changed with 2.35), beside the thread's own address.
 */
#define CANCEL_HANDLING 776
#define ENDING_BITS     0x3cu

/* Mappings that are looked at, and bytes at the end of each in which a struct pthread may begin. */
#define MAPPING_LIMIT ((size_t)4096)
#define END_SIZE      ((psc_addr)16 << 10)
/* Its alignment: TCB_ALIGNMENT. */
#define ALIGNMENT 64u
/* Words that are read at once: a page. */
#define PIECE_WORDS 512u

/*
 * A thread that is in no list, but whose struct pthread is still mapped, and does not say that it
 * has ended: it did not come along when the process was forked (nptl/allocatestack.c and
 * sysdeps/nptl/fork.h, reclaim_stacks(), clears its id only).
 */
bool waits_was_left_by_fork(struct target *target, psc_addr thread_pointer)
{
    const struct target_machine *machine = target->machine;
    psc_addr self;
    uint32_t tid;
    uint32_t handling;
    return target_read_u64(target, thread_pointer + machine->pthread_self, &self) == PSC_OK &&
           self == thread_pointer &&
           target_read_u32(target, thread_pointer + machine->pthread_tid, &tid) == PSC_OK &&
           target_read_u32(target, thread_pointer + CANCEL_HANDLING, &handling) == PSC_OK && !tid &&
           !(handling & ENDING_BITS);
}

/* Whether the end of a mapping is that of the stack of a thread which is here. */
static bool is_stack_here(const struct target *target, const struct target_mapping *mapping)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        psc_addr pointer = target->threads[i].thread_pointer;
        if (pointer >= mapping->start && pointer < mapping->end &&
            mapping->end - pointer <= END_SIZE)
            return true;
    }
    return false;
}

/* nptl/allocatestack.c: a stack is a mapping of its own, with the struct pthread at its end. */
static size_t count_in(struct target *target, const struct target_mapping *mapping)
{
    uint64_t words[PIECE_WORDS];
    size_t count = 0;
    psc_addr at =
        mapping->end - mapping->start > END_SIZE ? mapping->end - END_SIZE : mapping->start;
    for (; at < mapping->end; at += sizeof(words)) {
        size_t size =
            mapping->end - at < sizeof(words) ? (size_t)(mapping->end - at) : sizeof(words);
        target_begin_text(target); // Whatever lies there is not wanted.
        size_t read = target_read_some(target, at, words, size);
        target_end_text(target);
        // The first word of it is its own address, too: tcbhead_t.tcb.
        for (size_t i = 0; i * 8 + 8 <= read; i += ALIGNMENT / 8)
            count += words[i] == at + 8 * i && waits_was_left_by_fork(target, words[i]);
        if (read < size)
            return count;
    }
    return count;
}

void waits_read_lost(struct waits *waits)
{
    struct target *target = waits->input.target;
    size_t seen = 0;
    for (size_t i = 0; !waits->lost_counted && i < target->mapping_count && seen < MAPPING_LIMIT;
         i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (mapping->file || (mapping->permissions_known && !mapping->writable))
            continue;
        seen++;
        if (!is_stack_here(target, mapping))
            waits->lost += count_in(target, mapping);
    }
    waits->lost_counted = true;
}
