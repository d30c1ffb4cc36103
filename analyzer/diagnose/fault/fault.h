/**
 * @file
 * Room `diagnose/fault`: what the processor refused, from the registers, the instruction and what
 * is mapped; and which fault was the first where a signal handler has passed one on.
 *
 * Says only what these prove; what cannot be read stays unknown. Errors are PSC_ERR_MEMORY only.
 */
#ifndef PSC_FAULT_H
#define PSC_FAULT_H

#include "diagnose.h"
#include "native.h"
#include "target.h"
#include "trace.h"

/** A signal that a thread took, and its registers in that moment. */
struct fault {
    struct target *target;
    const struct target_thread *thread;       /**< NULL: not known. */
    const struct target_registers *registers; /**< NULL: not known. */
    struct target_signal signal;
    bool has_error; /**< The processor's error code is known: from a signal frame only. */
    uint64_t error;
};

/**
 * The register and the displacement by which the instruction of a fault called, jumped to or read a
 * member of a struct; false: it did not, or not for certain.
 */
bool fault_find_member(const struct fault *fault, struct arena *arena, uint8_t *ret_base,
                       int64_t *ret_displacement);

/**
 * Fills cause, access, instruction and operands of `crash`, in the arena, and appends to `summary`
 * what happened: of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP that the processor caused.
 */
PSC_MUST_CHECK enum psc_status fault_describe(const struct fault *fault, struct arena *arena,
                                              struct trace_crash *crash, struct text *summary);

/**
 * The first fault below the handlers on a thread's stack: the outermost signal frame whose
 * instruction must have faulted as the frame says, or that interrupted the sending of the very
 * signal which the process died of. *ret is zeroed where there is none.
 */
PSC_MUST_CHECK enum psc_status fault_find_first(struct target *target,
                                                const struct target_thread *thread,
                                                const struct native_stack *stack,
                                                struct first_fault *ret);

/**
 * The same of a thread that the process has not died of, or the fault of the instruction that it
 * stands at: one that faults whenever it is run, as far as can be told.
 */
PSC_MUST_CHECK enum psc_status fault_find_living(struct target *target,
                                                 const struct target_thread *thread,
                                                 const struct native_stack *stack,
                                                 struct first_fault *ret);

#endif
