/* What lies at a fault address, and what was done there. */
#include "fault_private.h"

#include <inttypes.h>

/* mmap_min_addr of Linux: nothing is mapped below it. */
#define NULL_AREA_SIZE 0x10000
/* A negative index or offset from a null pointer. */
#define BELOW_NULL_SIZE 0x1000
/* How far from the stack pointer a push, a call or a large frame still reaches. */
#define STACK_REACH 0x10000
/* Between the fault and the stack above it: guard pages (mm/mmap.c, stack_guard_gap). */
#define STACK_GUARD_LIMIT 0x100000
/* Bytes of the longest indirect call (Intel SDM, volume 2: REX, FF /2, SIB, 32 bits). */
#define CALL_SIZE_LIMIT 8u

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

bool fault_is_stack_overflow(const struct fault *fault, psc_addr address)
{
    const struct target *target = fault->target;
    const struct target_mapping *there = target_find_mapping(target, address);
    if (!fault->registers || (there && is_stack_like(there)))
        return false;
    psc_addr pointer = target_sp(target, fault->registers);
    psc_addr distance = pointer > address ? pointer - address : address - pointer;
    if (distance > STACK_REACH)
        return false;
    const struct target_mapping *stack = find_stack(target, pointer > address ? pointer : address);
    return stack && stack->start > address && stack->start - address <= STACK_GUARD_LIMIT;
}

static bool is_near_null(psc_addr address)
{
    return address < NULL_AREA_SIZE || address >= (psc_addr)0 - BELOW_NULL_SIZE;
}

void fault_add_access(struct examination *examination, psc_addr address)
{
    static const char *const verbs[] = {
        [TRACE_ACCESS_UNKNOWN] = "accessing",
        [TRACE_ACCESS_READ] = "reading from",
        [TRACE_ACCESS_WRITE] = "writing to",
        [TRACE_ACCESS_EXECUTE] = "executing",
    };
    text_printf(examination->summary, "%s 0x%" PRIx64, verbs[examination->crash->access], address);
    if (!address)
        text_add_string(examination->summary, " (a null pointer)");
    else if (is_near_null(address))
        text_add_string(examination->summary, " (near a null pointer)");
}

/* ---- which access ---- */

/* In a mapping that can be read nothing but a write is refused, or an instruction. */
static bool must_be_write(const struct fault *fault)
{
    const struct target_mapping *mapping =
        target_find_mapping(fault->target, fault->signal.address);
    return fault->signal.number == SIGNAL_SEGV && fault->signal.code == CODE_SEGV_ACCERR &&
           mapping && mapping->permissions_known && mapping->readable && !mapping->writable;
}

/*
 * The call that led to `address`, which is not code: its return address is on top of the stack,
 * and no register has changed since.
 */
static bool find_bad_call(struct examination *examination)
{
    const struct fault *fault = examination->fault;
    psc_addr pc = target_pc(fault->target, fault->registers), back, led;
    if (!fault->target->machine->call_pushes ||
        target_read_pointer(fault->target, target_sp(fault->target, fault->registers), &back) !=
            PSC_OK)
        return false;
    // As the call saw them.
    struct target_registers before = *fault->registers;
    before.value[fault->target->machine->sp] += sizeof(psc_addr);
    before.value[fault->target->machine->pc] = 0;
    const struct fault call = {
        .target = fault->target, .thread = fault->thread, .registers = &before};
    for (unsigned size = CALL_SIZE_LIMIT; size >= 2; size--)
        if (fault_decode(examination, back - size) && examination->instruction.size == size &&
            examination->instruction.kind == EXPLAINED_CALL &&
            fault_read_operand(&call, &examination->instruction, &led) && led == pc)
            return true;
    return false;
}

/* Decodes the instruction that did it, and sets crash->access. */
static void find_access(struct examination *examination)
{
    const struct fault *fault = examination->fault;
    psc_addr address = fault->signal.address;
    enum trace_access *ret = &examination->crash->access, access = TRACE_ACCESS_UNKNOWN;
    if (!fault->registers)
        return;
    psc_addr pc = target_pc(fault->target, fault->registers);
    if (pc == address || (fault->has_error && fault->error & PAGE_FAULT_FETCH)) {
        *ret = TRACE_ACCESS_EXECUTE;
        examination->decoded = find_bad_call(examination);
        return;
    }
    if (!fault_decode(examination, pc))
        return;
    examination->accused = fault_find_operand(fault, &examination->instruction, address, &access);
    examination->decoded = examination->accused || (examination->instruction.opaque &&
                                                    examination->instruction.memory_count);
    if (fault->has_error)
        *ret = fault->error & PAGE_FAULT_WRITE ? TRACE_ACCESS_WRITE : TRACE_ACCESS_READ;
    else if (examination->decoded)
        *ret = must_be_write(fault) ? TRACE_ACCESS_WRITE : access;
}

