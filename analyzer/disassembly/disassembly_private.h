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
    /** Reads what is simple without capstone, from `ret`'s address on; false: it is not. */
    bool (*decode_common)(const uint8_t *bytes, size_t size, struct instruction *ret);
    /** Fills `ret`, whose address and size are set. */
    void (*convert)(csh handle, const cs_insn *from, struct instruction *ret);
    /** Fills `ret`, zeroed but for its size and with alignment 1; its text is made from `syntax`.
     */
    void (*explain)(csh handle, const cs_insn *from, struct explained_instruction *ret);
    /** Of bytes that capstone does not know; false: nothing is known of them. */
    bool (*explain_unknown)(const uint8_t *bytes, size_t size, struct explained_instruction *ret);
    /** Writes what a person reads, from the same instruction in gdb's syntax. */
    void (*write)(const cs_insn *plain, const cs_insn *syntax, char *buffer, size_t size);
    const char *const *register_names; /**< By DWARF's numbers. */
    unsigned register_count;
};

extern const struct decoded_machine decoded_x86_64;

/* ---- x86-64 ---- */

#define X86_NAMED_REGISTERS 17u
/** By DWARF's numbers. */
extern const char *const x86_register_names[X86_NAMED_REGISTERS];
/** The number of a general register or of a part of one; -1 for others. */
int x86_register_number(unsigned name);
/** The same of a vector register, whatever its width. */
int x86_vector_number(unsigned name);
bool x86_is_among(unsigned id, const uint16_t *ids, size_t count);
#define X86_IS_AMONG(id, list) x86_is_among(id, list, PSC_ARRAY_SIZE(list))
bool x86_begins_with(const char *name, const char *const *beginnings, size_t count);
#define X86_BEGINS_WITH(name, list) x86_begins_with(name, list, PSC_ARRAY_SIZE(list))
/** Of the string instructions; SSE's movsd has the same name as one of them. */
bool x86_is_string(unsigned id);
bool x86_uses_vectors(const cs_x86 *x86);
bool x86_decode_common(const uint8_t *bytes, size_t size, struct instruction *ret);
struct operand x86_convert_operand(const cs_x86_op *from, uint64_t next);
void x86_explain(csh handle, const cs_insn *from, struct explained_instruction *ret);
bool x86_explain_unknown(const uint8_t *bytes, size_t size, struct explained_instruction *ret);
void x86_write(const cs_insn *plain, const cs_insn *syntax, char *buffer, size_t size);

#endif
