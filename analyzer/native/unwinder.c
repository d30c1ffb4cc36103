#include "native_private.h"

#include <stdlib.h>
#include <string.h>

#define PREFETCH_BYTES ((size_t)64 * 1024)

static const struct code_machine *const code_machines[] = {
    &code_x86_64,
};

/* ---- life ---- */

static const struct code_machine *find_code(uint16_t elf_machine)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(code_machines); i++)
        if (code_machines[i]->elf_machine == elf_machine)
            return code_machines[i];
    return NULL;
}

enum psc_status native_create(struct target *target, struct modules *modules,
                              enum psc_unwinder unwinder, struct native **ret,
                              struct psc_error *err)
{
    struct native *native = calloc(1, sizeof(*native));
    if (!native)
        return psc_fail_memory(err);
    native->target = target;
    native->machine = target->machine;
    native->code = find_code(target->machine->elf_machine);
    native->modules = modules;
    native->unwinder = unwinder;
    native->rows = HASH_TABLE_OF(struct row);
    native->rules = arena_create();
    native->libdw = libdw_create(native);
    if (!native->code) {
        native_destroy(native);
        return psc_fail(err, PSC_ERR_UNSUPPORTED, "native stacks of %s are not handled",
                        target->machine->title);
    }
    if (!native->rules || !native->libdw) {
        native_destroy(native);
        return psc_fail_memory(err);
    }
    native->libunwind = libunwind_create(native);
    for (size_t i = 0; i < target->thread_count; i++)
        target_prefetch(target, target_sp(target, &target->threads[i].registers), PREFETCH_BYTES);
    *ret = native;
    return PSC_OK;
}

void native_destroy(struct native *native)
{
    if (!native)
        return;
    libunwind_destroy(native->libunwind);
    libdw_destroy(native->libdw);
    returns_destroy(native->returns);
    arena_destroy(native->rules);
    hash_table_deinit(&native->rows);
    free(native);
}

void native_forget_threads(struct native *native)
{
    memset(native->windows, 0, sizeof(native->windows));
    if (native->libunwind)
        libunwind_reload_threads(native->libunwind);
}

void native_take_sample(struct native *native)
{
    memset(native->windows, 0, sizeof(native->windows));
    native->frame_count = 0;
    if (native->libunwind)
        libunwind_forget_threads(native->libunwind);
}

const struct native_statistics *native_get_statistics(const struct native *native)
{
    return &native->statistics;
}

/* ---- steps ---- */

enum psc_status native_step(struct native *native, const struct target_registers *registers,
                            bool exact, struct target_registers *ret, psc_addr *ret_cfa)
{
    struct row row;
    struct step step = {0};
    struct target_registers next;
    enum psc_status status = row_find(native, registers->value[native->machine->pc], exact, &row);
    if (status != PSC_OK)
        return status;
    switch (row_apply(native, &row, registers, &next, &step)) {
    case STEP_END:
        next.value[native->machine->pc] = 0;
        // fall through
    case STEP_OK:
        *ret = next;
        *ret_cfa = step.sp;
        return PSC_OK;
    case STEP_FAULT:
        return PSC_ERR_FAULT;
    case STEP_INVALID:
    case STEP_UNKNOWN:
        break;
    }
    return PSC_ERR_NOT_FOUND;
}

/* ---- the walk ---- */

struct walker {
    struct native *native;
    struct native_stack *stack;
    struct libunwind_cursor *cursor; /* NULL without libunwind. */
    bool at_cursor;                  /* The registers of the frame are in `cursor`. */
    struct target_registers registers;
    struct target_registers next; /* Of the step that is being taken. */
    psc_addr pc;
    psc_addr sp;
    bool exact;
    unsigned switches;
    size_t scan_budget;
    uint16_t known; /* Which preserved registers are right: heuristics do not restore them. */
    struct native_walked *walked; /* What the walk before has left; or NULL. */
};

static void take_registers(struct walker *walker);

static void get_saved(struct walker *walker, struct native_saved *ret)
{
    const struct target_machine *machine = walker->native->machine;
    if (walker->at_cursor) {
        libunwind_get_saved(walker->cursor, ret);
        return;
    }
    ret->known = 0;
    for (size_t i = 0; i < machine->saved_count; i++) {
        ret->value[i] = walker->registers.value[machine->saved[i]];
        if (!(walker->registers.unknown >> machine->saved[i] & 1))
            ret->known |= (uint16_t)(1u << i);
    }
}

