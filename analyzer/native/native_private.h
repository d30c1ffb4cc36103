/**
 * @file
 * Inside room `native`: rows, the two engines that make and apply them, and
 * what takes over where there is no row.
 *
 *   unwinder.c        the walk
 *   rows.c            one row per program counter, made once, and what applies it
 *   rows_libunwind.c  rows and steps by libunwind; mini_core.c feeds it registers
 *   rows_libdw.c      rows and steps by libdw
 *   cfi_check.c       what call frame information must look like to be given to either
 *   heuristics.c      a caller without a row; returns.c reads machine code for it
 *   code_x86_64.c     what a machine's code looks like, one file a machine
 *   word_reader.c     words of the target's memory
 *   contexts.c        the registers of each frame, where they are asked for
 *   walked.c          the frames of the walk before, for who walks a thread again
 *   location/         DWARF expressions: of rows, and where variables are
 */
#ifndef PSC_NATIVE_PRIVATE_H
#define PSC_NATIVE_PRIVATE_H

#include "native.h"

/** Distinct program counters of one target; a stack with more is made up. */
#define ROW_LIMIT ((size_t)1 << 18)
/** Words that libunwind may read to make a row, or to apply one. */
#define ROW_READ_LIMIT  ((uint32_t)1 << 20)
#define STEP_READ_LIMIT 4096u
/** How often the stack pointer of one walk may fall (sigaltstack, stack switches). */
#define STACK_SWITCH_LIMIT 64u
/** How far up the stack a return address is looked for, and for how many words in one walk. */
#define SCAN_BYTES      ((psc_addr)64 * 1024)
#define SCAN_WORD_LIMIT ((size_t)1 << 22)

/* ---- rows ---- */

enum row_kind {
    ROW_NONE,
    ROW_LIBUNWIND,
    ROW_LIBDW,
    ROW_SIGNAL_RETURN /**< The kernel's signal frame, known by the code of its trampoline. */
};

/** What is known of a program counter. */
struct row {
    psc_addr pc;
    void *rule;   /**< Of the engine; owned by native->rules. */
    uint8_t kind; /**< enum row_kind */
    bool exact;   /**< As in struct native_frame. */
    bool signal;  /**< Signal trampoline: its caller was interrupted. */
    bool code;    /**< Executable memory. */
};

static inline psc_addr row_lookup_pc(const struct row *row)
{
    return row->exact ? row->pc : row->pc - 1;
}

/**
 * The row for a program counter, made on first need.
 * @return PSC_ERR_LIMIT after ROW_LIMIT of them, PSC_ERR_MEMORY.
 */
PSC_MUST_CHECK enum psc_status row_find(struct native *native, psc_addr pc, bool exact,
                                        struct row *ret);

/* ---- steps ---- */

enum step_result {
    STEP_OK,
    STEP_END,     /**< The row says that there is no caller. */
    STEP_FAULT,   /**< Memory at `fault` cannot be read. */
    STEP_INVALID, /**< No row, or one that makes no sense. */
    STEP_UNKNOWN  /**< It takes registers that are not known. */
};

struct step {
    psc_addr pc; /**< Of the caller. */
    psc_addr sp;
    psc_addr fault;
};

/** From the registers of a frame to those of its caller, by its row. */
enum step_result row_apply(struct native *native, const struct row *row,
                           const struct target_registers *registers, struct target_registers *ret,
                           struct step *ret_step);

/* ---- libunwind ---- */

struct libunwind_engine;
/** A frame at which libunwind's cursor stands; applying a row there copies no registers. */
struct libunwind_cursor;

/** NULL when libunwind lacks something or refuses: the other engine then does all. */
struct libunwind_engine *libunwind_create(struct native *native);
void libunwind_destroy(struct libunwind_engine *engine);
/** The threads of the target, and their registers, are others than when it was created. */
void libunwind_reload_threads(struct libunwind_engine *engine);
/** From now on the registers of threads are taken from the target. */
void libunwind_forget_threads(struct libunwind_engine *engine);
/** Sets kind, rule and signal; false when there is no rule. */
bool libunwind_make_row(struct libunwind_engine *engine, struct module *module, struct row *row);
/** The cursor that walks use; steps from registers have their own. */
struct libunwind_cursor *libunwind_walk_cursor(struct libunwind_engine *engine);
bool libunwind_load_thread(struct libunwind_cursor *cursor, size_t index);
bool libunwind_load(struct libunwind_cursor *cursor, const struct target_registers *registers);
/** Takes the step on a copy; libunwind_commit() moves `cursor` to where it led. */
enum step_result libunwind_try(struct libunwind_cursor *cursor, const struct row *row,
                               struct step *ret);
