/** Shared by the files of room `diagnose` only. */
#ifndef PSC_DIAGNOSE_PRIVATE_H
#define PSC_DIAGNOSE_PRIVATE_H

#include "diagnose.h"

/** Of the target, not of the system that this is compiled on: Linux. */
enum diagnose_signal {
    SIGNAL_QUIT = 3,
    SIGNAL_ILL = 4,
    SIGNAL_TRAP = 5,
    SIGNAL_ABRT = 6,
    SIGNAL_BUS = 7,
    SIGNAL_FPE = 8,
    SIGNAL_SEGV = 11,
    SIGNAL_XCPU = 24,
    SIGNAL_XFSZ = 25,
    SIGNAL_SYS = 31
};

/** si_code, as far as it decides something here. */
enum diagnose_code {
    CODE_TKILL = -6,
    CODE_QUEUE = -1,
    CODE_USER = 0,
    CODE_KERNEL = 0x80,
    CODE_SEGV_MAPERR = 1,
    CODE_SEGV_ACCERR = 2,
    CODE_SEGV_PKUERR = 4,
    CODE_SEGV_CPERR = 10,
    CODE_BUS_ADRALN = 1,
    CODE_BUS_ADRERR = 2,
    CODE_ILL_ILLOPN = 2,
    CODE_FPE_INTDIV = 1,
    CODE_FPE_FLTDIV = 3,
    CODE_FPE_FLTUNK = 14,
    CODE_TRAP_TRACE = 2,
    CODE_TRAP_HWBKPT = 4,
    CODE_SYS_SECCOMP = 1
};

/**
 * Who sent the signal: "sent by itself with kill()", "sent by pid 12, its parent process".
 * @param registers  of the thread that took it; or NULL.
 */
void diagnose_describe_sender(const struct target *target, const struct target_signal *signal,
                              const struct target_registers *registers, struct text *ret);
/** Of SIGSYS: the call that was refused, with its arguments. */
void diagnose_describe_system_call(struct target *target, const struct target_signal *signal,
                                   const struct target_registers *registers, struct text *ret);

/**
 * What the interpreter was about, the innermost first: "in Thing.__del__, in the garbage
 * collector"; NULL: nothing that is worth a word. In the arena.
 */
PSC_MUST_CHECK enum psc_status diagnose_during(const struct trace_thread *thread,
                                               struct arena *arena, const char **ret);

struct fault;

/**
 * The object of Python that was in hand: whose deallocation or visit by the collector is on the
 * stack, by registers that agree with its type; NULL: none is certain. In the arena.
 */
PSC_MUST_CHECK enum psc_status diagnose_object(const struct diagnose_input *input,
                                               const struct fault *fault, const char **ret);

/**
 * What is damaged near a fault of the interpreter's own code or of its collector; NULL: nothing is
 * found. In the arena.
 */
PSC_MUST_CHECK enum psc_status diagnose_damage(const struct diagnose_input *input,
                                               const struct fault *fault, const char **ret);

/** Whether the program is PyInstaller's bootloader, of a program in one file. */
bool diagnose_is_bootloader(struct target *target);

#endif
