/**
 * @file
 * The DWARF operations that call frame information uses.
 */
#ifndef PSC_EXPRESSION_H
#define PSC_EXPRESSION_H

#include "native_private.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

/** Operations of one expression; each is run once, for there are no jumps. */
#define EXPRESSION_LENGTH_LIMIT ((size_t)256)

/** DW_OP_lit0 to lit31, const1u to consts (DWARF 5, 2.5.1.1): they push a number of their own. */
static inline bool expression_get_constant(uint8_t code, uint64_t operand, uint64_t *ret)
{
    if (code >= DW_OP_lit0 && code <= DW_OP_lit31)
        *ret = (uint64_t)code - DW_OP_lit0;
    else if (code >= DW_OP_const1u && code <= DW_OP_consts)
        *ret = operand; // libdw has extended the sign.
    else
        return false;
    return true;
}

/**
 * @param cfa        for DW_OP_call_frame_cfa.
 * @param ret_value  the result is a value, not the address where one is.
 * @return STEP_OK, STEP_FAULT with *ret the address, STEP_INVALID.
 */
enum step_result expression_evaluate(struct native *native, const Dwarf_Op *operations,
                                     size_t count, const struct target_registers *registers,
                                     psc_addr cfa, uint64_t *ret, bool *ret_value);

#endif
