/* The operations of DWARF expressions: DWARF 5, 2.5, 2.6 and 7.7.1, and GNU's. */
#include "dwarf_private.h"

#include <dwarf.h>

#define COMPUTES(takes_, leaves_, ...)                                                      \
    {                                                                                       \
        .known = true, .in_frames = true, .takes = takes_, .leaves = leaves_, .operands = { \
            __VA_ARGS__                                                                     \
        }                                                                                   \
    }
#define LOCATES(takes_, leaves_, ...)                                                  \
    {                                                                                  \
        .known = true, .takes = takes_, .leaves = leaves_, .operands = { __VA_ARGS__ } \
    }
/* A forerunner of what DWARF 5 has. */
#define GNU(code)        \
    {                    \
        .standard = code \
    }

static const struct debug_operation_kind kinds[UINT8_MAX + 1] = {
    [DW_OP_addr] = LOCATES(0, 1, DEBUG_OPERAND_ADDRESS),
    [DW_OP_deref] = COMPUTES(1, 1, 0),
    [DW_OP_const1u] = COMPUTES(0, 1, DEBUG_OPERAND_1),
    [DW_OP_const1s] = COMPUTES(0, 1, DEBUG_OPERAND_1),
    [DW_OP_const2u] = COMPUTES(0, 1, DEBUG_OPERAND_2),
    [DW_OP_const2s] = COMPUTES(0, 1, DEBUG_OPERAND_2),
    [DW_OP_const4u] = COMPUTES(0, 1, DEBUG_OPERAND_4),
    [DW_OP_const4s] = COMPUTES(0, 1, DEBUG_OPERAND_4),
    [DW_OP_const8u] = COMPUTES(0, 1, DEBUG_OPERAND_8),
    [DW_OP_const8s] = COMPUTES(0, 1, DEBUG_OPERAND_8),
    [DW_OP_constu] = COMPUTES(0, 1, DEBUG_OPERAND_LEB),
    [DW_OP_consts] = COMPUTES(0, 1, DEBUG_OPERAND_LEB),
    [DW_OP_dup] = COMPUTES(1, 2, 0),
    [DW_OP_drop] = COMPUTES(1, 0, 0),
    [DW_OP_over] = COMPUTES(2, 3, 0),
    [DW_OP_pick] = LOCATES(1, 2, DEBUG_OPERAND_1),
    [DW_OP_swap] = COMPUTES(2, 2, 0),
    [DW_OP_rot] = LOCATES(3, 3, 0),
    [DW_OP_abs] = LOCATES(1, 1, 0),
    [DW_OP_and] = COMPUTES(2, 1, 0),
    /* Jumps may not end, and a division by -1 may not be possible: no compiler needs them there. */
    [DW_OP_div] = LOCATES(2, 1, 0),
    [DW_OP_mod] = LOCATES(2, 1, 0),
    [DW_OP_bra] = LOCATES(1, 0, DEBUG_OPERAND_2),
    [DW_OP_skip] = LOCATES(0, 0, DEBUG_OPERAND_2),
    [DW_OP_minus] = COMPUTES(2, 1, 0),
    [DW_OP_mul] = COMPUTES(2, 1, 0),
    [DW_OP_neg] = COMPUTES(1, 1, 0),
    [DW_OP_not] = COMPUTES(1, 1, 0),
    [DW_OP_or] = COMPUTES(2, 1, 0),
    [DW_OP_plus] = COMPUTES(2, 1, 0),
    [DW_OP_plus_uconst] = COMPUTES(1, 1, DEBUG_OPERAND_LEB),
    [DW_OP_shl] = COMPUTES(2, 1, 0),
    [DW_OP_shr] = COMPUTES(2, 1, 0),
    [DW_OP_shra] = COMPUTES(2, 1, 0),
    [DW_OP_xor] = COMPUTES(2, 1, 0),
    [DW_OP_eq] = COMPUTES(2, 1, 0),
    [DW_OP_ge] = COMPUTES(2, 1, 0),
    [DW_OP_gt] = COMPUTES(2, 1, 0),
    [DW_OP_le] = COMPUTES(2, 1, 0),
    [DW_OP_lt] = COMPUTES(2, 1, 0),
    [DW_OP_ne] = COMPUTES(2, 1, 0),
    [DW_OP_lit0... DW_OP_lit31] = COMPUTES(0, 1, 0),
    [DW_OP_reg0... DW_OP_reg31] = LOCATES(0, 0, 0),
    [DW_OP_breg0... DW_OP_breg31] = COMPUTES(0, 1, DEBUG_OPERAND_LEB),
    [DW_OP_regx] = LOCATES(0, 0, DEBUG_OPERAND_LEB),
    [DW_OP_fbreg] = LOCATES(0, 1, DEBUG_OPERAND_LEB),
    [DW_OP_bregx] = LOCATES(0, 1, DEBUG_OPERAND_LEB, DEBUG_OPERAND_LEB),
    [DW_OP_piece] = LOCATES(0, 0, DEBUG_OPERAND_LEB),
    [DW_OP_deref_size] = LOCATES(1, 1, DEBUG_OPERAND_1),
    [DW_OP_nop] = COMPUTES(0, 0, 0),
    [DW_OP_call_frame_cfa] = LOCATES(0, 1, 0),
    [DW_OP_implicit_value] = LOCATES(0, 0, DEBUG_OPERAND_BLOCK),
    [DW_OP_stack_value] = LOCATES(0, 0, 0),
    [DW_OP_implicit_pointer] = LOCATES(0, 0, DEBUG_OPERAND_NUMBER, DEBUG_OPERAND_LEB),
    [DW_OP_addrx] = LOCATES(0, 1, DEBUG_OPERAND_ADDRESS_INDEX),
    [DW_OP_constx] = LOCATES(0, 1, DEBUG_OPERAND_CONSTANT_INDEX),
    [DW_OP_entry_value] = LOCATES(0, 1, DEBUG_OPERAND_EXPRESSION),
    [DW_OP_const_type] = LOCATES(0, 1, DEBUG_OPERAND_TYPE, DEBUG_OPERAND_BLOCK),
    [DW_OP_regval_type] = LOCATES(0, 1, DEBUG_OPERAND_LEB, DEBUG_OPERAND_TYPE),
    [DW_OP_deref_type] = LOCATES(1, 1, DEBUG_OPERAND_1, DEBUG_OPERAND_TYPE),
    [DW_OP_convert] = LOCATES(1, 1, DEBUG_OPERAND_TYPE_OR_ADDRESS),
    [DW_OP_reinterpret] = LOCATES(1, 1, DEBUG_OPERAND_TYPE_OR_ADDRESS),
    [DW_OP_GNU_uninit] = LOCATES(0, 0, 0),
    [DW_OP_GNU_parameter_ref] = LOCATES(0, 1, DEBUG_OPERAND_PARAMETER),
    [DW_OP_GNU_entry_value] = GNU(DW_OP_entry_value),
    [DW_OP_GNU_const_type] = GNU(DW_OP_const_type),
    [DW_OP_GNU_regval_type] = GNU(DW_OP_regval_type),
    [DW_OP_GNU_deref_type] = GNU(DW_OP_deref_type),
    [DW_OP_GNU_convert] = GNU(DW_OP_convert),
    [DW_OP_GNU_reinterpret] = GNU(DW_OP_reinterpret),
    [DW_OP_GNU_addr_index] = GNU(DW_OP_addrx),
    [DW_OP_GNU_const_index] = GNU(DW_OP_constx),
    [DW_OP_GNU_implicit_pointer] = GNU(DW_OP_implicit_pointer),
};

const struct debug_operation_kind *debug_find_operation(uint8_t code)
{
    return &kinds[code];
}
