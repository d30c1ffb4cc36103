/* What lies at a fault address. */
#include "diagnose_private.h"

#include <inttypes.h>

/* mmap_min_addr of Linux: nothing is mapped below it. */
#define NULL_AREA_SIZE 0x10000
/* A negative index or offset from a null pointer. */
#define BELOW_NULL_SIZE 0x1000
/* How far from the stack pointer a push, a call or a large frame still reaches. */
#define STACK_REACH 0x10000
/* Between the fault and the stack above it: guard pages (mm/mmap.c, stack_guard_gap). */
#define STACK_GUARD_LIMIT 0x100000

static bool is_stack_like(const struct target_mapping *mapping)
{
    return !mapping->file && (!mapping->permissions_known || mapping->writable);
}

/* The mapping that the stack pointer is in, or the next above it. */
static const struct target_mapping *find_stack(const struct target *target, psc_addr pointer)
{
    for (size_t i = 0; i < target->mapping_count; i++)
        if (target->mappings[i].end > pointer && is_stack_like(&target->mappings[i]))
            return &target->mappings[i];
    return NULL;
}

/* The address is near the stack pointer, and just below the thread's stack. */
static bool is_stack_overflow(const struct target *target, const struct target_thread *thread,
                              psc_addr address)
{
    const struct target_mapping *there = target_find_mapping(target, address);
    if (!thread || (there && is_stack_like(there)))
        return false;
    psc_addr pointer = target_sp(target, &thread->registers);
    psc_addr distance = pointer > address ? pointer - address : address - pointer;
    if (distance > STACK_REACH)
        return false;
    const struct target_mapping *stack = find_stack(target, pointer > address ? pointer : address);
    return stack && stack->start > address && stack->start - address <= STACK_GUARD_LIMIT;
}

static void add_null(struct text *text, psc_addr address)
{
    if (!address)
        text_add_string(text, " (a null pointer)");
    else if (address < NULL_AREA_SIZE || address >= (psc_addr)0 - BELOW_NULL_SIZE)
        text_add_string(text, " (near a null pointer)");
}

static void add_protection(struct text *text, const struct target_mapping *mapping, bool executing)
{
    if (!mapping->permissions_known)
        text_add_string(text, ", mapped, but access was refused");
    else if (!mapping->readable && !mapping->writable && !mapping->executable)
        text_add_string(text, ", mapped without any access");
    else if (executing && !mapping->executable)
        text_add_string(text, ", mapped without execution");
    else if (mapping->writable)
        text_add_string(text, ", mapped, but access was refused");
    else
        text_add_string(text,
                        mapping->executable ? ", mapped as read-only code" : ", mapped read-only");
}

static void add_mapping(struct text *text, const struct target_mapping *mapping,
                        const struct target_signal *signal, bool executing)
{
    if (!mapping) {
        text_add_string(text, ", not mapped");
    } else if (signal->number == SIGNAL_BUS && signal->code == CODE_BUS_ADRERR && mapping->file) {
        text_add_string(text, ", mapped, but behind the end of its file");
    } else if (signal->number == SIGNAL_SEGV && signal->code == CODE_SEGV_ACCERR) {
        add_protection(text, mapping, executing);
    } else if (signal->number == SIGNAL_SEGV && signal->code == CODE_SEGV_PKUERR) {
        text_add_string(text, ", refused by a memory protection key");
    } else if (signal->number == SIGNAL_SEGV && signal->code == CODE_SEGV_MAPERR) {
        /* Mapped after the fault by another thread, or known only from NT_FILE. */
        text_add_string(text, ", not mapped when it was accessed");
        return;
    }
    if (mapping && mapping->file && mapping->file->path) {
        text_add_string(text, ": ");
        text_add_string(text, mapping->file->path);
    }
}

void diagnose_describe_fault(struct target *target, const struct target_thread *thread,
                             const struct target_signal *signal, struct text *ret)
{
    /* The core does not say whether the access was a read or a write. */
    bool executing = thread && target_pc(target, &thread->registers) == signal->address;
    text_printf(ret, "%s 0x%" PRIx64, executing ? "executing" : "accessing", signal->address);
    add_null(ret, signal->address);
    if (is_stack_overflow(target, thread, signal->address)) {
        text_add_string(ret, ", just below the stack of the thread: stack overflow");
        return;
    }
    add_mapping(ret, target_find_mapping(target, signal->address), signal, executing);
}
