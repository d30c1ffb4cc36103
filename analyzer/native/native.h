/**
 * @file
 * Room `native`: the native stack of a thread, from its registers.
 *
 * Rows (how to get from a frame to its caller) are made once per program
 * counter: by libunwind from .eh_frame_hdr, else by libdw from .eh_frame without
 * a header or .debug_frame; where there is no rule named heuristics take over. Each
 * frame says which. The walk can start anywhere, so that trace/ can go on
 * behind a part that no rule covers.
 */
#ifndef PSC_NATIVE_H
#define PSC_NATIVE_H

#include "modules.h"

/** How a frame was found, best first. */
enum native_trust {
    NATIVE_TRUST_CONTEXT,       /**< The thread's own registers. */
    NATIVE_TRUST_CFI,           /**< Call frame information; the kernel's signal frame. */
    NATIVE_TRUST_FRAME_POINTER, /**< The chain of saved rbp, checked. */
    NATIVE_TRUST_SCAN,          /**< A checked return address found on the stack. */
    NATIVE_TRUST_ANCHOR         /**< Continued from an object on the stack that Python points to. */
};

enum native_engine {
    NATIVE_ENGINE_NONE,
    NATIVE_ENGINE_LIBUNWIND,
    NATIVE_ENGINE_LIBDW,
    NATIVE_ENGINE_HEURISTIC
};

struct native_frame {
    psc_addr pc;    /**< As a debugger shows it: the return address in callers. */
    psc_addr sp;    /**< rsp in this frame. */
    psc_addr cfa;   /**< Canonical frame address: sp of the caller; 0 when not known. */
    uint8_t trust;  /**< enum native_trust: how this frame was found. */
    uint8_t engine; /**< enum native_engine: what took the step from the inner frame to here. */
    bool exact;     /**< pc itself is the place (innermost, or interrupted by a signal). */
    bool signal;    /**< This is the signal trampoline (__restore_rt). */
};

/**
 * The address to look up for a frame: the call, not what follows it. A signal
 * trampoline was not called: its own begin is the return address of the handler.
 */
static inline psc_addr native_lookup_pc(const struct native_frame *frame)
{
    return frame->exact || frame->signal ? frame->pc : frame->pc - 1;
}

/** Why a walk ended. */
enum native_end {
    NATIVE_END_COMPLETE, /**< The CFI says that nothing called this, or the return address is 0. */
    NATIVE_END_NO_RULE,  /**< No unwind rule, and no heuristic found a caller. */
    NATIVE_END_UNREADABLE, /**< The stack at `end_address` cannot be read. */
    NATIVE_END_CYCLE,      /**< The stack pointer did not rise. */
    NATIVE_END_LIMIT       /**< PSC_NATIVE_FRAME_LIMIT. */
};

/** Frames per thread after which a walk stops: deep recursion is a real crash, endless is not. */
#define PSC_NATIVE_FRAME_LIMIT 4000000u

struct native_stack {
    struct native_frame *frames; /**< Innermost first; malloc'd, see native_stack_deinit(). */
    size_t count;
    size_t capacity;
    enum native_end end;
    psc_addr end_address; /**< For UNREADABLE: the address; for NO_RULE and CYCLE: the pc. */
    /** Registers at the last frame, to reason about going on. */
    struct target_registers last;
};

struct native;

struct native_statistics {
    size_t steps_libunwind, steps_libdw, steps_heuristic;
    size_t rows; /**< Distinct program counters for which a row was made. */
};

/**
 * @param unwinder  which engine is asked first for a row.
 * Keeps `target` and `modules`.
 */
PSC_MUST_CHECK enum psc_status native_create(struct target *target, struct modules *modules,
                                             enum psc_unwinder unwinder, struct native **ret,
                                             struct psc_error *err);
void native_destroy(struct native *native);

/** Walks thread `index` of the target from its registers. Appends to a zeroed `ret`. */
PSC_MUST_CHECK enum psc_status native_walk(struct native *native, size_t index,
                                           struct native_stack *ret);

/**
 * Walks from given registers; the first frame appended is the one they describe,
 * marked `trust`. `exact`: rip is the place itself, not a return address.
 */
PSC_MUST_CHECK enum psc_status native_walk_from(struct native *native,
                                                const struct target_registers *registers,
                                                bool exact, enum native_trust trust,
                                                struct native_stack *ret);

/**
 * One step by row only (no heuristics): from the registers of a frame to those
 * of its caller; rip becomes 0 where the row says that there is none.
 * @return PSC_OK, PSC_ERR_NOT_FOUND (no rule), PSC_ERR_FAULT, PSC_ERR_LIMIT (too many rows).
 */
PSC_MUST_CHECK enum psc_status native_step(struct native *native,
                                           const struct target_registers *registers, bool exact,
                                           struct target_registers *ret, psc_addr *ret_cfa);

const struct native_statistics *native_get_statistics(const struct native *native);
void native_stack_deinit(struct native_stack *stack);

#endif
