#include "native_private.h"

static uint64_t hash_row(const struct row *row)
{
    return hash_u64(row->pc << 1 | row->exact);
}

static bool row_matches(const void *item, const void *key)
{
    const struct row *row = item, *wanted = key;
    return row->pc == wanted->pc && row->exact == wanted->exact;
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
    struct row row = {.pc = pc, .exact = exact};
    struct hash_table *table = &native->rows;
    const struct row *known = hash_table_find_by(table, hash_row(&row), row_matches, &row);
    if (known) {
        *ret = *known;
        return PSC_OK;
    }
    if (table->count >= ROW_LIMIT)
        return PSC_ERR_LIMIT;
    make_row(native, &row);
    if (arena_is_exhausted(native->rules) || !hash_table_reserve(table, table->count + 1))
        return PSC_ERR_MEMORY;
    struct row *added = hash_table_add_by(table, hash_row(&row));
    if (!added)
        return PSC_ERR_LIMIT; // Too many of the same hash.
    *added = row;
    native->statistics.rows = table->count;
    *ret = row;
    return PSC_OK;
}

void native_forget_unknown(struct native *native)
{
    struct hash_table kept = HASH_TABLE_OF(struct row);
    for (size_t i = 0; i < native->rows.count; i++) {
        const struct row *row = hash_table_at(&native->rows, i);
        struct row *added = row->kind == ROW_NONE ? NULL : hash_table_add_by(&kept, hash_row(row));
        if (added)
            *added = *row;
    }
    hash_table_deinit(&native->rows);
    native->rows = kept;
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
