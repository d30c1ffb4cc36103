/* How much memory is mapped, by kind: what core files and living processes alike tell. */
#include "running_private.h"

#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_ANONYMOUS,
    KIND_STACK,
    KIND_FILE,
    KIND_SHARED,
    KIND_DEVICE,
    KIND_RESERVED,
    KIND_RESIDENT,
    KIND_RESIDENT_ANONYMOUS,
    KIND_RESIDENT_FILE,
    KIND_RESIDENT_SHARED,
    KIND_SWAPPED,
    KIND_COUNT
};

static const char *const kind_names[] = {
    [KIND_ANONYMOUS] = "anonymous",
    [KIND_STACK] = "stack",
    [KIND_FILE] = "file",
    [KIND_SHARED] = "shared",
    [KIND_DEVICE] = "device",
    [KIND_RESERVED] = "reserved",
    [KIND_RESIDENT] = "resident",
    [KIND_RESIDENT_ANONYMOUS] = "resident_anonymous",
    [KIND_RESIDENT_FILE] = "resident_file",
    [KIND_RESIDENT_SHARED] = "resident_shared",
    [KIND_SWAPPED] = "swapped",
};

static bool begins_with(const char *path, const char *beginning)
{
    return !strncmp(path, beginning, strlen(beginning));
}

/* Files that stand for shared memory (mm/shmem.c, ipc/shm.c): MAP_SHARED without a file, memfds,
 * System V's, shm_open(3)'s. */
static bool is_shared_memory(const char *path)
{
    return !strcmp(path, "/dev/zero") || begins_with(path, "/memfd:") ||
           begins_with(path, "/SYSV") || begins_with(path, "/dev/shm/");
}

static enum kind classify(const struct target_mapping *mapping)
{
    const char *path = mapping->file ? mapping->file->path : NULL;
    if (path && is_shared_memory(path))
        return KIND_SHARED;
    if (path)
        return begins_with(path, "/dev/") ? KIND_DEVICE : KIND_FILE;
    bool closed = mapping->permissions_known && !mapping->readable && !mapping->writable &&
                  !mapping->executable;
    return closed ? KIND_RESERVED : KIND_ANONYMOUS;
}

/* So many lie before [vdso] at most; a damaged core may have any number side by side. */
#define KERNEL_MAPPINGS 4

/*
 * The kernel's own: [vdso], [vvar] before it (arch/x86/entry/vdso/vma.c), [vsyscall], and whatever
 * a damaged core has in the upper half, where no memory of a process is.
 */
static bool is_of_kernel(const struct target *target, size_t index)
{
    const struct target_mapping *mappings = target->mappings;
    psc_addr vdso = target->auxv.vdso;
    if ((mappings[index].end - 1) >> 63)
        return true;
    if (mappings[index].file || mappings[index].writable)
        return false;
    if (vdso >= mappings[index].start && vdso < mappings[index].end)
        return true;
    for (size_t last = index + KERNEL_MAPPINGS;
         index < last && index + 1 < target->mapping_count && !mappings[index + 1].file &&
         mappings[index].end == mappings[index + 1].start && !mappings[index + 1].writable;
         index++)
        if (mappings[index + 1].start == vdso)
            return true;
    return false;
}

/* Each mapping that a thread stands on. */
static void mark_stacks(const struct target *target, bool *stacks)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        const struct target_thread *thread = &target->threads[i];
        const struct target_mapping *mapping =
            thread->unreadable ? NULL
                               : target_find_mapping(target, target_sp(target, &thread->registers));
        if (mapping && !mapping->file && mapping->writable)
            stacks[mapping - target->mappings] = true;
    }
}

static void add_facts(const struct live_facts *facts, uint64_t *bytes)
{
    bytes[KIND_RESIDENT] = facts->resident;
    bytes[KIND_RESIDENT_ANONYMOUS] = facts->resident_anonymous;
    bytes[KIND_RESIDENT_FILE] = facts->resident_file;
    bytes[KIND_RESIDENT_SHARED] = facts->resident_shared;
    bytes[KIND_SWAPPED] = facts->swapped;
}

void running_sum_memory(const struct target *target, const struct live_facts *facts,
                        struct arena *arena, struct trace_running *ret)
{
    size_t last = facts && facts->has_memory ? KIND_COUNT : KIND_RESIDENT;
    uint64_t bytes[KIND_COUNT] = {0};
    struct trace_memory *memory = arena_array(arena, KIND_COUNT, sizeof(*memory));
    PSC_CLEANUP(cleanup_free) bool *stacks = calloc(target->mapping_count + 1, sizeof(*stacks));
    if (!memory || !stacks || !target->mapping_count)
        return;
    mark_stacks(target, stacks);
    for (size_t i = 0; i < target->mapping_count; i++) {
        uint64_t *sum = &bytes[stacks[i] ? KIND_STACK : classify(&target->mappings[i])];
        uint64_t size = target->mappings[i].end - target->mappings[i].start;
        if (is_of_kernel(target, i))
            continue;
        // A list that is damaged: no process has so much.
        if (size > INT64_MAX - *sum)
            return;
        *sum += size;
    }
    if (last == KIND_COUNT)
        add_facts(facts, bytes);
    for (size_t i = 0; i < last; i++)
        memory[i] = (struct trace_memory){kind_names[i], bytes[i]};
    ret->memory = memory;
    ret->memory_count = last;
}
