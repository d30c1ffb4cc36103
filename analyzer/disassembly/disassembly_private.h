/**
 * @file
 * Inside room `disassembly`: what a machine's file has for the disassembler.
 */
#ifndef PSC_DISASSEMBLY_PRIVATE_H
#define PSC_DISASSEMBLY_PRIVATE_H

#include "disassembly.h"

#include <capstone/capstone.h>

struct decoded_machine {
    uint16_t machine; /**< e_machine */
    cs_arch arch;
    cs_mode mode;
    /** Fills `ret`, whose address and size are set. */
    void (*convert)(csh handle, const cs_insn *from, struct instruction *ret);
};

extern const struct decoded_machine decoded_x86_64;

#endif
