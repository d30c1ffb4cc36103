#include "native_private.h"

#include <limits.h>

/* How far apart a frame pointer and the stack pointer may be. */
#define FRAME_SIZE_LIMIT ((psc_addr)16 * 1024 * 1024)
/* Scanned words that checking one candidate counts for. */
#define CANDIDATE_COST 64u

/* How many frames further a guess must lead. */
#define STEPS_BEHIND_FRAME_POINTER 2u
#define STEPS_BEHIND_SCAN          3u
/* A guess that leads this far is believed at once; what earlier calls left on the stack leads
 * some frames further too, and then to nothing. */
#define STEPS_BELIEVED 64u
/* From main(), or what a thread runs, to the end. */
#define STEPS_BEGIN 2u

/* The caller by the frame pointer: a saved one there, and above it a return address. */
static bool follow_frame_pointer(struct native *native, const struct target_registers *registers,
                                 struct target_registers *ret)
{
    psc_addr frame = registers->value[native->machine->frame_pointer],
             sp = registers->value[native->machine->sp];
    uint64_t saved, pc;
    if (frame % 8 || frame < sp || frame - sp > FRAME_SIZE_LIMIT ||
        !native_read_word(native, frame, &saved) || !native_read_word(native, frame + 8, &pc) ||
        native->code->follows_call(native, pc) != CODE_CALL_YES)
        return false;
    *ret = *registers;
    ret->value[native->machine->frame_pointer] = saved;
    ret->value[native->machine->pc] = pc;
    ret->value[native->machine->sp] = frame + 16;
    return true;
}

/* One step of a check; STEP_END also where the trust ends well. */
static enum step_result step_on(struct native *native, struct target_registers *registers)
{
    struct target_registers next;
    struct step step = {0};
    struct row row;
    bool sure;
    if (row_find(native, registers->value[native->machine->pc], false, &row) != PSC_OK || !row.code)
        return STEP_INVALID;
    enum step_result result = row_apply(native, &row, registers, &next, &step);
    if (result == STEP_END)
        return STEP_END;
    if (result == STEP_OK && (row.signal || !next.value[native->machine->pc]))
        return STEP_END;
    if (row.kind == ROW_NONE &&
        (native->code->surely_ends_thread(native, registers->value[native->machine->pc]) ||
         (!registers->value[native->machine->frame_pointer] &&
          native->code->ends_thread(native, registers->value[native->machine->pc]))))
        return STEP_END;
    if (row.kind == ROW_NONE)
        result = returns_run(native, registers, false, &next, &sure) ||
                         native->code->run_epilogue(native, registers, &next) ||
                         follow_frame_pointer(native, registers, &next)
                     ? STEP_OK
                     : STEP_INVALID;
    if (result != STEP_OK ||
        next.value[native->machine->sp] <= registers->value[native->machine->sp] ||
        native->code->follows_call(native, next.value[native->machine->pc]) == CODE_CALL_NO)
        return STEP_INVALID;
    *registers = next;
    return STEP_OK;
}

/* How far a guess leads: frames that rise and return behind calls; `limit` where the stack ends. */
static unsigned count_steps(struct native *native, const struct target_registers *registers,
                            unsigned limit)
{
    struct target_registers at = *registers;
    for (unsigned i = 0; i < limit; i++) {
        enum step_result result = step_on(native, &at);
        if (result != STEP_OK)
            return result == STEP_END ? limit : i;
    }
    return limit;
}

static bool leads_on(struct native *native, const struct target_registers *registers,
                     unsigned steps)
{
    return count_steps(native, registers, steps) == steps;
}

static bool return_from(struct native *native, const struct target_registers *registers,
                        psc_addr slot, enum code_call least, struct target_registers *ret)
{
    uint64_t pc;
    if (!native_read_word(native, slot, &pc) || native->code->follows_call(native, pc) < least)
        return false;
    *ret = *registers;
    ret->value[native->machine->pc] = pc;
    ret->value[native->machine->sp] = slot + 8;
    return true;
}

/*
 * A caller whose return address stands in `slot`, with the frame pointer as it is or as pushed
 * below it.
 * @return how far it leads.
 */
