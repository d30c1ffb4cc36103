/**
 * @file
 * Part of the door of code/: what differs between the machines that code is for. Which one it is,
 * the file's e_machine tells.
 *
 * To add a machine: a file abi_MACHINE.c, a line in code_abi.c, and its instructions in
 * disassembly/.
 */
#ifndef PSC_CODE_ABI_H
#define PSC_CODE_ABI_H

#include "base.h"

/** Bytes of code, and where they are. */
struct code_range {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
};

/** What an instruction refers to, found without disassembling: the bytes may be other ones. */
enum reference_kind {
    REFERENCE_CALL = 1,
    REFERENCE_CALL_SLOT = 2, /**< A call of what a pointer in data leads to: `target` is where. */
    REFERENCE_JUMP = 4,
    REFERENCE_JUMP_SLOT = 8,
    REFERENCE_BRANCH = 16,      /**< On a condition. */
    REFERENCE_ADDRESS = 32,     /**< Loads an address into a register. */
    REFERENCE_CALL_POINTER = 64 /**< A call of what a register leads to; no target. */
};

struct code_reference {
    enum reference_kind kind;
    size_t offset; /**< In the range. */
    uint8_t size;
    uint8_t register_number; /**< DWARF's, of REFERENCE_ADDRESS. */
    uint64_t target;
};

/** A direct call. */
struct code_call {
    uint64_t address;
    uint64_t target;
};

#define STUB_LEAD_LIMIT 8

struct code_abi {
    uint16_t elf_machine; /**< e_machine */

    /* Registers by DWARF's numbers, and the calling convention of the System V ABI. */
    uint8_t register_count; /**< General ones, and as many vector registers. */
    uint8_t stack_pointer;
    uint8_t frame_pointer;
    uint8_t result;        /**< The register of what a call returns. */
    uint8_t result_vector; /**< The same of floating point. */
    const uint8_t *arguments;
    uint8_t argument_count;   /**< Later ones are on the stack, from the stack pointer on. */
    uint8_t call_pushes;      /**< Bytes on the stack, of the return address. */
    const uint8_t *preserved; /**< Those that a call keeps, without the stack pointer. */
    uint8_t preserved_count;
    const uint8_t *scratch; /**< Those that it does not keep, without the result. */
    uint8_t scratch_count;

    /** Bytes of a stub of the procedure linkage table, where it is aligned so: a power of two. */
    uint8_t stub_size;
    /** How far before its jump a stub may begin. */
    uint8_t stub_leads[STUB_LEAD_LIMIT];
    uint8_t stub_lead_count;

    /** The first reference of some kinds at or behind an offset; false: no more. */
    bool (*find_reference)(const struct code_range *range, size_t from, unsigned kinds,
                           struct code_reference *ret);
    /**
     * The references of REFERENCE_CALL at or behind an offset, up to a limit, and where to go on.
     * How many; fewer than the limit: no more.
     */
    size_t (*list_calls)(const struct code_range *range, size_t *from, struct code_call *ret,
                         size_t limit);
    /**
     * The call that ends where the range does: with `direct` one of an address, else one through a
     * pointer. False: there is none.
     */
    bool (*read_call_before)(const struct code_range *range, bool direct,
                             struct code_reference *ret);
    /** The pointer through which a stub jumps that the range begins with; 0: it is no stub. */
    uint64_t (*read_stub)(const struct code_range *range);
};

/** NULL: none that is known. */
const struct code_abi *code_abi_find(uint16_t elf_machine);

extern const struct code_abi abi_x86_64;

#endif
