/**
 * @file
 * Room `native`: the native stack of a thread, from its registers.
 *
 * Rows (how to get from a frame to its caller) are made once per program
 * counter: by libunwind from .eh_frame_hdr, else by libdw from .eh_frame without
 * a header or .debug_frame; where there is no rule named heuristics take over. Each
 * frame says which. The walk can start anywhere, so that merge/ can go on
 * behind a part that no rule covers. Knows no Python.
 *
 * What cannot be read ends a walk, which says why (enum native_end); errors are PSC_ERR_MEMORY,
 * and those of native_step().
 */
#ifndef PSC_NATIVE_H
#define PSC_NATIVE_H

#include "modules.h"

/** How a frame was found, best first. */
enum native_trust {
    NATIVE_TRUST_CONTEXT,       /**< The thread's own registers. */
    NATIVE_TRUST_CFI,           /**< Call frame information; the kernel's signal frame. */
    NATIVE_TRUST_FRAME_POINTER, /**< The chain of saved frame pointers, checked. */
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
    psc_addr sp;    /**< The stack pointer in this frame. */
    psc_addr cfa;   /**< Canonical frame address: sp of the caller; 0 when not known. */
    uint8_t trust;  /**< enum native_trust: how this frame was found. */
    uint8_t engine; /**< enum native_engine: what took the step from the inner frame to here. */
    bool exact;  /**< pc is the next instruction (innermost, or interrupted), no return address. */
    bool signal; /**< This is the signal trampoline (__restore_rt). */
    /**
     * It was guessed, and words on the stack that were passed over may be return addresses: frames
     * between the inner one and this one may be missing.
     */
    bool skipped;
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
    NATIVE_END_LIMIT,      /**< PSC_NATIVE_FRAME_LIMIT. */
    NATIVE_END_BLANK       /**< The stack at `end_address` is all zeros: it was left out. */
};

/** Frames of one stack after which a walk stops: deep recursion is a real crash, endless is not. */
#define PSC_NATIVE_FRAME_LIMIT 4000000u
/** Of all stacks; the first one may have more, and each has PSC_NATIVE_FRAME_LEAST. */
#define PSC_NATIVE_FRAME_TOTAL 1000000u
#define PSC_NATIVE_FRAME_LEAST 16u

/** The registers that a call preserves, as they are in one frame: those of machine->saved. */
struct native_saved {
    uint64_t value[TARGET_SAVED_LIMIT];
    uint16_t known; /**< A bit for each. */
};

/** All registers of a frame whose pc is exact: it has called nothing since. */
struct native_exact {
    size_t frame;
    struct target_registers registers;
};

struct native_stack {
    struct native_frame *frames; /**< Innermost first; malloc'd, see native_stack_deinit(). */
    size_t count;
    size_t capacity;
    enum native_end end;
    psc_addr
        end_address; /**< For UNREADABLE and BLANK: the address; for NO_RULE and CYCLE: the pc. */
    /** Registers at the last frame, to reason about going on. */
    struct target_registers last;
    /** Set before the walk: of so many frames registers are kept, for native_get_context(). */
    size_t kept_frames;
    bool lacks; /**< It ended where registers were wanted that are not known. */
    bool skips; /**< Some frame is or was `skipped`, or is of NATIVE_TRUST_ANCHOR. */
    /** Of native_walk_again(): so many of the outermost frames are known of the walk before. */
    size_t known_outer;
    const uint8_t *vectors;     /**< The thread's; see struct target_thread. */
    struct native_saved *saved; /**< Of the first frames, at most NATIVE_SAVED_LIMIT; malloc'd. */
    size_t saved_count;
    size_t saved_capacity;
    struct native_exact *exact; /**< By rising frame; malloc'd. */
    size_t exact_count;
    size_t exact_capacity;
};

/** Frames of one stack whose registers are kept. */
#define NATIVE_SAVED_LIMIT ((size_t)1 << 18)

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
/**
 * To be called when the threads or the memory of the target are others than before, as in a new
 * snapshot of a living process: forgets what was read of them. What is known of code stays.
 */
void native_forget_threads(struct native *native);

/**
 * The same for who samples: threads come one at a time, and their registers are taken from the
 * target alone.
 */
void native_take_sample(struct native *native);
/** To be called after modules_take_new(): rows are looked for anew where none was found. */
void native_forget_unknown(struct native *native);

/** Walks thread `index` of the target from its registers. Appends to a zeroed `ret`. */
PSC_MUST_CHECK enum psc_status native_walk(struct native *native, size_t index,
                                           struct native_stack *ret);

/** A frame of the last walk, and the registers that calls preserve, as they were in it. */
struct walked_frame {
    struct native_frame frame;
    struct native_saved saved;
};

/** Bytes of a stack, and frames of it, that are kept for the next walk; larger ones are not. */
#define WALKED_STACK_LIMIT ((psc_addr)2 * 1024 * 1024)
#define WALKED_FRAME_LIMIT ((size_t)16384)

/**
 * What the last walk of a thread leaves for the next one: its outermost frames and their part of
 * the stack. Zero it at first, see native_walked_deinit().
 */