/* The registers of the frame that was just appended, when they are wanted. */
static enum psc_status keep_registers(struct walker *walker)
{
    struct native_saved saved;
    if (walker->stack->count > walker->stack->kept_frames)
        return PSC_OK;
    if (walker->exact)
        take_registers(walker);
    get_saved(walker, &saved);
    saved.known &= walker->known;
    bool whole = walker->exact && walker->known == native_saved_all(walker->native);
    return contexts_keep(walker->stack, whole ? &walker->registers : NULL, &saved);
}

static enum psc_status append(struct walker *walker, enum native_trust trust,
                              enum native_engine engine)
{
    struct native_stack *stack = walker->stack;
    void *frames = stack->frames;
    if (!array_reserve(&frames, &stack->capacity, stack->count + 1, sizeof(*stack->frames)))
        return PSC_ERR_MEMORY;
    stack->frames = frames;
    stack->frames[stack->count++] = (struct native_frame){.pc = walker->pc,
                                                          .sp = walker->sp,
                                                          .trust = (uint8_t)trust,
                                                          .engine = (uint8_t)engine,
                                                          .exact = walker->exact};
    return keep_registers(walker);
}

static struct native_frame *last_frame(struct walker *walker)
{
    return &walker->stack->frames[walker->stack->count - 1];
}

/* Makes walker->registers those of the frame. */
static void take_registers(struct walker *walker)
{
    if (!walker->at_cursor)
        return;
    libunwind_get_registers(walker->cursor, &walker->registers);
    walker->at_cursor = false;
}

static enum step_result try_row(struct walker *walker, const struct row *row, struct step *ret)
{
    // libunwind takes all registers as known, and heuristics do.
    if (walker->registers.unknown && (row->kind == ROW_NONE || row->kind == ROW_LIBUNWIND))
        return STEP_UNKNOWN;
    if (row->kind == ROW_NONE)
        return STEP_INVALID;
    if (row->kind != ROW_LIBUNWIND) {
        take_registers(walker);
        return row_apply(walker->native, row, &walker->registers, &walker->next, ret);
    }
    if (!walker->at_cursor) {
        if (!libunwind_load(walker->cursor, &walker->registers))
            return STEP_INVALID;
        walker->at_cursor = true;
    }
    return libunwind_try(walker->cursor, row, ret);
}

/*
 * The stack pointer rises from frame to frame, but for handlers on a signal
 * stack and functions that switch stacks (rows of hand-written assembler). What has called nothing
 * may have its return address in a register, with nothing on the stack: glibc's vfork()
 * (sysdeps/unix/sysv/linux/x86_64/vfork.S) has it in rdi while the child runs.
 */
static bool may_follow(struct walker *walker, const struct row *row, struct step *step)
{
    uint64_t word;
    // A call has left its return address there; what was interrupted may have overrun its stack.
    if (walker->native->machine->call_pushes && !row->signal &&
        !native_read_word(walker->native, step->sp - 8, &word)) {
        step->fault = step->sp - 8;
        return false;
    }
    if (step->sp > walker->sp)
        return true;
    if (step->sp == walker->sp)
        return walker->exact && !row->signal && step->pc != walker->pc;
    const struct target *target = walker->native->target;
    if (!row->signal &&
        target_find_mapping(target, step->sp) == target_find_mapping(target, walker->sp))
        return false;
    return ++walker->switches <= STACK_SWITCH_LIMIT;
}

static void count_step(struct walker *walker, const struct row *row, enum native_engine *ret_engine)
{
    struct native_statistics *statistics = &walker->native->statistics;
    if (row->kind == ROW_LIBUNWIND) {
        statistics->steps_libunwind++;
        *ret_engine = NATIVE_ENGINE_LIBUNWIND;
    } else if (row->kind == ROW_LIBDW) {
        statistics->steps_libdw++;
        *ret_engine = NATIVE_ENGINE_LIBDW;
    } else {
        statistics->steps_heuristic++;
        *ret_engine = NATIVE_ENGINE_HEURISTIC;
    }
}