static unsigned try_candidate(struct native *native, const struct target_registers *registers,
                              psc_addr slot, struct target_registers *ret)
{
    uint64_t pushed;
    if (!return_from(native, registers, slot, CODE_CALL_YES, ret))
        return 0;
    unsigned steps = count_steps(native, ret, STEPS_BELIEVED);
    if (steps >= STEPS_BEHIND_SCAN || slot < registers->value[native->machine->sp] + 8 ||
        !native_read_word(native, slot - 8, &pushed) || pushed <= slot ||
        pushed - slot > FRAME_SIZE_LIMIT)
        return steps;
    ret->value[native->machine->frame_pointer] = pushed;
    return count_steps(native, ret, STEPS_BELIEVED);
}

/* Below the first page and above the user's half nothing is mapped. */
static bool is_user_address(uint64_t word)
{
    return word >= NATIVE_PAGE && !(word >> 47);
}

/* Whether the call that a frame will return to called that function. */
static enum code_call is_called_by(struct native *native, psc_addr function, psc_addr caller)
{
    psc_addr callee;
    return native->code->find_callee(native, caller, &callee)
               ? cfi_is_same_function(native, callee, function)
               : CODE_CALL_UNKNOWN;
}

/* What a candidate itself called: code that cannot be read, or what a register tells. */
static enum code_call calls_unreadable(struct native *native, psc_addr candidate)
{
    psc_addr callee;
    uint8_t byte;
    if (!native->code->find_callee(native, candidate, &callee))
        return CODE_CALL_UNKNOWN;
    return code_is_possible(native, callee) &&
                   target_read_u8(native->target, callee, &byte) != PSC_OK
               ? CODE_CALL_YES
               : CODE_CALL_NO;
}

/* Whether a stack ends there because its row says so, not because a word there is 0. */
static bool ends_by_rule(struct native *native, const struct target_registers *registers)
{
    struct target_registers next;
    struct step step = {0};
    struct row row;
    return row_find(native, registers->value[native->machine->pc], false, &row) == PSC_OK &&
           row_apply(native, &row, registers, &next, &step) != STEP_OK;
}

/*
 * Whether a candidate has called code that cannot be read, and was called itself by what it
 * returns to, as its callers were as far as their code tells. What an earlier call has left on the
 * stack leads to frames that have called something else since. Calls by registers tell nothing;
 * those that begin the program or a thread are made once.
 */
static bool is_proven(struct native *native, const struct target_registers *candidate)
{
    struct target_registers at = *candidate;
    enum code_call own = calls_unreadable(native, at.value[native->machine->pc]);
    unsigned unknown = UINT_MAX; // The step from the first frame whose caller does not tell.
    for (unsigned i = 0; own != CODE_CALL_NO && i < STEPS_BELIEVED; i++) {
        psc_addr inner = at.value[native->machine->pc] - 1;
        enum step_result result = step_on(native, &at);
        if (result == STEP_END)
            return ends_by_rule(native, &at) &&
                   (unknown == UINT_MAX || (own == CODE_CALL_YES && unknown) ||
                    i - unknown <= STEPS_BEGIN);
        if (result != STEP_OK)
            return false;
        enum code_call called = is_called_by(native, inner, at.value[native->machine->pc]);
        if (called == CODE_CALL_NO)
            return false;
        if (called == CODE_CALL_UNKNOWN && unknown == UINT_MAX)
            unknown = i;
    }
    return own == CODE_CALL_YES && unknown;
}

/*
 * Whether a candidate has called something else than that code: a function of another module. (One
 * of the same module may have ended in a jump to it.) This is what earlier calls left on the stack,
 * as where a greenlet's own part of it ends.
 */
static bool called_elsewhere(struct native *native, psc_addr code, psc_addr candidate)
{
    psc_addr callee;
    const struct module *module = modules_find(native->modules, code);
    return module && native->code->find_callee(native, candidate, &callee) &&
           modules_find(native->modules, callee) != module &&
           cfi_is_same_function(native, callee, code) == CODE_CALL_NO;
}

/*
 * The first candidate that leads to the end or far; else the first that leads on at all. From code
 * that cannot be read the way may lead through other such code: then the candidate must be proven.
 */
