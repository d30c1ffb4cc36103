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

/* ---- one instruction, for a person ---- */

/** Memory operands that one instruction has at most: a string move, a push of memory. */
#define EXPLAINED_MEMORY_LIMIT 3
/** Registers that one instruction reads at most, of those that are shown. */
#define EXPLAINED_REGISTER_LIMIT 6
#define EXPLAINED_TEXT_SIZE      128

enum memory_access {
    MEMORY_ACCESS_UNKNOWN = 0,
    MEMORY_ACCESS_READ = 1,
    MEMORY_ACCESS_WRITE = 2 /**< Both bits: read, then written; such faults count as a write. */
};

enum memory_segment {
    MEMORY_SEGMENT_FLAT,
    MEMORY_SEGMENT_THREAD, /**< Relative to the thread pointer. */
    MEMORY_SEGMENT_OTHER   /**< Relative to what is not known. */
};

/** displacement + base + index * scale; registers by DWARF's numbers, -1: none. */
struct memory_operand {
    int8_t base;
    int8_t index;
    uint8_t scale;
    uint8_t segment; /**< enum memory_segment */
    uint8_t access;  /**< enum memory_access bits */
    bool implied;    /**< Not written out: what a push, a call or a return uses. */
    bool narrow;     /**< The address is cut to 32 bits. */
    bool repeated;   /**< As often as `counter` says: a string instruction. */
    int8_t counter;  /**< With `repeated`, the register. */
    uint16_t width;  /**< Bytes; 0: not known. */
    int64_t displacement;
};

enum explained_kind {
    EXPLAINED_PLAIN,
    EXPLAINED_DIVISION,   /**< Of integers. */
    EXPLAINED_PRIVILEGED, /**< Only a kernel may run it. */
    EXPLAINED_TRAP,       /**< Made to stop the program: int3. */
    EXPLAINED_UNDEFINED,  /**< Made to be no instruction: ud2. */
    EXPLAINED_CALL,
    EXPLAINED_JUMP,
    EXPLAINED_RETURN,
    EXPLAINED_SYSTEM_CALL
};

struct explained_instruction {
    uint8_t size;
    uint8_t kind;                   /**< enum explained_kind */
    char text[EXPLAINED_TEXT_SIZE]; /**< As gdb writes it: "mov %rax,0x18(%rbx)". */
    struct memory_operand memory[EXPLAINED_MEMORY_LIMIT];
    uint8_t memory_count;
    /** It uses memory in ways that `memory` does not tell: gathers, masked moves, xsave. */
    bool opaque;
    bool unknown; /**< Too new to be decoded: no text; `opaque` says whether it uses memory. */
    bool uses_vectors;
    uint8_t alignment;                           /**< What its memory operand must have, or 1. */
    uint8_t registers[EXPLAINED_REGISTER_LIMIT]; /**< That it reads, those of addresses first. */
    uint8_t named_count; /**< How many of them its text names; the others it implies. */
    uint8_t register_count;
    struct operand operand; /**< A division's divisor, what a call or a jump goes to; OPERAND_NONE:
                                 it is memory[0]. */
};

/**
 * The same as disassembler_decode() for all that an instruction may do to memory.
 * False when there is none, or memory has run out.
 */
bool disassembler_explain(struct disassembler *disassembler, const uint8_t *bytes, size_t size,
                          uint64_t address, struct explained_instruction *ret);
/** "rbx" for a DWARF number; NULL: there is none. Static. */
const char *disassembler_register_name(const struct disassembler *disassembler, unsigned number);

#endif
