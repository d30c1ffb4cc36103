#include "native_private.h"

#include <dwarf.h>
#include <string.h>

/* The longest FDE that is read; the evaluator of a Python interpreter needs some 2 KB. */
#define ENTRY_SIZE_LIMIT 65536u
/* Registers above are none that any rule needs (x86-64's DWARF numbers end at 129). */
#define RULE_REGISTER_LIMIT 130u
#define REMEMBER_LIMIT      64u

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
static bool skip_operand(struct byte_cursor *block, uint8_t code)
{
    const struct debug_operation_kind *kind = debug_find_operation(code);
    if (!kind->in_frames)
        return false;
    if (kind->operands[0] == DEBUG_OPERAND_LEB)
        cursor_uleb(block);
    else if (kind->operands[0] != DEBUG_OPERAND_NONE)
        cursor_take(block, UINT64_C(1) << (kind->operands[0] - DEBUG_OPERAND_1));
    return true;
}

static bool check_expression(struct byte_cursor *cursor, const struct cfi_common *common)
{
    uint64_t size = cursor_uleb(cursor);
    const uint8_t *bytes = cursor_take(cursor, size);
    if (!bytes)
        return false;
    struct byte_cursor block = cursor_over(bytes, (size_t)size);
    while (cursor_left(&block)) {
        uint8_t code = cursor_u8(&block);
        bool register_exists = code < DW_OP_breg0 || code > DW_OP_breg31 ||
                               code - DW_OP_breg0 < common->machine->register_count;
        if (!register_exists || !skip_operand(&block, code))
            return false;
    }
    return !block.failed;
}

static bool check_register(struct byte_cursor *cursor)
{
    return cursor_uleb(cursor) < RULE_REGISTER_LIMIT && !cursor->failed;
}

/* The register that an instruction sets a rule for. */
static bool check_target(struct byte_cursor *cursor, struct cfi_common *common)
{
    uint64_t number = cursor_uleb(cursor);
    common->stack_pointer_rule |= number == common->machine->sp;
    return number < RULE_REGISTER_LIMIT && !cursor->failed;
}

/* One instruction with its operands. DWARF 4 section 7.23. */
static bool check_instruction(struct byte_cursor *cursor, struct cfi_common *common,
                              unsigned *remembered)
{
    uint8_t operation = cursor_u8(cursor);
    switch (operation & 0xc0) {
    case DW_CFA_advance_loc:
    case DW_CFA_restore:
        return true;
    case DW_CFA_offset:
        common->stack_pointer_rule |= (operation & 0x3f) == common->machine->sp;
        cursor_uleb(cursor);
        return !cursor->failed;
    default:
        break;
    }
    switch (operation) {
    case DW_CFA_nop:
        return true;
    case DW_CFA_set_loc:
        cursor_take(cursor, common->pointer_size);
        return !cursor->failed;
    case DW_CFA_advance_loc1:
        cursor_take(cursor, 1);
        return !cursor->failed;
    case DW_CFA_advance_loc2:
        cursor_take(cursor, 2);
        return !cursor->failed;
    case DW_CFA_advance_loc4:
        cursor_take(cursor, 4);
        return !cursor->failed;
    case DW_CFA_remember_state:
        return ++*remembered <= REMEMBER_LIMIT;
    case DW_CFA_restore_state:
        return (*remembered)-- > 0;
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_def_cfa_register:
        return check_register(cursor);
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_GNU_args_size:
        cursor_uleb(cursor);
        return !cursor->failed;
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
        if (!check_register(cursor))
            return false;
        cursor_uleb(cursor);
        return !cursor->failed;
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        common->value_offsets = true;
        // fall through
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_GNU_negative_offset_extended:
        if (!check_target(cursor, common))
            return false;
        cursor_uleb(cursor);
        return !cursor->failed;
    case DW_CFA_register:
        // libunwind indexes an array of registers with the second operand.
        return check_target(cursor, common) &&
               cursor_uleb(cursor) < common->machine->register_count && !cursor->failed;
    case DW_CFA_def_cfa_expression:
        return check_expression(cursor, common);
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        return check_target(cursor, common) && check_expression(cursor, common);
    default:
        return false;
    }
}

static bool check_instructions(struct byte_cursor *cursor, struct cfi_common *common)
{
    unsigned remembered = 0;
    while (cursor_left(cursor))
        if (!check_instruction(cursor, common, &remembered))
            return false;
    return true;
}

static bool parse_augmentation(struct byte_cursor *cursor, const char *augmentation,
                               struct cfi_common *ret)
{
    if (!*augmentation)
        return true;
    if (*augmentation != 'z')
        return false;
    ret->augmented = true;
    uint64_t size = cursor_uleb(cursor);
    if (cursor->failed || size > cursor_left(cursor))
        return false;
    struct byte_cursor data = cursor_over(cursor_take(cursor, size), (size_t)size);
    for (const char *letter = augmentation + 1; *letter; letter++) {
        uint8_t encoding;
        switch (*letter) {
        case 'L':
            cursor_u8(&data);
            break;
        case 'P':
            encoding = cursor_u8(&data);
            if (!encoded_size(encoding))
                return false;
            cursor_take(&data, encoded_size(encoding));
            break;
        case 'R':
            encoding = cursor_u8(&data);
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
    return !data.failed && !cursor_left(&data) && ret->pointer_size;
}

bool parse_cfi_common(const struct target_machine *machine, const uint8_t *bytes, size_t size,
                      struct cfi_common *ret)
{
    struct byte_cursor cursor = cursor_over(bytes, size);
    *ret = (struct cfi_common){.machine = machine, .pointer_size = 8};
    uint8_t version = cursor_u8(&cursor);
    if (version != 1 && version != 3 && version != 4)
        return false;
    const char *augmentation = (const char *)cursor.next;
    size_t length = strnlen(augmentation, cursor_left(&cursor));
    // libunwind keeps four letters of it.
    if (length == cursor_left(&cursor) || length > 4)
        return false;
    cursor.next += length + 1;
    if (version == 4 && (cursor_u8(&cursor) != 8 || cursor_u8(&cursor) != 0))
        return false;
    cursor_uleb(&cursor); // Code alignment.
    cursor_uleb(&cursor); // Data alignment.
    uint64_t return_register = version == 1 ? cursor_u8(&cursor) : cursor_uleb(&cursor);
    if (cursor.failed || return_register != machine->return_column)
        return false;
    return parse_augmentation(&cursor, augmentation, ret) && check_instructions(&cursor, ret);
}

bool parse_cfi_entry(const uint8_t *bytes, size_t size, struct cfi_common *common)
{
    struct byte_cursor cursor = cursor_over(bytes, size);
    cursor_take(&cursor, (uint64_t)common->pointer_size * 2);
    if (common->augmented)
        cursor_take(&cursor, cursor_uleb(&cursor));
    return !cursor.failed && check_instructions(&cursor, common);
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

enum code_call cfi_is_same_function(struct native *native, psc_addr left, psc_addr right)
{
    psc_addr left_entry, right_entry;
    const struct module *module = modules_find(native->modules, left);
    if (!module || !module->eh_frame_hdr)
        return CODE_CALL_UNKNOWN;
    if (right < module->start || right >= module->end)
        return CODE_CALL_NO;
    if (!find_entry(native, module, left, &left_entry) ||
        !find_entry(native, module, right, &right_entry))
        return CODE_CALL_UNKNOWN;
    return left_entry == right_entry ? CODE_CALL_YES : CODE_CALL_NO;
}
