/** @file What the files of room `native/location` share: the stack that DWARF expressions run on.
 */
#ifndef PSC_LOCATION_PRIVATE_H
#define PSC_LOCATION_PRIVATE_H

#include "location.h"

#define LOCATION_STACK_SIZE 64u

/** What an expression comes to, before a piece or its end takes it. */
enum result_kind { RESULT_ADDRESS, RESULT_REGISTER, RESULT_VALUE, RESULT_BYTES, RESULT_LOST };

/** DWARF 5, 2.5.1: the type of what no typed operation made; compared and divided as signed. */
#define GENERIC_ENCODING 0u
#define GENERIC_SIZE     8u

/** A whole number, to 64 bits with the sign of its type. */
struct slot {
    uint64_t value;
    uint8_t encoding; /* DW_ATE_... */
    uint8_t size;
};

struct evaluator {
    struct target *target;
    const struct target_registers *registers;
    uint64_t known;                             /**< A bit for each register that is. */
    const uint8_t *vectors;                     /**< NULL: not known. */
    psc_addr cfa;                               /**< Of a variable 0: not known. */
    const struct native_evaluation *evaluation; /**< Of a variable; NULL for a rule. */
    struct slot stack[LOCATION_STACK_SIZE];
    size_t depth;
    enum result_kind kind;
    uint64_t register_number;
    const struct debug_operation *bytes;
    bool base;      /* The frame base is being evaluated. */
    psc_addr fault; /* What could not be read. */
};

enum native_location location_push_slot(struct evaluator *evaluator, struct slot slot);
/** Pushes what no typed operation made. */
enum native_location location_push(struct evaluator *evaluator, uint64_t value);
/** Pushes a register plus an offset; LOST when it is not known in this frame. */
enum native_location location_push_register(struct evaluator *evaluator, uint64_t number,
                                            uint64_t offset);
/** Pushes a register, also the low part of a vector register. */
enum native_location location_push_any(struct evaluator *evaluator, uint64_t number);
/** What is known of a vector register, and its kind; NULL: nothing. */
const uint8_t *location_find_vector(const struct evaluator *evaluator, uint64_t number,
                                    const struct target_vectors **ret);
/** What to say of a register that is not known in a frame: UNSAVED, or UNREADABLE. */
enum native_location location_why_unknown(const struct evaluator *evaluator, uint64_t number);
/** Cut to the size of a type and extended by its sign. */
uint64_t location_extend(uint64_t value, uint8_t encoding, uint64_t size);
/* ---- floating_point.c: false for what is not understood ---- */

/** The second is left in the place of both. */
bool location_combine_floats(struct slot *left, const struct slot *right, uint8_t code);
bool location_change_float(struct slot *slot, uint8_t code);
/** From a float or to one, of 4 or 8 bytes. */
bool location_convert_float(struct slot *slot, uint8_t encoding, uint64_t size);

/* ---- arithmetic.c ---- */

/** Operations on the stack and on memory, typed ones too; UNSUPPORTED for all others. */
enum native_location location_compute(struct evaluator *evaluator,
                                      const struct debug_operation *operation);

#endif
