/**
 * @file
 * Inside room `disassembly`: what is opened once and used for many instructions.
 */
#ifndef PSC_DISASSEMBLER_H
#define PSC_DISASSEMBLER_H

#include "disassembly_private.h"

struct disassembler {
    const struct decoded_machine *machine;
    csh handle;
    cs_insn *scratch;
};

/** disassembler_decode() by capstone alone. */
bool disassembler_decode_any(struct disassembler *disassembler, const uint8_t *bytes, size_t size,
                             uint64_t address, struct instruction *ret);

#endif
