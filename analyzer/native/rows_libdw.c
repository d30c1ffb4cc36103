#include "elf.h"
#include "location.h"
#include "native_private.h"

#include <elfutils/libdw.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum rule_kind {
    RULE_SAME,      /* Also what a call may clobber: nobody restores it, nobody needs it. */
    RULE_UNDEFINED, /* Of the return address alone: there is no caller. */
    RULE_AT_CFA,    /* Saved at cfa + offset. */
    RULE_IS_CFA,    /* Is cfa + offset. */
    RULE_REGISTER,  /* Kept in another register. */
    RULE_EXPRESSION
};

/* Without padding: rules are compared as bytes. */
struct register_rule {
    uint32_t kind;
    uint32_t count;
    int64_t offset; /* Or the number of the other register. */
    /* Of RULE_EXPRESSION, `count` of them; owned by native->rules. */
    const struct debug_operation *operations;
};

struct libdw_rule {
    struct register_rule cfa; /* RULE_REGISTER: register `count` + offset. */
    struct register_rule registers[TARGET_REGISTER_LIMIT];
};

/* Most code has one of few rules. */
struct kept_rule {
    struct libdw_rule *rule;
};

/* What libdw knows of one module. */
struct module_cfi {
    uint64_t module; /* The key: its address here. */
    bool tried_eh_frame;
    bool tried_debug_frame;
    Dwarf_CFI *eh_frame;
    Dwarf *own_debug; /* Of the file itself, when it has a .debug_frame. */
    Dwarf_CFI *debug_frames[2];
};

struct libdw_engine {
    struct native *native;
    struct hash_table modules; /* struct module_cfi */
    struct hash_table rules;   /* struct kept_rule */
};

struct libdw_engine *libdw_create(struct native *native)
{
    struct libdw_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return NULL;
    engine->native = native;
    engine->modules = HASH_TABLE_OF(struct module_cfi);
    engine->rules = HASH_TABLE_OF(struct kept_rule);
    return engine;
}

void libdw_destroy(struct libdw_engine *engine)
{
    if (!engine)
        return;
    for (size_t i = 0; i < engine->modules.count; i++) {
        const struct module_cfi *cfi = hash_table_at(&engine->modules, i);
        if (cfi->eh_frame)
            dwarf_cfi_end(cfi->eh_frame);
        if (cfi->own_debug)
            dwarf_end(cfi->own_debug);
    }
    hash_table_deinit(&engine->modules);
    hash_table_deinit(&engine->rules);
    free(engine);
}

static struct module_cfi *cfi_of(struct libdw_engine *engine, const struct module *module)
{
    uint64_t key = (uintptr_t)module;
    struct module_cfi *known = hash_table_find(&engine->modules, key);
    if (known)
        return known;
    if (!hash_table_reserve(&engine->modules, engine->modules.count + 1))
        return NULL;
    return hash_table_add(&engine->modules, key);
}

/* ---- sections ---- */

static bool find_section(Elf *elf, const char *name, struct elf_section *ret)
{
    return elf_file_find_section(elf, name, ret) && ret->type != SHT_NOBITS && !ret->gnu_compressed;
}

/* Only of a section that is not compressed, or that libdw has decompressed already. */
static bool read_section(struct native *native, Elf *elf, const char *name, struct elf_bytes *ret)
{
    struct elf_section section;
    return find_section(elf, name, &section) && !(section.flags & SHF_COMPRESSED) &&
           elf_file_read_section(elf, name, native->rules, ret);
}

static bool check_entry(const struct target_machine *machine, const Elf_Data *data,
                        const unsigned char *ident, bool eh_frame, const Dwarf_CFI_Entry *entry)
{
    struct cfi_common common;
    const uint8_t *begin = data->d_buf, *end = begin + data->d_size;
    if (dwarf_cfi_cie_p(entry)) {
        const uint8_t *instructions_end = entry->cie.initial_instructions_end;
        // The body begins behind the id; libdw keeps the augmentation, which follows one byte
        // of version.
        const uint8_t *body = (const uint8_t *)entry->cie.augmentation - 1;
        return body > begin && instructions_end <= end && body < instructions_end &&
               parse_cfi_common(machine, body, (size_t)(instructions_end - body), &common);
    }
    Dwarf_CFI_Entry owner;
    Dwarf_Off next;
    if (entry->fde.CIE_pointer >= data->d_size ||
        dwarf_next_cfi(ident, (Elf_Data *)data, eh_frame, entry->fde.CIE_pointer, &next, &owner) !=
            0 ||
        !dwarf_cfi_cie_p(&owner))
        return false;
    const uint8_t *body = (const uint8_t *)owner.cie.augmentation - 1;
    return body > begin && owner.cie.initial_instructions_end <= end &&
           body < owner.cie.initial_instructions_end &&
           parse_cfi_common(machine, body, (size_t)(owner.cie.initial_instructions_end - body),
                            &common) &&
           entry->fde.start <= entry->fde.end && entry->fde.end <= end &&
           parse_cfi_entry(entry->fde.start, (size_t)(entry->fde.end - entry->fde.start), &common);
}