void libunwind_commit(struct libunwind_cursor *cursor);
void libunwind_get_registers(struct libunwind_cursor *cursor, struct target_registers *ret);
/** Of the registers that calls preserve those that can be read; the others are not known. */
void libunwind_get_saved(struct libunwind_cursor *cursor, struct native_saved *ret);
enum step_result libunwind_step(struct libunwind_engine *engine, const struct row *row,
                                const struct target_registers *registers,
                                struct target_registers *ret, struct step *ret_step);

/**
 * An ELF core file in memory that holds the threads' NT_PRSTATUS notes and
 * nothing else, all fields ours. @return a file descriptor, or -1.
 */
int mini_core_create(const struct target *target);

/* ---- libdw ---- */

struct libdw_engine;
struct libdw_engine *libdw_create(struct native *native);
void libdw_destroy(struct libdw_engine *engine);
bool libdw_make_row(struct libdw_engine *engine, struct module *module, struct row *row);
enum step_result libdw_step(struct native *native, const struct row *row,
                            const struct target_registers *registers, struct target_registers *ret,
                            struct step *ret_step);

/* ---- call frame information from outside ---- */

/** Whether a call leads somewhere, as far as it can be told. */
enum code_call {
    CODE_CALL_NO,
    CODE_CALL_UNKNOWN, /**< Executable, but its bytes are not at hand. */
    CODE_CALL_YES
};

/** What follows from a CIE for its FDEs. */
struct cfi_common {
    const struct target_machine *machine;
    uint8_t pointer_size;
    bool augmented;     /**< FDEs begin with a sized augmentation ('z'). */
    bool signal;        /**< 'S' */
    bool value_offsets; /**< DW_CFA_val_offset occurs, which libunwind does not know. */
    /** A rule for the stack pointer occurs; libunwind takes the CFA whatever it says. */
    bool stack_pointer_rule;
};

/**
 * Checks the body of a CIE (behind its id) and of an FDE (behind its CIE
 * pointer): known version and augmentation, return address where it is, registers
 * that exist, blocks that end inside, expressions of plain operations. What
 * passes can be given to either engine without harm.
 */
bool parse_cfi_common(const struct target_machine *machine, const uint8_t *bytes, size_t size,
                      struct cfi_common *ret);
bool parse_cfi_entry(const uint8_t *bytes, size_t size, struct cfi_common *common);

/**
 * Finds the FDE for an address by the module's search table, in the target's
 * memory, and checks it.
 */
bool cfi_check_address(struct native *native, const struct module *module, psc_addr address,
                       struct cfi_common *ret);

/**
 * Whether two addresses are in one function, by the search table of their module.
 * CODE_CALL_UNKNOWN where there is none.
 */
enum code_call cfi_is_same_function(struct native *native, psc_addr left, psc_addr right);

/* ---- machine code ---- */

/** True for executable memory, and for that of a missing file whose permissions nobody tells. */
bool code_is_possible(struct native *native, psc_addr address);

/** What is known of a machine's code without a disassembler; a code_MACHINE.c each. */
struct code_machine {
    uint16_t elf_machine;
    /** True when the code at pc is the kernel's way back from a signal handler. */
    bool (*is_signal_return)(struct native *native, psc_addr pc);
    /** Whether something may return to the address: code behind a call, or a signal trampoline. */
    enum code_call (*follows_call)(struct native *native, psc_addr address);
    /**
     * The function that the call before a return address called, also by way of the procedure
     * linkage table. False where a register or other memory told the call.
     */
    bool (*find_callee)(struct native *native, psc_addr address, psc_addr *ret);
    /** True for a function that begins with what stops the process. */
    bool (*begins_with_stop)(struct native *native, psc_addr pc);
    /**
     * Runs a function's end (what moves the stack pointer, pops, a return) that begins at pc.
     * False when the code there is anything else.
     */
    bool (*run_epilogue)(struct native *native, const struct target_registers *registers,
                         struct target_registers *ret);
    /** True at the first instructions of a function, with the return address still near sp. */
    bool (*at_entry)(struct native *native, const struct target_registers *registers,
                     psc_addr *ret_return_slot);
    /** True when the code at a return address ends the thread or the process. */
    bool (*ends_thread)(struct native *native, psc_addr pc);
    /** The same of code that does nothing else: the program's entry, and musl's clone. */
    bool (*surely_ends_thread)(struct native *native, psc_addr pc);
    /** True in a thread that clone() has just made: nobody called it. */
    bool (*begins_thread)(struct native *native, const struct target_registers *registers);
};
extern const struct code_machine code_x86_64;

