/**
 * @file
 * Part of the door of flow/: one path through the code, and what registers, stack and flags hold
 * on it, as far as that is known.
 */
#ifndef PSC_PATH_STATE_H
#define PSC_PATH_STATE_H

#include "code.h"
#include "disassembly.h"

enum abstract_kind {
    ABSTRACT_UNKNOWN,
    ABSTRACT_CONSTANT,
    ABSTRACT_ARGUMENT,   /**< What register `number` held at the function's entry. */
    ABSTRACT_STACK,      /**< Where the stack pointer was at the start, plus number. */
    ABSTRACT_FRAME,      /**< Where the frame pointer was at the start, plus number. */
    ABSTRACT_ERROR,      /**< What a failed call returns: NULL or -1; see enum error_return. */
    ABSTRACT_SUCCESS,    /**< What another call returns: neither of these. */
    ABSTRACT_NONZERO,    /**< The exception that is set; it is none of those that are asked for. */
    ABSTRACT_BYTE,       /**< Of a register only the lowest byte is known. */
    ABSTRACT_THREAD,     /**< The interpreter's state of the thread, plus number. */
    ABSTRACT_SHARED,     /**< Memory that a parallel block shares, plus number. */
    ABSTRACT_KEPT_STACK, /**< What was at ABSTRACT_STACK number at the start. */
    ABSTRACT_KEPT_FRAME  /**< What was at ABSTRACT_FRAME number. */
};

/** The number of an ABSTRACT_ERROR, where integers are compared. */
enum error_return {
    ERROR_IS_MINUS_ONE,
    ERROR_IS_ZERO,
    ERROR_IS_EITHER /**< Whichever is asked for. */
};

/** What is known of a number on one path, whatever the arguments are (abstract interpretation). */
struct abstract_value {
    uint8_t kind; /**< enum abstract_kind */
    uint64_t number;
};

/** Whether it is an address of memory whose contents are followed. */
static inline bool flow_is_address(struct abstract_value value)
{
    return value.kind == ABSTRACT_STACK || value.kind == ABSTRACT_FRAME ||
           value.kind == ABSTRACT_SHARED;
}

#define FLOW_SLOT_LIMIT 48

struct flow_slot {
    struct abstract_value at; /**< ABSTRACT_STACK, ABSTRACT_FRAME or ABSTRACT_SHARED. */
    uint8_t width;
    struct abstract_value value;
};

struct flow_state {
    const struct code_abi *abi;
    uint64_t pc;
    struct abstract_value registers[INSTRUCTION_REGISTER_LIMIT]; /**< By DWARF's numbers. */
    struct abstract_value vectors[INSTRUCTION_REGISTER_LIMIT];   /**< Of floating point. */
    uint16_t slot_count;
    uint8_t compared_width; /**< 0: the flags are not known. */
    bool compared_real;     /**< What was compared are numbers of floating point. */
    struct abstract_value left;
    struct abstract_value right;
    uint16_t calls; /**< Calls passed that can fail. */
    uint32_t steps;
    bool tested; /**< A branch was decided by ABSTRACT_ERROR. */
    bool caught; /**< The exception was taken. */
    bool taken;  /**< It was, and has not been set again. */
    bool keeps;  /**< What memory held at the start is told, while all that is written is known. */
    /** Where a parallel block keeps line and file of its failure, ABSTRACT_SHARED; or
     * ABSTRACT_UNKNOWN.
     */
    struct abstract_value line_address;
    struct abstract_value file_address;
    /** Come last: only those that are used are set, and copied. */
    struct flow_slot slots[FLOW_SLOT_LIMIT];
};

/** The lowest bytes of a number. */
static inline uint64_t flow_truncate(uint64_t number, uint8_t width)
{
    return width >= 8 ? number : number & ((UINT64_C(1) << (8 * width)) - 1);
}

/** The number that the lowest bytes are, with their sign. */
static inline int64_t flow_sign_extend(uint64_t number, uint8_t width)
{
    unsigned shift = width >= 8 || width == 0 ? 0 : 64 - 8 * (unsigned)width;
    return (int64_t)(number << shift) >> shift;
}

/** Stack and frame pointer are known as such, nothing else. */
void flow_state_init(struct flow_state *state, const struct code_abi *abi, uint64_t pc);
void flow_state_copy(const struct flow_state *state, struct flow_state *ret);
/** A hash of all that can decide how it goes on. */
uint64_t flow_state_hash(const struct flow_state *state);
/** Executes all but calls, jumps and branches; state->pc moves to the next instruction. */
void flow_state_step(struct flow_state *state, const struct code_image *image,
                     const struct instruction *instruction);
/** What was compared last is not known any more. */
void flow_state_forget_flags(struct flow_state *state);
/** What was stored `offset` bytes above the stack pointer. */
struct abstract_value flow_state_load(const struct flow_state *state, uint64_t offset,
                                      uint8_t width);
/** What was stored at an address, of which flow_is_address() is true. */
struct abstract_value flow_state_load_at(const struct flow_state *state,
                                         struct abstract_value address, uint8_t width);
void flow_state_store_at(struct flow_state *state, struct abstract_value address, uint8_t width,
                         struct abstract_value value);
/** What a call leaves: the caller's registers are gone but for those that calls preserve. */
void flow_state_return(struct flow_state *state, struct abstract_value result);
/** An argument of a call at which the state stands, from 0; `width`: of one on the stack. */
struct abstract_value flow_state_argument(const struct flow_state *state, unsigned index,
                                          uint8_t width);
/** An argument at a function's entry: ABSTRACT_ARGUMENT, or ABSTRACT_STACK of where it is there. */
struct abstract_value flow_entry_argument(const struct code_abi *abi, unsigned index);
/** A register's value, when that is where something comes from; else `from` itself. */
struct abstract_value flow_state_resolve(const struct flow_state *state,
                                         struct abstract_value from);
/** What a call that is over has returned, whether a `double` or not. */
void flow_state_set_result(struct flow_state *state, struct abstract_value result);

/** Whether a condition holds; false when that is not known. Sets state->tested. */
bool flow_state_decide(struct flow_state *state, uint8_t condition, bool *ret);

#endif
