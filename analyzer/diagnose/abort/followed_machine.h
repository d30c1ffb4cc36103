/** @file What of the machine's calling convention and instructions this room follows. */
#ifndef PSC_ABORT_CODE_H
#define PSC_ABORT_CODE_H

#include "disassembly.h"
#include "target.h"

/** Registers, by DWARF's numbers, and instructions that the disassembler has no verb for. */
struct followed_machine {
    uint16_t elf_machine;
    uint8_t arguments[4];
    uint8_t result;
    uint8_t sp;
    uint8_t frame_pointer;
    uint32_t saved; /**< Bit set: what calls preserve. */
    /**
     * Whether the bytes load from the thread's own block, or add from memory: `to` is the register,
     * `from` the memory, of which an OPERAND_ABSOLUTE counts from the thread pointer with *thread.
     */
    bool (*decode_other)(const uint8_t *bytes, const struct instruction *instruction,
                         struct operand *to, struct operand *from, bool *ret_adds,
                         bool *ret_thread);
};

/** NULL: its code is not followed. */
const struct followed_machine *followed_machine_find(uint16_t elf_machine);

#endif