/* Goes to the caller that the row found, and gives the caller's row. */
static enum psc_status go_by_row(struct walker *walker, struct row *row, const struct step *step,
                                 const struct row *next_row)
{
    enum native_engine engine;
    count_step(walker, row, &engine);
    last_frame(walker)->cfa = step->sp;
    walker->pc = step->pc;
    walker->sp = step->sp;
    walker->exact = row->signal;
    if (row->signal)
        walker->known = native_saved_all(walker->native);
    if (row->kind == ROW_LIBUNWIND)
        libunwind_commit(walker->cursor);
    else
        walker->registers = walker->next;
    *row = *next_row;
    return append(walker, NATIVE_TRUST_CFI, engine);
}

static enum psc_status go_by_heuristics(struct walker *walker, struct row *row, bool *ret_gone)
{
    struct guessed_caller caller;
    take_registers(walker);
    *ret_gone = heuristics_find_caller(walker->native, row, &walker->registers,
                                       &walker->scan_budget, &caller);
    if (!*ret_gone)
        return PSC_OK;
    walker->native->statistics.steps_heuristic++;
    walker->registers = caller.registers;
    walker->pc = walker->registers.value[walker->native->machine->pc];
    walker->sp = walker->registers.value[walker->native->machine->sp];
    walker->exact = false;
    walker->known = 0;
    last_frame(walker)->cfa = walker->sp;
    enum psc_status status = row_find(walker->native, walker->pc, false, row);
    if (status == PSC_OK)
        status = append(walker, caller.trust, NATIVE_ENGINE_HEURISTIC);
    if (status == PSC_OK)
        last_frame(walker)->skipped = caller.skipped;
    walker->stack->skips |= caller.skipped;
    return status;
}

static void end_walk(struct walker *walker, enum native_end end, psc_addr address)
{
    walker->stack->end = end;
    walker->stack->end_address = address;
}

/* No row and no heuristic: says what stood in the way. */
static void end_without_caller(struct walker *walker, const struct row *row,
                               enum step_result result, const struct step *step)
{
    uint64_t word;
    if (result == STEP_FAULT || step->fault)
        end_walk(walker, NATIVE_END_UNREADABLE, step->fault);
    else if (result == STEP_OK && step->sp <= walker->sp)
        end_walk(walker, NATIVE_END_CYCLE, walker->pc);
    else if (row->kind == ROW_NONE && !native_read_word(walker->native, walker->sp, &word))
        end_walk(walker, NATIVE_END_UNREADABLE, walker->sp);
    else
        end_walk(walker, NATIVE_END_NO_RULE, walker->pc);
}

/* System V ABI, AMD64 supplement, 3.4.1: the frame pointer is 0 in the outermost frame. */
static bool is_outermost(struct walker *walker, const struct row *row)
{
    if (row->kind != ROW_NONE || !row->code)
        return false;
    take_registers(walker);
    if (last_frame(walker)->exact &&
        walker->native->code->begins_thread(walker->native, &walker->registers))
        return true;
    if (!last_frame(walker)->exact &&
        walker->native->code->surely_ends_thread(walker->native, walker->pc))
        return true;
    return !walker->registers.value[walker->native->machine->frame_pointer] &&
           walker->native->code->ends_thread(walker->native, walker->pc);
}

/* Takes one step; *ret_more is false at the end of the walk. */
static enum psc_status walk_on(struct walker *walker, struct row *row, bool *ret_more)
{
    struct step step = {0};
    struct row next;
    enum psc_status status;
    last_frame(walker)->signal = row->signal;
    *ret_more = false;
    enum step_result result = try_row(walker, row, &step);
    if (result == STEP_UNKNOWN) {
        walker->stack->lacks = true;
        end_walk(walker, NATIVE_END_NO_RULE, walker->pc);
        return PSC_OK;
    }
    if (result == STEP_END || (result == STEP_OK && !step.pc && !row->signal)) {
        last_frame(walker)->cfa = step.sp;
        if (result == STEP_OK && target_is_blank_stack(walker->native->target, step.sp))
            end_walk(walker, NATIVE_END_BLANK, walker->sp);
        else
            end_walk(walker, NATIVE_END_COMPLETE, 0);
        return PSC_OK;
    }
    if (result == STEP_OK && may_follow(walker, row, &step)) {
        status = row_find(walker->native, step.pc, row->signal, &next);
        if (status != PSC_OK)
            return status;
        // A return address that is no code was not one.
        if (next.code || next.exact) {
            *ret_more = true;
            return go_by_row(walker, row, &step, &next);
        }
    }
    if (walker->registers.unknown) {
        walker->stack->lacks = true;
        end_without_caller(walker, row, result, &step);
        return PSC_OK;
    }
    if (is_outermost(walker, row)) {
        end_walk(walker, NATIVE_END_COMPLETE, 0);
        return PSC_OK;
    }
    status = go_by_heuristics(walker, row, ret_more);
    if (status == PSC_OK && !*ret_more)
        end_without_caller(walker, row, result, &step);
    return status;
}

