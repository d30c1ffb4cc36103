/**
 * @file
 * Room `native/location`: the one evaluator of DWARF expressions, for the rules of call frame
 * information and for variables; for these see native_locate() in native.h.
 *
 *   evaluator.c       runs an expression in one frame, and puts the parts of its result together
 *   arithmetic.c      what is computed on the stack
 *   floating_point.c  of numbers that are not whole
 */
#ifndef PSC_LOCATION_H
#define PSC_LOCATION_H

#include "native.h"

/** Where a rule is applied. */
struct location_frame {
    struct target *target;
    const struct target_registers *registers; /**< All are known. */
    psc_addr cfa;                             /**< For the rules of registers. */
};

/**
 * Runs the expression of a rule.
 * @param ret        its result; with UNREADABLE, the address of what can not be read.
 * @param ret_value  the result is the value, not the address where that is.
 */
enum native_location location_apply(const struct location_frame *frame,
                                    const struct debug_expression *expression, uint64_t *ret,
                                    bool *ret_value);

#endif
