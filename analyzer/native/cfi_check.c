#include "native_private.h"

#include <dwarf.h>
#include <string.h>

/* The longest FDE that is read; the evaluator of a Python interpreter needs some 2 KB. */
#define ENTRY_SIZE_LIMIT 65536u
/* Registers above are none that any rule needs (x86-64's DWARF numbers end at 129). */
#define RULE_REGISTER_LIMIT 130u
#define REMEMBER_LIMIT      64u

/* Bytes with an end; `bad` once anything did not fit. */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

static size_t left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static void skip(struct reader *reader, uint64_t size)
{
    if (size > left(reader))
        reader->bad = true;
    else
        reader->at += size;
}

static uint8_t read_u8(struct reader *reader)
{
    if (!left(reader)) {
        reader->bad = true;
        return 0;
    }
    return *reader->at++;
}

/* Ten bytes hold 64 bits; longer ones are refused although the engines would read on. */
static uint64_t read_uleb(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    reader->bad = true;
    return 0;
}

/* DWARF Linux Standard Base, DW_EH_PE_*: the low four bits are the format. */
static uint8_t encoded_size(uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return 8;
    case 0x02:
    case 0x0a:
        return 2;
    case 0x03:
    case 0x0b:
        return 4;
    default:
        return 0;
    }
}

/* Skips the operand of an operation; false for one that no compiler needs here. */
static bool skip_operand(struct reader *block, uint8_t operation)
{
    if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
        return true;
    if (operation >= DW_OP_breg0 && operation <= DW_OP_breg16) {
        read_uleb(block);
        return true;
    }
    switch (operation) {
    case DW_OP_deref:
    case DW_OP_dup:
    case DW_OP_drop:
    case DW_OP_over:
    case DW_OP_swap:
    case DW_OP_and:
    case DW_OP_or:
    case DW_OP_xor:
    case DW_OP_not:
    case DW_OP_neg:
    case DW_OP_plus:
    case DW_OP_minus:
    case DW_OP_mul:
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
    case DW_OP_eq:
    case DW_OP_ne:
    case DW_OP_ge:
    case DW_OP_gt:
    case DW_OP_le:
    case DW_OP_lt:
    case DW_OP_nop:
        return true;
    case DW_OP_const1u:
    case DW_OP_const1s:
        skip(block, 1);
        return true;
    case DW_OP_const2u:
    case DW_OP_const2s:
        skip(block, 2);
        return true;
    case DW_OP_const4u:
    case DW_OP_const4s:
        skip(block, 4);
        return true;
    case DW_OP_const8u:
    case DW_OP_const8s:
        skip(block, 8);
        return true;
    case DW_OP_constu:
    case DW_OP_consts:
    case DW_OP_plus_uconst:
        read_uleb(block);
        return true;
    default:
        // Division traps on INT64_MIN / -1, jumps may not end.
        return false;
    }
}

static bool check_expression(struct reader *reader)
{
    uint64_t size = read_uleb(reader);
    if (reader->bad || size > left(reader))
        return false;
    struct reader block = {.at = reader->at, .end = reader->at + size};
    reader->at += size;
    while (!block.bad && left(&block))
        if (!skip_operand(&block, read_u8(&block)))
            return false;
    return !block.bad;
}

static bool check_register(struct reader *reader)
{
    return read_uleb(reader) < RULE_REGISTER_LIMIT && !reader->bad;
}

/* The register that an instruction sets a rule for. */
static bool check_target(struct reader *reader, struct cfi_common *common)
{
    uint64_t number = read_uleb(reader);
    common->stack_pointer_rule |= number == common->machine->sp;
    return number < RULE_REGISTER_LIMIT && !reader->bad;
}

/* One instruction with its operands. DWARF 4 section 7.23. */
static bool check_instruction(struct reader *reader, struct cfi_common *common,
                              unsigned *remembered)
{
    uint8_t operation = read_u8(reader);
    switch (operation & 0xc0) {
    case DW_CFA_advance_loc:
    case DW_CFA_restore:
        return true;
    case DW_CFA_offset:
        common->stack_pointer_rule |= (operation & 0x3f) == common->machine->sp;
        read_uleb(reader);
        return !reader->bad;
    default:
        break;
    }
    switch (operation) {
    case DW_CFA_nop:
        return true;
    case DW_CFA_set_loc:
        skip(reader, common->pointer_size);
        return !reader->bad;
    case DW_CFA_advance_loc1:
        skip(reader, 1);
        return !reader->bad;
    case DW_CFA_advance_loc2:
        skip(reader, 2);
        return !reader->bad;
    case DW_CFA_advance_loc4:
        skip(reader, 4);
        return !reader->bad;
    case DW_CFA_remember_state:
        return ++*remembered <= REMEMBER_LIMIT;
    case DW_CFA_restore_state:
        return (*remembered)-- > 0;
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_def_cfa_register:
        return check_register(reader);
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_GNU_args_size:
        read_uleb(reader);
        return !reader->bad;
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
        if (!check_register(reader))
            return false;
        read_uleb(reader);
        return !reader->bad;
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        common->value_offsets = true;
        // fall through
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_GNU_negative_offset_extended:
        if (!check_target(reader, common))
            return false;
        read_uleb(reader);
        return !reader->bad;
    case DW_CFA_register:
        // libunwind indexes an array of registers with the second operand.
        return check_target(reader, common) &&
               read_uleb(reader) < common->machine->register_count && !reader->bad;
    case DW_CFA_def_cfa_expression:
        return check_expression(reader);
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        return check_target(reader, common) && check_expression(reader);
    default:
        return false;
    }
}

