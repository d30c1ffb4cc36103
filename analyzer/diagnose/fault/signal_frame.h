/**
 * @file
 * What the kernel leaves on the stack for a signal handler. The only file that knows a machine's
 * is signal_frame_MACHINE.c; to add one: such a file, and its row in signal_frame.c.
 */
#ifndef PSC_SIGNAL_FRAME_H
#define PSC_SIGNAL_FRAME_H

#include "target.h"

enum signal_trap {
    SIGNAL_TRAP_UNKNOWN,
    SIGNAL_TRAP_PAGE_FAULT,
    SIGNAL_TRAP_PROTECTION,
    SIGNAL_TRAP_DIVISION,
    SIGNAL_TRAP_ILLEGAL,
    SIGNAL_TRAP_REAL,   /**< Of floating point. */
    SIGNAL_TRAP_VECTOR, /**< Of floating point, in vector registers. */
    SIGNAL_TRAP_BREAKPOINT,
    SIGNAL_TRAP_ALIGNMENT
};

struct signal_frame {
    struct target_registers registers; /**< Of what was interrupted. */
    /* The thread's last fault, which need not be what this signal is of. */
    enum signal_trap trap;
    uint64_t error;
    psc_addr address;
    uint64_t blocked;      /**< Signals that were blocked, as in struct target_thread. */
    uint64_t arguments[3]; /**< Of the system call that it interrupted, if it was one. */
    uint8_t call_size;     /**< Bytes of the instruction for one. */
    /** What lies where the kernel puts siginfo for handlers that ask for it; else remains. */
    struct target_signal info;
};

/**
 * Reads the frame whose trampoline has the stack pointer `sp`.
 * @return false when it cannot be read, is none, or the machine is not known.
 */
bool signal_frame_read(struct target *target, psc_addr sp, struct signal_frame *ret);

/** Fills ret->arguments from registers. */
void signal_frame_take_arguments(const struct target *target,
                                 const struct target_registers *registers,
                                 struct signal_frame *ret);

struct signal_frame_machine {
    uint16_t elf_machine;
    bool (*read)(struct target *target, psc_addr sp, struct signal_frame *ret);
    uint8_t arguments[3]; /**< The registers of a system call's first three. */
    uint8_t call_size;
};

extern const struct signal_frame_machine signal_frame_x86_64;

#endif
