/**
 * @file
 * Part of the door `target`: what differs from machine to machine in this room and in those above,
 * as tables; chosen by the e_machine of a core file.
 *
 * To add a machine: a file machine_NAME.c, and a row in machine.c; then the same in disassembly/,
 * native/ and cython/code/, and its relocations in elf/relocations.c.
 */
#ifndef PSC_MACHINE_H
#define PSC_MACHINE_H

#include "base.h"

/**
 * The most registers that a machine has, those of them that calls preserve, and bytes that Linux
 * stores of them: room for AArch64's, which has more than x86-64 (x0 to x30, sp, pc; x19 to x29;
 * struct user_pt_regs; struct user_fpsimd_state).
 */
#define TARGET_REGISTER_LIMIT       33
#define TARGET_SAVED_LIMIT          11
#define TARGET_USER_REGISTERS_LIMIT ((size_t)34 * 8)
#define TARGET_VECTORS_LIMIT        528u

struct target;
struct target_thread;

/** By DWARF's numbers, see struct target_machine. */
struct target_registers {
    uint64_t value[TARGET_REGISTER_LIMIT];
    bool in_system_call;  /**< The kernel was at work for this thread. */
    uint32_t system_call; /**< Its number, with in_system_call. */
    /** A bit for each register whose value could not be had: of a thread that was not stopped. */
    uint64_t unknown;
};

/** Words of /proc/PID/syscall: the system call, six arguments, stack pointer, pc. */
#define TARGET_SYSCALL_WORDS 9

/** Vector registers, by DWARF's numbers, and where the kernel stores them. */
struct target_vectors {
    uint8_t first;
    uint8_t count;
    uint8_t size;    /**< Bytes of each. */
    uint16_t offset; /**< Of the first; they lie 16 bytes apart. */
    bool whole;      /**< Its low part can be read as an integer. */
};
#define TARGET_VECTOR_KINDS 2

/** What `long double` is, in 16 bytes. */
enum target_long_double {
    TARGET_LONG_DOUBLE_X87, /**< 80 bits with an explicit one, and padding. */
    TARGET_LONG_DOUBLE_QUAD /**< IEEE 754 binary128: AArch64's. */
};

struct target_machine {
    uint16_t elf_machine; /**< e_machine */
    const char *name;     /**< As uname(2) says. */
    const char *title;    /**< In sentences. */

    /* Registers, by their DWARF numbers. */
    uint8_t register_count; /**< Numbers below are general registers, and pc. */
    uint8_t pc;
    uint8_t sp;
    uint8_t frame_pointer;
    uint8_t return_column;             /**< Where call frame information has the return address. */
    uint8_t saved[TARGET_SAVED_LIMIT]; /**< What calls preserve, but for the stack pointer. */
    uint8_t saved_count;
    struct target_vectors vectors[TARGET_VECTOR_KINDS];

    /* What the ABI and the C libraries do with them. */
    enum target_long_double long_double;
    bool call_pushes;  /**< A call leaves its return address on the stack. */
    uint16_t red_zone; /**< Bytes below sp that a leaf function may use. */
    /** What a thread pointer points to begins with its own address. */
    bool thread_pointer_is_self;
    /** glibc's struct pthread: where it holds its own address, and the tid; bytes up to there. */
    uint16_t pthread_self, pthread_tid, pthread_end;
    /** musl's struct pthread: where it holds the tid, in one of its versions or another. */
    uint16_t musl_tid[2];

    /* Linux: core files' notes, and what ptrace gives. */
    uint16_t status_size;      /**< struct elf_prstatus */
    uint16_t user_size;        /**< struct user_regs_struct */
    const uint8_t *user_index; /**< The word in it of each register. */
    uint8_t user_system_call;  /**< The word of the system call; it holds -1 in none. */
    uint8_t user_thread_pointer;
    uint8_t user_syscall_words[TARGET_SYSCALL_WORDS]; /**< Of /proc/PID/syscall. */
    uint16_t vectors_size;                            /**< NT_PRFPREG */
    uint32_t extended_note; /**< The type of the note with all vector registers. */
    /**
     * Takes a note of owner "LINUX" behind a thread's registers, of which the machine alone knows:
     * AArch64 has its thread pointer there (NT_ARM_TLS), its system call, and which bits of a
     * return address sign it (NT_ARM_PAC_MASK, for target->signed_bits). NULL: it needs none.
     */
    void (*take_note)(struct target *target, struct target_thread *thread, uint32_t type,
                      const uint8_t *bytes, size_t size);
    /** The kernel's signal frame: where in it the registers are, in which order, and where it has
     * the address of the vector registers. */
    uint16_t signal_registers;
    const uint8_t *signal_order;
    uint16_t signal_vectors;
    uint8_t call_result;   /**< The register of a system call's result. */
    uint16_t restart_call; /**< restart_syscall, which goes on with another one. */
    /** The number that the code before `pc` put in place for its system call. */
    bool (*find_call_before)(struct target *target, psc_addr pc, uint32_t *ret);
    const uint16_t *waiting_calls; /**< System calls that wait for something from outside. */
    size_t waiting_call_count;

    /** Whether a trap instruction was the last one before `pc`; true when it is not readable. */
    bool (*ran_trap)(struct target *target, psc_addr pc);
};

/** NULL when core files of it are not handled. */
const struct target_machine *target_machine_find(uint16_t elf_machine);
/** The one that this program runs on. */
const struct target_machine *target_machine_here(void);
/** The titles of all that are handled, for sentences. */
const char *target_machine_titles(void);

#endif
