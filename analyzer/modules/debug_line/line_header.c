#include "line_header.h"

/** Finds the end of the unit; what follows does not depend on whether the unit makes sense. */
static bool parse_unit_bounds(const struct elf_bytes *section, uint64_t offset,
                              struct byte_cursor *ret, struct line_header *header)
{
    header->next_unit = 0;
    if (!section->data || offset >= section->size)
        return false;
    struct byte_cursor cursor = {section->data + offset, section->data + section->size, false};
    uint64_t length = cursor_unsigned(&cursor, 4);
    header->offset_size = 4;
    if (length == UINT32_MAX) {
        length = cursor_unsigned(&cursor, 8);
        header->offset_size = 8;
    } else if (length >= 0xfffffff0) {
        return false; /* Reserved values, 7.2.2. */
    }
    if (cursor.failed)
        return false;
    if (length < cursor_left(&cursor)) {
        cursor.end = cursor.next + length;
        header->next_unit = (uint64_t)(cursor.end - section->data);
    }
    *ret = cursor;
    return true;
}

bool parse_line_header(const struct elf_bytes *section, uint64_t offset, struct line_header *ret)
{
    struct byte_cursor cursor;
    if (!parse_unit_bounds(section, offset, &cursor, ret))
        return false;
    ret->version = (uint16_t)cursor_unsigned(&cursor, 2);
    if (ret->version < 2 || ret->version > 5)
        return false;
    ret->address_size = 8;
    if (ret->version >= 5) {
        ret->address_size = cursor_u8(&cursor);
        cursor_u8(&cursor); /* segment_selector_size */
    }
    uint64_t header_length = cursor_unsigned(&cursor, ret->offset_size);
    if (header_length > cursor_left(&cursor))
        return false;
    ret->program = (struct byte_cursor){cursor.next + header_length, cursor.end, false};
    cursor.end = ret->program.next;

    ret->minimum_instruction_length = cursor_u8(&cursor);
    ret->maximum_operations = ret->version >= 4 ? cursor_u8(&cursor) : 1;
    cursor_u8(&cursor); /* default_is_stmt: every row counts here. */
    ret->line_base = (int8_t)cursor_u8(&cursor);
    ret->line_range = cursor_u8(&cursor);
    ret->opcode_base = cursor_u8(&cursor);
    if (cursor.failed || ret->opcode_base == 0)
        return false;
    ret->opcode_lengths = cursor_take(&cursor, ret->opcode_base - 1u);
    ret->tables = cursor;
    return !cursor.failed;
}