/* Ends the walk where the one before has been; *ret_more is false then. */
static enum psc_status take_known(struct walker *walker, bool *ret_more)
{
    struct native_saved saved;
    size_t outside = SIZE_MAX;
    if (!walker->walked)
        return PSC_OK;
    get_saved(walker, &saved);
    enum psc_status status = walked_find(walker->walked, last_frame(walker), &saved, &outside);
    if (status != PSC_OK || outside == SIZE_MAX)
        return status;
    *ret_more = false;
    walker->native->frame_count += outside;
    end_walk(walker, NATIVE_END_COMPLETE, 0);
    return walked_take(walker->walked, walker->stack);
}

static enum psc_status walk(struct walker *walker, enum native_trust trust)
{
    struct row row;
    bool more = true;
    size_t first = walker->stack->count;
    bool alone = !walker->native->frame_count;
    enum psc_status status = append(walker, trust, NATIVE_ENGINE_NONE);
    if (status == PSC_OK)
        status = row_find(walker->native, walker->pc, walker->exact, &row);
    while (status == PSC_OK && more) {
        size_t count = walker->stack->count - first;
        // Thousands of threads may have one deep stack.
        if (count >= PSC_NATIVE_FRAME_LIMIT ||
            (++walker->native->frame_count > PSC_NATIVE_FRAME_TOTAL && !alone &&
             count >= PSC_NATIVE_FRAME_LEAST)) {
            status = PSC_ERR_LIMIT;
            break;
        }
        status = take_known(walker, &more);
        if (status == PSC_OK && more)
            status = walk_on(walker, &row, &more);
    }
    if (status == PSC_ERR_LIMIT) {
        end_walk(walker, NATIVE_END_LIMIT, walker->pc);
        status = PSC_OK;
    }
    take_registers(walker);
    walker->stack->last = walker->registers;
    return status;
}

static void init_walker(struct walker *walker, struct native *native, struct native_stack *stack,
                        const struct target_registers *registers, bool exact)
{
    *walker = (struct walker){.native = native,
                              .stack = stack,
                              .registers = *registers,
                              .pc = registers->value[native->machine->pc],
                              .sp = registers->value[native->machine->sp],
                              .exact = exact,
                              .scan_budget = SCAN_WORD_LIMIT,
                              .known = native_saved_all(native)};
    if (native->libunwind)
        walker->cursor = libunwind_walk_cursor(native->libunwind);
}

enum psc_status native_walk_again(struct native *native, size_t index, struct native_walked *walked,
                                  struct native_stack *ret)
{
    struct walker walker;
    if (index >= native->target->thread_count)
        return PSC_ERR_ARGUMENT;
    init_walker(&walker, native, ret, &native->target->threads[index].registers, true);
    ret->vectors = native->target->threads[index].vectors;
    walker.at_cursor = walker.cursor && libunwind_load_thread(walker.cursor, index);
    // Registers of all frames are wanted only where nobody walks again.
    if (walked && !ret->kept_frames && !ret->count) {
        walker.walked = walked;
        walked_compare(native, walked, walker.sp);
    }
    enum psc_status status = walk(&walker, NATIVE_TRUST_CONTEXT);
    if (walker.walked)
        walked_keep(native, walked, ret);
    return status;
}

enum psc_status native_walk(struct native *native, size_t index, struct native_stack *ret)
{
    return native_walk_again(native, index, NULL, ret);
}

enum psc_status native_walk_from(struct native *native, const struct target_registers *registers,
                                 bool exact, enum native_trust trust, struct native_stack *ret)
{
    struct walker walker;
    init_walker(&walker, native, ret, registers, exact);
    if (trust != NATIVE_TRUST_CONTEXT)
        walker.known = 0;
    ret->skips |= trust == NATIVE_TRUST_ANCHOR;
    return walk(&walker, trust);
}