/* Checks a whole section once: libdw searches it from its beginning. */
static bool check_section(struct native *native, Elf *elf, const char *name, bool eh_frame)
{
    struct elf_bytes bytes;
    const unsigned char *ident = elf_file_bytes(elf).data;
    if (!ident || !read_section(native, elf, name, &bytes))
        return false;
    const Elf_Data data = {.d_buf = (void *)(uintptr_t)bytes.data, .d_size = bytes.size};
    Dwarf_Off offset = 0, next;
    for (;;) {
        Dwarf_CFI_Entry entry;
        int result = dwarf_next_cfi(ident, (Elf_Data *)&data, eh_frame, offset, &next, &entry);
        if (result > 0)
            return true;
        if (result < 0 || !check_entry(native->machine, &data, ident, eh_frame, &entry) ||
            next <= offset)
            return false;
        offset = next;
    }
}

static Dwarf_CFI *open_debug_frame(struct native *native, Dwarf *debug)
{
    return debug && check_section(native, dwarf_getelf(debug), ".debug_frame", false)
               ? dwarf_getcfi(debug)
               : NULL;
}

static void open_eh_frame(struct native *native, struct module_cfi *cfi, struct module *module)
{
    cfi->tried_eh_frame = true;
    Elf *elf = module_elf(module);
    // With a search table each entry is checked when it is asked for.
    if (elf && (module->eh_frame_hdr || check_section(native, elf, ".eh_frame", true)))
        cfi->eh_frame = dwarf_getcfi_elf(elf);
}

static void open_debug_frames(struct native *native, struct module_cfi *cfi, struct module *module)
{
    struct elf_section section;
    cfi->tried_debug_frame = true;
    Elf *elf = module_elf(module);
    struct elf_compression compressed;
    if (find_section(elf, ".debug_frame", &section) && elf_file_is_sane(elf, &compressed))
        cfi->own_debug = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    cfi->debug_frames[0] = open_debug_frame(native, cfi->own_debug);
    Dwarf *debug = module_dwarf(module);
    if (debug && (!elf || dwarf_getelf(debug) != elf))
        cfi->debug_frames[1] = open_debug_frame(native, debug);
}

static Dwarf_Frame *find_frame(struct libdw_engine *engine, struct module *module, psc_addr address)
{
    struct module_cfi *cfi = cfi_of(engine, module);
    Dwarf_Frame *frame = NULL;
    Dwarf_Addr in_file = address - module->bias;
    if (!cfi)
        return NULL;
    if (!cfi->tried_eh_frame)
        open_eh_frame(engine->native, cfi, module);
    struct cfi_common common;
    if (cfi->eh_frame &&
        (!module->eh_frame_hdr || cfi_check_address(engine->native, module, address, &common)) &&
        dwarf_cfi_addrframe(cfi->eh_frame, in_file, &frame) == 0)
        return frame;
    if (!cfi->tried_debug_frame)
        open_debug_frames(engine->native, cfi, module);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cfi->debug_frames); i++)
        if (cfi->debug_frames[i] && dwarf_cfi_addrframe(cfi->debug_frames[i], in_file, &frame) == 0)
            return frame;
    return NULL;
}

/* ---- rules ---- */

static bool copy_expression(struct arena *arena, const Dwarf_Op *operations, size_t count,
                            struct register_rule *ret)
{
    if (count > UINT8_MAX)
        return false;
    struct debug_operation *copy = arena_array(arena, count, sizeof(*copy));
    if (!copy)
        return false;
    for (size_t i = 0; i < count; i++)
        copy[i] = (struct debug_operation){.code = operations[i].atom,
                                           .number = operations[i].number,
                                           .number2 = operations[i].number2};
    *ret = (struct register_rule){
        .kind = RULE_EXPRESSION, .count = (uint8_t)count, .operations = copy};
    return true;
}