/* ---- returns.c ---- */

/** A disassembler and the ways out that were found; made on first need. */
struct returns;
void returns_destroy(struct returns *returns);
/**
 * The caller of a function without call frame information: its code is followed from pc to
 * its returns, with all branches. Where they agree on where the return address is, and that is
 * behind a call, `ret` gets the caller's registers, what was saved on the stack restored.
 * @param exact     as in struct native_frame.
 * @param ret_sure  false behind a call: other code may follow one that does not return.
 */
bool returns_run(struct native *native, const struct target_registers *registers, bool exact,
                 struct target_registers *ret, bool *ret_sure);

/* ---- heuristics ---- */

/** A caller found without a row. */
struct guessed_caller {
    struct target_registers registers;
    enum native_trust trust;
    bool skipped; /**< As in struct native_frame. */
};

/** `budget`: words that may still be scanned. */
bool heuristics_find_caller(struct native *native, const struct row *row,
                            const struct target_registers *registers, size_t *budget,
                            struct guessed_caller *ret);

/* ---- the room's memory ---- */

#define NATIVE_PAGE    ((psc_addr)4096)
#define NATIVE_WINDOWS 64

struct native {
    struct target *target;
    const struct target_machine *machine; /**< Of the target. */
    const struct code_machine *code;
    struct modules *modules;
    enum psc_unwinder unwinder;
    struct libunwind_engine *libunwind; /**< May be NULL. */
    struct libdw_engine *libdw;
    struct returns *returns; /**< NULL until it is needed. */
    struct hash_table rows;  /**< struct row */
    struct arena *rules;
    struct native_statistics statistics;
    size_t frame_count; /**< Of all stacks that were walked. */
    /** Pages of the target that lie in this process, by page number. */
    struct {
        psc_addr page;
        const uint8_t *bytes;
    } windows[NATIVE_WINDOWS];
};

bool native_read_word_slowly(struct native *native, psc_addr address, uint64_t *ret);

static inline bool native_read_word(struct native *native, psc_addr address, uint64_t *ret)
{
    psc_addr page = address & ~(NATIVE_PAGE - 1);
    size_t offset = (size_t)(address - page);
    size_t index = (size_t)(page / NATIVE_PAGE) % NATIVE_WINDOWS;
    if (native->windows[index].page != page || !native->windows[index].bytes ||
        offset > NATIVE_PAGE - sizeof(*ret))
        return native_read_word_slowly(native, address, ret);
    *ret = load_u64(native->windows[index].bytes + offset);
    return true;
}

/* ---- walked.c ---- */

/** Finds from where on the stack is as it was: walked->same_from. */
void walked_compare(struct native *native, struct native_walked *walked, psc_addr sp);
/**
 * Looks for the frame that was just walked to among those of the walk before.
 * @param ret_outside  how many are outside of it there; SIZE_MAX: it is none of them.
 */
PSC_MUST_CHECK enum psc_status walked_find(struct native_walked *walked,
                                           const struct native_frame *frame,
                                           const struct native_saved *saved, size_t *ret_outside);
/** Appends what is outside of the frame that was found, the last one of the stack. */
PSC_MUST_CHECK enum psc_status walked_take(const struct native_walked *walked,
                                           struct native_stack *stack);
/** Keeps a stack for the next walk. */
void walked_keep(struct native *native, struct native_walked *walked,
                 const struct native_stack *stack);

/* ---- contexts.c ---- */

/** All that struct native_saved holds. */
static inline uint16_t native_saved_all(const struct native *native)
{
    return (uint16_t)((1u << native->machine->saved_count) - 1);
}

/**
 * Keeps the registers of the last frame of the stack.
 * @param registers  NULL: they are in `saved`.
 */
PSC_MUST_CHECK enum psc_status contexts_keep(struct native_stack *stack,
                                             const struct target_registers *registers,
                                             const struct native_saved *saved);

#endif