struct native_walked {
    struct walked_frame *frames; /**< Outermost first; malloc'd. */
    size_t count;
    size_t capacity;
    uint8_t *bytes; /**< Of the stack; malloc'd. Those from `low` to `high` are its last ones. */
    size_t byte_capacity;
    psc_addr low;
    psc_addr high;
    psc_addr same_from;         /**< In a walk: from here to `high` the stack is as it was. */
    struct native_saved *fresh; /**< In a walk: of the frames so far, innermost first. */
    size_t fresh_count;
    size_t fresh_capacity;
};

/**
 * The same as native_walk(), for who walks a thread again and again: it ends at the first frame
 * that is as it was in the walk before, with all of the stack outside of it, and takes what is
 * outside from there. To be forgotten when code may be another than before.
 * @param walked  of this thread; what is not worth keeping is not kept.
 */
PSC_MUST_CHECK enum psc_status native_walk_again(struct native *native, size_t index,
                                                 struct native_walked *walked,
                                                 struct native_stack *ret);
/** Bytes of memory that it has. */
size_t native_walked_size(const struct native_walked *walked);
/** Forgets all. */
void native_walked_deinit(struct native_walked *walked);

/**
 * Walks from given registers; the first frame appended is the one they describe,
 * marked `trust`. `exact`: see struct native_frame.
 */
PSC_MUST_CHECK enum psc_status native_walk_from(struct native *native,
                                                const struct target_registers *registers,
                                                bool exact, enum native_trust trust,
                                                struct native_stack *ret);

/**
 * One step by row only (no heuristics): from the registers of a frame to those
 * of its caller; pc becomes 0 where the row says that there is none.
 * @return PSC_OK, PSC_ERR_NOT_FOUND (no rule), PSC_ERR_FAULT, PSC_ERR_LIMIT (too many rows).
 */
PSC_MUST_CHECK enum psc_status native_step(struct native *native,
                                           const struct target_registers *registers, bool exact,
                                           struct target_registers *ret, psc_addr *ret_cfa);

/* ---- where variables are ---- */

/** What is known of the registers in one frame. */
struct native_context {
    struct target_registers registers;
    uint64_t known; /**< A bit for each register, by its DWARF number. */
    psc_addr cfa;   /**< 0: not known. */
    /** The others are known, as in struct target_thread; no call preserves them. */
    bool has_vectors;
    uint8_t vectors[TARGET_VECTORS_LIMIT];
};

/** The registers of a frame, of a stack that was walked with kept_frames. */
void native_get_context(const struct target *target, const struct native_stack *stack, size_t index,
                        struct native_context *ret);
/**
 * The same, with vector registers of frames where they are known: the innermost one, and those
 * that a signal interrupted.
 */
void native_read_context(struct target *target, const struct native_stack *stack, size_t index,
                         struct native_context *ret);

/** Bytes of a variable that lies in registers or in pieces; larger ones have to be in memory. */
#define NATIVE_VALUE_LIMIT 512u

/** Where a variable is, or what it is. */
struct native_value {
    bool in_memory;
    psc_addr address; /**< With in_memory. */
    size_t size;      /**< Of bytes[]; 0 with in_memory. */
    bool unsaved;     /**< Some part was in a register, whose value in this frame is gone. */
    uint8_t bytes[NATIVE_VALUE_LIMIT];
    uint8_t known[NATIVE_VALUE_LIMIT]; /**< Not 0 where the byte is known. */
};

/** What an expression is evaluated in. */
struct native_evaluation {
    const struct native_context *context;
    const struct debug_expression *frame_base; /**< May be NULL. */
    /**
     * What the expression was when the function was entered, as its caller knows; NULL: nothing
     * is known.
     */
    bool (*enter)(void *entry, const struct debug_expression *expression, uint64_t *ret);
    void *entry;
};

enum native_location {
    NATIVE_LOCATION_FOUND,
    NATIVE_LOCATION_LOST,       /**< It is nowhere any more. */
    NATIVE_LOCATION_UNSAVED,    /**< It was in a register, whose value in this frame is gone. */
    NATIVE_LOCATION_UNREADABLE, /**< Memory on the way there can not be read. */
    NATIVE_LOCATION_UNSUPPORTED /**< Its description is not understood. */
};

/** Finds a variable of `size` bytes by the description that debug information has of its place. */
enum native_location native_locate(struct target *target,
                                   const struct native_evaluation *evaluation,
                                   const struct debug_expression *expression, uint64_t size,
                                   struct native_value *ret);
/** An expression that is a value: a call site's, say. */
enum native_location native_evaluate(struct target *target,
                                     const struct native_evaluation *evaluation,
                                     const struct debug_expression *expression, uint64_t *ret);

const struct native_statistics *native_get_statistics(const struct native *native);
/**
 * Forgets the frames from `count` on, at least one of which stays: they were guessed, and something
 * else tells better. The stack then ends there, by NATIVE_END_NO_RULE.
 */
void native_stack_cut(struct native_stack *stack, size_t count);
void native_stack_deinit(struct native_stack *stack);

#endif