static bool make_cfa_rule(struct native *native, Dwarf_Frame *frame, struct register_rule *ret)
{
    Dwarf_Op *operations;
    size_t count;
    if (dwarf_frame_cfa(frame, &operations, &count) != 0 || !count)
        return false;
    unsigned registers = native->machine->register_count;
    uint64_t number = registers, offset = operations[0].number;
    if (operations[0].atom == DW_OP_bregx) {
        number = operations[0].number;
        offset = operations[0].number2;
    } else if (operations[0].atom >= DW_OP_breg0 && operations[0].atom <= DW_OP_breg31) {
        number = operations[0].atom - DW_OP_breg0;
    }
    if (count != 1 || number >= registers)
        return copy_expression(native->rules, operations, count, ret);
    *ret = (struct register_rule){
        .kind = RULE_REGISTER, .count = (uint8_t)number, .offset = (int64_t)offset};
    return true;
}

static bool make_register_rule(struct native *native, Dwarf_Frame *frame, int number,
                               struct register_rule *ret)
{
    Dwarf_Op memory[3];
    Dwarf_Op *operations;
    size_t count;
    *ret = (struct register_rule){.kind = RULE_SAME};
    if (dwarf_frame_register(frame, number, memory, &operations, &count) != 0)
        return false;
    if (!count) {
        if (operations == memory && number == native->machine->return_column)
            ret->kind = RULE_UNDEFINED;
        return true;
    }
    if (operations[0].atom == DW_OP_regx && count == 1 &&
        operations[0].number < native->machine->register_count) {
        ret->kind = RULE_REGISTER;
        ret->offset = (int64_t)operations[0].number;
        return true;
    }
    size_t used = 1;
    if (operations[0].atom == DW_OP_call_frame_cfa) {
        if (used < count && operations[used].atom == DW_OP_plus_uconst)
            ret->offset = (int64_t)operations[used++].number;
        ret->kind = RULE_AT_CFA;
        if (used < count && operations[used].atom == DW_OP_stack_value) {
            ret->kind = RULE_IS_CFA;
            used++;
        }
        if (used == count)
            return true;
    }
    return copy_expression(native->rules, operations, count, ret);
}

static bool fill_rule(struct native *native, Dwarf_Frame *frame, struct libdw_rule *rule,
                      bool *ret_signal)
{
    Dwarf_Addr start, end;
    if (dwarf_frame_info(frame, &start, &end, ret_signal) != native->machine->return_column ||
        !make_cfa_rule(native, frame, &rule->cfa))
        return false;
    for (int i = 0; i < native->machine->register_count; i++)
        if (!make_register_rule(native, frame, i, &rule->registers[i]))
            return false;
    return true;
}

static bool rule_matches(const void *item, const void *key)
{
    return memcmp(((const struct kept_rule *)item)->rule, key, sizeof(struct libdw_rule)) == 0;
}

/* One that has the same bytes, or a copy; NULL: out of memory. */
static struct libdw_rule *keep_rule(struct libdw_engine *engine, const struct libdw_rule *made)
{
    uint64_t hash = hash_text(made, sizeof(*made));
    const struct kept_rule *known = hash_table_find_by(&engine->rules, hash, rule_matches, made);
    if (known)
        return known->rule;
    struct libdw_rule *rule = arena_alloc(engine->native->rules, sizeof(*rule));
    if (!rule)
        return NULL;
    memcpy(rule, made, sizeof(*rule));
    // Without a place in the table it is not shared.
    struct kept_rule *added = hash_table_add_by(&engine->rules, hash);
    if (added)
        added->rule = rule;
    return rule;
}

bool libdw_make_row(struct libdw_engine *engine, struct module *module, struct row *row)
{
    Dwarf_Frame *frame = find_frame(engine, module, row_lookup_pc(row));
    if (!frame)
        return false;
    bool signal = false;
    struct libdw_rule made;
    memset(&made, 0, sizeof(made));
    bool good = fill_rule(engine->native, frame, &made, &signal);
    free(frame);
    struct libdw_rule *rule = good ? keep_rule(engine, &made) : NULL;
    if (!rule)
        return false;
    row->kind = ROW_LIBDW;
    row->rule = rule;
    row->signal = signal;
    return true;
}

/* ---- steps ---- */

static enum step_result run_expression(const struct location_frame *frame,
                                       const struct register_rule *rule, uint64_t *ret,
                                       bool *ret_value)
{
    const struct debug_expression expression = {rule->operations, rule->count};
    switch (location_apply(frame, &expression, ret, ret_value)) {
    case NATIVE_LOCATION_FOUND:
        return STEP_OK;
    case NATIVE_LOCATION_UNREADABLE:
        return STEP_FAULT;
    case NATIVE_LOCATION_LOST:
    case NATIVE_LOCATION_UNSAVED:
    case NATIVE_LOCATION_UNSUPPORTED:
        break;
    }
    return STEP_INVALID;
}

