/** @file What the files of room `diagnose/fault` share. */
#ifndef PSC_FAULT_PRIVATE_H
#define PSC_FAULT_PRIVATE_H

#include "diagnose_private.h"
#include "disassembly.h"
#include "fault.h"

/** Bits of the error code of a page fault (arch/x86/include/asm/trap_pf.h). */
enum page_fault_bit {
    PAGE_FAULT_WRITE = 1u << 1,
    PAGE_FAULT_FETCH = 1u << 4,
    PAGE_FAULT_KEY = 1u << 5
};

/** Of all machines that are handled. */
#define PAGE_SIZE_LEAST 4096u

/** A fault on its way into words. */
struct examination {
    const struct fault *fault;
    struct arena *arena;
    struct trace_crash *crash;
    struct text *summary;
    struct disassembler *disassembler; /**< NULL: there is none for the machine. */
    bool decoded;
    psc_addr at; /**< Of the instruction. */
    struct explained_instruction instruction;
    const struct memory_operand *accused; /**< The operand that faulted; NULL: not known. */
};

/* ---- instruction.c ---- */

/** Decodes the instruction at `at` into the examination. */
bool fault_decode(struct examination *examination, psc_addr at);
/** Where a memory operand is, by the registers; false: not known. */
bool fault_operand_address(const struct fault *fault, const struct memory_operand *operand,
                           psc_addr *ret);
/** The operand that has `address` in it; NULL: none. *ret_access: what all such do to it. */
const struct memory_operand *fault_find_operand(const struct fault *fault,
                                                const struct explained_instruction *instruction,
                                                psc_addr address, enum trace_access *ret_access);
/** What a division divides by, or where a call or a jump leads; false: not known. */
bool fault_read_operand(const struct fault *fault, const struct explained_instruction *instruction,
                        uint64_t *ret);
/** Bits 63 to 47 of an address are equal, or the processor refuses it. */
static inline bool fault_is_canonical(psc_addr address)
{
    return address >> 47 == 0 || address >> 47 == 0x1ffff;
}
/** An address that the instruction uses and that is not canonical; false: there is none. */
bool fault_find_non_canonical(const struct fault *fault,
                              const struct explained_instruction *instruction,
                              const struct memory_operand **ret_operand, psc_addr *ret);
/** Writes the instruction and the registers that it reads into the crash. */
enum psc_status fault_tell_instruction(struct examination *examination);

/* ---- memory_fault.c ---- */

/** A page fault, whose address is known. */
void fault_describe_memory(struct examination *examination);
/** "reading from 0x18 (near a null pointer)" */
void fault_add_access(struct examination *examination, psc_addr address);
/** Near the stack pointer, and just below the stack of the thread. */
bool fault_is_stack_overflow(const struct fault *fault, psc_addr address);

/* ---- general_protection.c ---- */

/** SIGSEGV and SIGBUS of which the kernel tells no address. */
void fault_describe_protection(struct examination *examination);
/** Whether an instruction can have raised a general protection fault. */
bool fault_raises_protection(const struct fault *fault,
                             const struct explained_instruction *instruction);

/* ---- first_fault.c ---- */

/** As fault_find_first(), whoever sent the signal that the process died of, if it did. */
enum psc_status fault_find_below(struct target *target, const struct target_thread *thread,
                                 const struct native_stack *stack, struct first_fault *ret);

/* ---- certain_fault.c ---- */

/**
 * Whether the instruction at the fault's registers faults whenever it is run, for all that is
 * known of its operands and of the mappings; *ret is the signal that the kernel makes of it.
 * `fault.signal.number` SIGBUS: that of a file that is too short counts too.
 */
bool fault_is_certain(struct examination *examination, struct target_signal *ret);

/* ---- wild_pointer.c ---- */

/** What the bits of a pointer tell that led nowhere; sets the cause. */
void fault_describe_pointer(struct examination *examination, psc_addr address);

#endif
