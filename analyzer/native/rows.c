#include "native_private.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256

static size_t slot_of(const struct row_table *table, psc_addr pc, bool exact)
{
    size_t mask = table->capacity - 1;
    size_t slot = (size_t)hash_u64(pc << 1 | exact) & mask;
    while (table->slots[slot].used &&
           (table->slots[slot].pc != pc || table->slots[slot].exact != exact))
        slot = (slot + 1) & mask;
    return slot;
}

static bool grow(struct row_table *table)
{
    struct row_table larger = *table;
    larger.capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i].used)
            larger.slots[slot_of(&larger, table->slots[i].pc, table->slots[i].exact)] =
                table->slots[i];
    free(table->slots);
    *table = larger;
    return true;
}

static bool make_by_engines(struct native *native, struct module *module, struct row *row)
{
    bool libdw_first = native->unwinder == PSC_UNWINDER_LIBDW;
    if (libdw_first && libdw_make_row(native->libdw, module, row))
        return true;
    if (native->libunwind && libunwind_make_row(native->libunwind, module, row))
        return true;
    return !libdw_first && libdw_make_row(native->libdw, module, row);
}

static void make_row(struct native *native, struct row *row)
{
    psc_addr lookup = row_lookup_pc(row);
    row->code = code_is_possible(native, lookup);
    struct module *module = modules_find(native->modules, lookup);
    if (module && make_by_engines(native, module, row))
        row->code = true;
    // musl's trampoline has no call frame information: what is found just before it is
    // another function's.
    if (row->code && !row->signal && native->code->is_signal_return(native, row->pc)) {
        row->kind = ROW_SIGNAL_RETURN;
        row->signal = true;
    }
}

enum psc_status row_find(struct native *native, psc_addr pc, bool exact, struct row *ret)
{
    struct row_table *table = &native->rows;
    if (table->count * 2 >= table->capacity && !grow(table))
        return PSC_ERR_MEMORY;
    size_t slot = slot_of(table, pc, exact);
    if (table->slots[slot].used) {
        *ret = table->slots[slot];
        return PSC_OK;
    }
    if (table->count >= ROW_LIMIT)
        return PSC_ERR_LIMIT;
    struct row row = {.pc = pc, .exact = exact, .used = true};
    make_row(native, &row);
    if (arena_is_exhausted(table->rules))
        return PSC_ERR_MEMORY;
    table->slots[slot] = row;
    table->count++;
    native->statistics.rows = table->count;
    *ret = row;
    return PSC_OK;
}

/* ---- applying ---- */

/* The registers that the kernel saved for the interrupted code. */
static enum step_result step_signal_return(struct native *native,
                                           const struct target_registers *registers,
                                           struct target_registers *ret, struct step *ret_step)
{
    const struct target_machine *machine = native->machine;
    psc_addr saved = registers->value[machine->sp] + machine->signal_registers;
    for (size_t i = 0; i < machine->register_count; i++)
        if (!native_read_word(native, saved + i * 8, &ret->value[machine->signal_order[i]])) {
            ret_step->fault = saved + i * 8;
            return STEP_FAULT;
        }
    ret_step->pc = ret->value[machine->pc];
    ret_step->sp = ret->value[machine->sp];
    return STEP_OK;
}

enum step_result row_apply(struct native *native, const struct row *row,
                           const struct target_registers *registers, struct target_registers *ret,
                           struct step *ret_step)
{
    switch ((enum row_kind)row->kind) {
    case ROW_LIBUNWIND:
        return libunwind_step(native->libunwind, row, registers, ret, ret_step);
    case ROW_LIBDW:
        return libdw_step(native, row, registers, ret, ret_step);
    case ROW_SIGNAL_RETURN:
        return step_signal_return(native, registers, ret, ret_step);
    case ROW_NONE:
        break;
    }
    return STEP_INVALID;
}