static bool check_instructions(struct reader *reader, struct cfi_common *common)
{
    unsigned remembered = 0;
    while (left(reader))
        if (!check_instruction(reader, common, &remembered))
            return false;
    return true;
}

static bool parse_augmentation(struct reader *reader, const char *augmentation,
                               struct cfi_common *ret)
{
    if (!*augmentation)
        return true;
    if (*augmentation != 'z')
        return false;
    ret->augmented = true;
    uint64_t size = read_uleb(reader);
    if (reader->bad || size > left(reader))
        return false;
    struct reader data = {.at = reader->at, .end = reader->at + size};
    reader->at += size;
    for (const char *letter = augmentation + 1; *letter; letter++) {
        uint8_t encoding;
        switch (*letter) {
        case 'L':
            read_u8(&data);
            break;
        case 'P':
            encoding = read_u8(&data);
            if (!encoded_size(encoding))
                return false;
            skip(&data, encoded_size(encoding));
            break;
        case 'R':
            encoding = read_u8(&data);
            // Absolute or relative to its own place; nothing else occurs.
            if ((encoding & 0xf0) != 0x00 && (encoding & 0xf0) != 0x10)
                return false;
            ret->pointer_size = encoded_size(encoding);
            break;
        case 'S':
            ret->signal = true;
            break;
        default:
            return false;
        }
    }
    return !data.bad && !left(&data) && ret->pointer_size;
}

bool parse_cfi_common(const struct target_machine *machine, const uint8_t *bytes, size_t size,
                      struct cfi_common *ret)
{
    struct reader reader = {.at = bytes, .end = bytes + size};
    *ret = (struct cfi_common){.machine = machine, .pointer_size = 8};
    uint8_t version = read_u8(&reader);
    if (version != 1 && version != 3 && version != 4)
        return false;
    const char *augmentation = (const char *)reader.at;
    size_t length = strnlen(augmentation, left(&reader));
    // libunwind keeps four letters of it.
    if (length == left(&reader) || length > 4)
        return false;
    reader.at += length + 1;
    if (version == 4 && (read_u8(&reader) != 8 || read_u8(&reader) != 0))
        return false;
    read_uleb(&reader); // Code alignment.
    read_uleb(&reader); // Data alignment.
    uint64_t return_register = version == 1 ? read_u8(&reader) : read_uleb(&reader);
    if (reader.bad || return_register != machine->return_column)
        return false;
    return parse_augmentation(&reader, augmentation, ret) && check_instructions(&reader, ret);
}

bool parse_cfi_entry(const uint8_t *bytes, size_t size, struct cfi_common *common)
{
    struct reader reader = {.at = bytes, .end = bytes + size};
    skip(&reader, (uint64_t)common->pointer_size * 2);
    if (common->augmented)
        skip(&reader, read_uleb(&reader));
    return !reader.bad && check_instructions(&reader, common);
}

/* ---- in the target's memory ---- */

/* Reads the body of an entry whose 32-bit length stands at `address`; 64-bit DWARF is refused. */
static bool read_entry(struct native *native, psc_addr address, uint8_t *buffer, size_t *ret_size)
{
    uint32_t size;
    if (target_read_u32(native->target, address, &size) != PSC_OK || size < 4 ||
        size > ENTRY_SIZE_LIMIT)
        return false;
    *ret_size = size;
    return target_read(native->target, address + 4, buffer, size) == PSC_OK;
}

/* The address of the FDE for `address` by the table's last entry that is not behind it. */
static bool find_entry(struct native *native, const struct module *module, psc_addr address,
                       psc_addr *ret)
{
    uint64_t low = 0, high = module->eh_frame_entries;
    uint32_t start, entry;
    int64_t relative = (int64_t)(address - module->eh_frame_hdr);
    if (!module->eh_frame_hdr || relative < INT32_MIN || relative > INT32_MAX)
        return false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (target_read_u32(native->target, module->eh_frame_table + middle * 8, &start) != PSC_OK)
            return false;
        if ((int32_t)start <= relative)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || target_read_u32(native->target, module->eh_frame_table + (low - 1) * 8 + 4,
                                &entry) != PSC_OK)
        return false;
    *ret = module->eh_frame_hdr + (uint64_t)(int64_t)(int32_t)entry;
    return true;
}

bool cfi_check_address(struct native *native, const struct module *module, psc_addr address,
                       struct cfi_common *ret)
{
    uint8_t buffer[ENTRY_SIZE_LIMIT];
    psc_addr entry;
    size_t size;
    uint32_t distance;
    if (!find_entry(native, module, address, &entry) ||
        target_read_u32(native->target, entry + 4, &distance) != PSC_OK || !distance)
        return false;
    // In .eh_frame the pointer to the CIE counts back from its own place, and the CIE's id is 0.
    // Version 4 belongs to .debug_frame; libunwind would read it as version 3.
    psc_addr common = entry + 4 - (uint64_t)(int64_t)(int32_t)distance;
    if (!read_entry(native, common, buffer, &size) || size < 5 || load_u32(buffer) != 0 ||
        buffer[4] == 4 || !parse_cfi_common(native->machine, buffer + 4, size - 4, ret))
        return false;
    return read_entry(native, entry, buffer, &size) && parse_cfi_entry(buffer + 4, size - 4, ret);
}