static bool scan(struct native *native, const struct target_registers *registers, bool readable,
                 size_t *budget, struct target_registers *ret)
{
    psc_addr slot = (registers->value[native->machine->sp] + 7) & ~(psc_addr)7;
    uint64_t word;
    bool found = false;
    for (psc_addr offset = 0; offset < SCAN_BYTES && *budget; offset += 8, (*budget)--) {
        struct target_registers candidate;
        if (!native_read_word(native, slot + offset, &word))
            break;
        if (!is_user_address(word) || !code_is_possible(native, word - 1))
            continue;
        if (native->code->follows_call(native, word) == CODE_CALL_UNKNOWN) {
            readable = false;
            continue;
        }
        if (called_elsewhere(native, registers->value[native->machine->pc] - 1, word))
            continue;
        *budget -= *budget < CANDIDATE_COST ? *budget - 1 : CANDIDATE_COST;
        unsigned steps = try_candidate(native, registers, slot + offset, &candidate);
        if (!readable && (steps < STEPS_BELIEVED || !is_proven(native, &candidate)))
            continue;
        if (steps == STEPS_BELIEVED || (!found && steps >= STEPS_BEHIND_SCAN))
            *ret = candidate;
        found = found || steps >= STEPS_BEHIND_SCAN;
        if (steps == STEPS_BELIEVED)
            return true;
    }
    return found;
}

/*
 * Whether a word in [from, to) may be the return address of a frame that was passed over. What
 * earlier calls have left there looks the same.
 */
static bool may_be_called(struct native *native, psc_addr from, psc_addr to)
{
    uint64_t word;
    if (to - from > SCAN_BYTES)
        return true;
    for (psc_addr slot = (from + 7) & ~(psc_addr)7; slot < to; slot += 8)
        if (!native_read_word(native, slot, &word) ||
            (is_user_address(word) && native->code->follows_call(native, word) != CODE_CALL_NO))
            return true;
    return false;
}

/* False where the file of the code is not at hand. */
static bool is_readable(struct native *native, const struct row *row)
{
    uint8_t byte;
    return !row->code || target_read_u8(native->target, row_lookup_pc(row), &byte) == PSC_OK;
}

/* What a function does without a row is told by its code. */
static bool run_code(struct native *native, const struct row *row,
                     const struct target_registers *registers, struct target_registers *ret)
{
    psc_addr slot;
    bool sure;
    // A call to nowhere has pushed its return address and done no more.
    if (native->machine->call_pushes && row->exact && !row->code &&
        return_from(native, registers, registers->value[native->machine->sp], CODE_CALL_UNKNOWN,
                    ret))
        return true;
    if (!row->code || row->kind != ROW_NONE)
        return false;
    if (returns_run(native, registers, row->exact, ret, &sure) &&
        (sure || leads_on(native, ret, 1)))
        return true;
    if (native->code->run_epilogue(native, registers, ret) &&
        native->code->follows_call(native, ret->value[native->machine->pc]) == CODE_CALL_YES &&
        leads_on(native, ret, 1))
        return true;
    if (!row->exact || !native->code->at_entry(native, registers, &slot) ||
        !return_from(native, registers, slot, CODE_CALL_YES, ret))
        return false;
    if (slot != registers->value[native->machine->sp])
        native_read_word(native, slot - 8, &ret->value[native->machine->frame_pointer]);
    return leads_on(native, ret, STEPS_BEHIND_FRAME_POINTER);
}

bool heuristics_find_caller(struct native *native, const struct row *row,
                            const struct target_registers *registers, size_t *budget,
                            struct guessed_caller *ret)
{
    ret->skipped = false;
    ret->trust = NATIVE_TRUST_SCAN;
    if (run_code(native, row, registers, &ret->registers))
        return true;
    if (follow_frame_pointer(native, registers, &ret->registers) &&
        leads_on(native, &ret->registers, STEPS_BEHIND_FRAME_POINTER))
        ret->trust = NATIVE_TRUST_FRAME_POINTER;
    else if (!scan(native, registers, is_readable(native, row), budget, &ret->registers))
        return false;
    ret->skipped = may_be_called(native, registers->value[native->machine->sp],
                                 ret->registers.value[native->machine->sp] - 8);
    return true;
}
