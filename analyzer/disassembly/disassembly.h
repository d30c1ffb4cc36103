/**
 * @file
 * Room `disassembly`: instructions as plain data, the only user of capstone.
 *
 * Which machine's instructions they are is chosen when a disassembler is opened. Registers have
 * the numbers that DWARF gives them (of the psABI), vector registers count from 0.
 * Knows bytes only, no file and no target.
 *
 * To add a machine: a file decode_MACHINE.c, and a line in disassembler.c's list of machines.
 */
#ifndef PSC_DISASSEMBLY_H
#define PSC_DISASSEMBLY_H

#include "base.h"

/** As many general, and as many vector registers as any machine has: those of AArch64. */
#define INSTRUCTION_REGISTER_LIMIT 32

enum instruction_verb {
    INSTRUCTION_BAD, /**< There is none. */
    INSTRUCTION_NOP,
    INSTRUCTION_HINT, /**< Changes the flags at most: a landing pad, a prefetch, a barrier. */
    INSTRUCTION_MOVE,
    INSTRUCTION_MOVE_SIGNED, /**< Sign-extending. */
    INSTRUCTION_ADDRESS,     /**< lea */
    INSTRUCTION_ADD,         /**< Of a constant; negative for sub, inc and dec. */
    INSTRUCTION_SHIFT_RIGHT, /**< Logical. */
    INSTRUCTION_AND,         /**< With a constant. */
    INSTRUCTION_XOR,         /**< With a constant. */
    INSTRUCTION_COMPARE,
    INSTRUCTION_COMPARE_REAL, /**< Of floating point: ucomisd and its like. */
    INSTRUCTION_TEST,
    INSTRUCTION_SET, /**< setcc */
    INSTRUCTION_CONDITIONAL_MOVE,
    INSTRUCTION_BRANCH, /**< On a condition. */
    INSTRUCTION_JUMP,
    INSTRUCTION_CALL,
    INSTRUCTION_RETURN,
    INSTRUCTION_STOP, /**< Execution does not go on: ud2, hlt, int3. */
    INSTRUCTION_PUSH,
    INSTRUCTION_POP,
    INSTRUCTION_LEAVE,
    /**
     * Writes `written`, `written_vectors`, and `to`, if it is memory. With `from` an immediate it
     * may jump there (jrcxz, loop).
     */
    INSTRUCTION_OTHER
};

enum operand_kind {
    OPERAND_NONE,
    OPERAND_REGISTER,
    OPERAND_VECTOR, /**< The lowest 4 or 8 bytes of one. */
    OPERAND_IMMEDIATE,
    OPERAND_ABSOLUTE, /**< Memory at a known address. */
    OPERAND_BASED,    /**< Memory at register + number. */
    OPERAND_SOMEWHERE /**< Other memory, other registers. */
};

struct operand {
    uint8_t kind; /**< enum operand_kind */
    uint8_t register_number;
    uint8_t width;  /**< Bytes. */
    bool high;      /**< ah, ch, dh, bh. */
    int64_t number; /**< Immediate, address or displacement. */
};

struct instruction {
    uint64_t address;
    uint8_t size;      /**< 0: there is none. */
    uint8_t verb;      /**< enum instruction_verb */
    uint8_t condition; /**< As in x86-64's opcodes: 4 is "equal", 5 "not equal". */
    uint8_t change;    /**< 1: it changes the flags. */
    uint32_t written;  /**< Bit set of registers, for INSTRUCTION_OTHER. */
    uint32_t written_vectors;
    struct operand to;
    struct operand from;
};

static inline bool operand_is_register(const struct operand *operand, unsigned number)
{
    return operand->kind == OPERAND_REGISTER && operand->register_number == number;
}

struct disassembler;

/**
 * @param machine  an ELF file's e_machine.
 * @return PSC_ERR_UNSUPPORTED for machines that are not known, PSC_ERR_MEMORY.
 */
PSC_MUST_CHECK enum psc_status disassembler_open(uint16_t machine, struct disassembler **ret);
void disassembler_close(struct disassembler *disassembler);

/**
 * The instruction that `bytes` begin with, of which there are `size`, and which lie at `address`.
 * False when there is none; `ret` has its address then, and is INSTRUCTION_BAD.
 */
bool disassembler_decode(struct disassembler *disassembler, const uint8_t *bytes, size_t size,
                         uint64_t address, struct instruction *ret);

#endif