static enum step_result apply_register(struct native *native, const struct register_rule *rule,
                                       const struct location_frame *frame, uint64_t *ret,
                                       psc_addr *ret_fault)
{
    bool value = false;
    uint64_t result = frame->cfa + (uint64_t)rule->offset;
    enum step_result status = STEP_OK;
    switch ((enum rule_kind)rule->kind) {
    case RULE_SAME:
    case RULE_UNDEFINED:
        return STEP_OK;
    case RULE_REGISTER:
        *ret = frame->registers->value[rule->offset];
        return STEP_OK;
    case RULE_IS_CFA:
        value = true;
        break;
    case RULE_AT_CFA:
        break;
    case RULE_EXPRESSION:
        status = run_expression(frame, rule, &result, &value);
        break;
    }
    *ret_fault = result;
    if (status != STEP_OK)
        return status;
    if (value)
        *ret = result;
    else if (!native_read_word(native, result, ret))
        return STEP_FAULT;
    return STEP_OK;
}

/* Whether the frame itself cannot be found without registers that are not known. */
static bool lacks_register(const struct libdw_rule *rule, uint64_t unknown)
{
    if (!unknown)
        return false;
    if (rule->cfa.kind != RULE_REGISTER || unknown >> rule->cfa.count & 1)
        return true;
    for (size_t i = 0; i < TARGET_REGISTER_LIMIT; i++)
        if (rule->registers[i].kind == RULE_EXPRESSION)
            return true;
    return false;
}

/* What is not known of the caller, once it is said where register `number` is. */
static uint64_t unknown_behind(const struct register_rule *rule, int number, uint64_t unknown,
                               uint64_t so_far)
{
    uint64_t bit = UINT64_C(1) << number;
    switch ((enum rule_kind)rule->kind) {
    case RULE_SAME:
    case RULE_UNDEFINED:
    case RULE_EXPRESSION:
        break;
    case RULE_REGISTER:
        return unknown >> rule->offset & 1 ? so_far | bit : so_far & ~bit;
    case RULE_AT_CFA:
    case RULE_IS_CFA:
        return so_far & ~bit;
    }
    return so_far;
}

enum step_result libdw_step(struct native *native, const struct row *row,
                            const struct target_registers *registers, struct target_registers *ret,
                            struct step *ret_step)
{
    const struct target_machine *machine = native->machine;
    const struct libdw_rule *rule = row->rule;
    struct location_frame frame = {.target = native->target, .registers = registers};
    uint64_t cfa;
    bool value;
    if (lacks_register(rule, registers->unknown))
        return STEP_UNKNOWN;
    if (rule->cfa.kind == RULE_REGISTER) {
        cfa = registers->value[rule->cfa.count] + (uint64_t)rule->cfa.offset;
    } else {
        enum step_result status = run_expression(&frame, &rule->cfa, &cfa, &value);
        if (status != STEP_OK) {
            ret_step->fault = cfa;
            return status;
        }
    }
    frame.cfa = cfa;
    *ret = *registers;
    ret->value[machine->sp] = cfa;
    ret_step->sp = cfa;
    if (rule->registers[machine->return_column].kind == RULE_UNDEFINED) {
        ret->value[machine->pc] = 0;
        ret_step->pc = 0;
        return STEP_END;
    }
    for (int i = 0; i < native->machine->register_count; i++) {
        psc_addr fault = 0;
        enum step_result status =
            apply_register(native, &rule->registers[i], &frame, &ret->value[i], &fault);
        // Only a lost return address or stack pointer ends the stack.
        if (status != STEP_OK && (i == machine->return_column || i == machine->sp)) {
            ret_step->fault = fault;
            return status;
        }
        if (status != STEP_OK)
            ret->value[i] = 0;
        if (registers->unknown)
            ret->unknown = unknown_behind(&rule->registers[i], i, registers->unknown, ret->unknown);
    }
    ret->unknown &= ~(UINT64_C(1) << machine->sp | UINT64_C(1) << machine->pc);
    ret->value[machine->pc] =
        target_return_address(native->target, ret->value[machine->return_column]);
    ret_step->pc = ret->value[machine->pc];
    ret_step->sp = ret->value[machine->sp];
    return STEP_OK;
}