/* ---- what is there ---- */

static void add_protection(struct examination *examination, const struct target_mapping *mapping)
{
    struct text *text = examination->summary;
    struct trace_crash *crash = examination->crash;
    bool executing = crash->access == TRACE_ACCESS_EXECUTE;
    crash->cause = TRACE_CAUSE_WILD_POINTER;
    if (!mapping->permissions_known) {
        text_add_string(text, ", mapped, but access was refused");
    } else if (!mapping->readable && !mapping->writable && !mapping->executable) {
        text_add_string(text, ", mapped without any access");
    } else if (executing && !mapping->executable) {
        text_add_string(text, ", mapped without execution");
        crash->cause = TRACE_CAUSE_NO_EXECUTE;
    } else if (mapping->writable) {
        text_add_string(text, ", mapped, but access was refused");
    } else {
        text_add_string(text,
                        mapping->executable ? ", mapped as read-only code" : ", mapped read-only");
        crash->cause = TRACE_CAUSE_READ_ONLY;
    }
}

static void add_key(struct examination *examination)
{
    const struct target_signal *signal = &examination->fault->signal;
    text_add_string(examination->summary, ", refused by a memory protection key");
    if (signal->has_key)
        text_printf(examination->summary, " (%" PRIu32 ")", signal->key);
    examination->crash->cause = TRACE_CAUSE_OTHER;
}

/* @return whether the file that is mapped there belongs to the sentence. */
static bool add_mapped(struct examination *examination, const struct target_mapping *mapping)
{
    const struct target_signal *signal = &examination->fault->signal;
    struct trace_crash *crash = examination->crash;
    if (signal->number == SIGNAL_BUS) {
        if (signal->code == CODE_BUS_ADRERR && mapping->file) {
            text_add_string(examination->summary, ", mapped, but behind the end of its file");
            crash->cause = TRACE_CAUSE_FILE_TRUNCATED;
        }
        return true;
    }
    if (signal->code == CODE_SEGV_ACCERR) {
        add_protection(examination, mapping);
    } else if (signal->code == CODE_SEGV_PKUERR) {
        add_key(examination);
    } else if (signal->code == CODE_SEGV_MAPERR) {
        /* Mapped after the fault by another thread, or known only from NT_FILE. */
        text_add_string(examination->summary, ", not mapped when it was accessed");
        crash->cause = TRACE_CAUSE_WILD_POINTER;
        return false;
    }
    return true;
}

static void add_place(struct examination *examination)
{
    const struct fault *fault = examination->fault;
    psc_addr address = fault->signal.address;
    const struct target_mapping *mapping = target_find_mapping(fault->target, address);
    if (!mapping) {
        text_add_string(examination->summary, ", not mapped");
        if (fault->signal.number == SIGNAL_SEGV)
            examination->crash->cause = TRACE_CAUSE_WILD_POINTER;
        if (!is_near_null(address) && address >> 63)
            text_add_string(examination->summary, ", an address of the kernel");
    } else if (add_mapped(examination, mapping) && mapping->file && mapping->file->path) {
        text_printf(examination->summary, ": %s", mapping->file->path);
    }
    if (is_near_null(address) && fault->signal.number == SIGNAL_SEGV)
        examination->crash->cause = TRACE_CAUSE_NULL_POINTER;
}

void fault_describe_memory(struct examination *examination)
{
    const struct fault *fault = examination->fault;
    find_access(examination);
    fault_add_access(examination, fault->signal.address);
    if (fault_is_stack_overflow(fault, fault->signal.address)) {
        text_add_string(examination->summary,
                        ", just below the stack of the thread: stack overflow");
        examination->crash->cause = TRACE_CAUSE_STACK_OVERFLOW;
        return;
    }
    add_place(examination);
    if (examination->crash->cause == TRACE_CAUSE_WILD_POINTER ||
        examination->crash->cause == TRACE_CAUSE_NULL_POINTER)
        fault_describe_pointer(examination, fault->signal.address);
}
