#include "line_table.h"

/* Damaged tables may lead anywhere: such lines are none. */
static uint32_t checked_line(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* CPython 3.9, Objects/lnotab_notes.txt. */
uint32_t parse_lnotab(const uint8_t *table, size_t size, int32_t first_line, int32_t lasti,
                      bool signed_lines)
{
    int64_t line = first_line;
    int64_t address = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        address += table[i];
        if (address > lasti)
            break;
        line += signed_lines ? (int8_t)table[i + 1] : table[i + 1];
    }
    return checked_line(line);
}

/* CPython 3.10, Objects/lnotab_notes.txt. */
uint32_t parse_linetable_310(const uint8_t *table, size_t size, int32_t first_line, int32_t lasti)
{
    if (lasti < 0)
        return checked_line(first_line);
    int64_t line = first_line;
    int64_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t delta = (int8_t)table[i + 1];
        end += table[i];
        if (delta != -128)
            line += delta;
        if (end > lasti)
            return delta == -128 ? 0 : checked_line(line);
    }
    return 0;
}

struct location_cursor {
    const uint8_t *bytes;
    size_t size;
    size_t at;
    bool cut; /* An entry went past the end. */
};

static uint8_t next_byte(struct location_cursor *cursor)
{
    if (cursor->at >= cursor->size) {
        cursor->cut = true;
        return 0;
    }
    return cursor->bytes[cursor->at++];
}

/* Six bits a byte, the lowest first; bit 6 says that another follows. */
static uint32_t next_varint(struct location_cursor *cursor)
{
    uint32_t value = 0;
    uint8_t byte = 0x40;
    for (unsigned shift = 0; byte & 0x40; shift += 6) {
        byte = next_byte(cursor);
        if (shift > 24 && (shift > 30 || (byte & 0x3f) > 3)) {
            cursor->cut = true;
            return 0;
        }
        value |= (uint32_t)(byte & 0x3f) << shift;
    }
    return value;
}

static int64_t next_signed_varint(struct location_cursor *cursor)
{
    uint32_t value = next_varint(cursor);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Columns are stored plus one, so that 0 is none. */
static int32_t next_column(struct location_cursor *cursor)
{
    uint32_t value = next_varint(cursor);
    return value <= INT32_MAX ? (int32_t)value - 1 : -1;
}

/* CPython 3.11, Objects/locations.md: the codes of an entry. */
enum { CODE_ONE_LINE = 10, CODE_NO_COLUMNS = 13, CODE_LONG = 14, CODE_NONE = 15 };

/* Reads the rest of an entry; *line is the line that the next entry goes on from. */
static void next_entry(struct location_cursor *cursor, unsigned code, int64_t *line,
                       struct py_position *ret)
{
    int64_t span = 0;
    *ret = (struct py_position){.column = -1, .end_column = -1};
    if (code == CODE_NONE)
        return;
    if (code == CODE_LONG) {
        *line += next_signed_varint(cursor);
        span = next_varint(cursor);
        ret->column = next_column(cursor);
        ret->end_column = next_column(cursor);
    } else if (code == CODE_NO_COLUMNS) {
        *line += next_signed_varint(cursor);
    } else if (code >= CODE_ONE_LINE) {
        *line += code - CODE_ONE_LINE;
        ret->column = next_byte(cursor);
        ret->end_column = next_byte(cursor);
    } else {
        uint8_t columns = next_byte(cursor);
        ret->column = (int32_t)(code << 3 | columns >> 4);
        ret->end_column = ret->column + (columns & 0xf);
    }
    ret->line = checked_line(*line);
    ret->end_line = checked_line(*line + span);
}

void parse_locations_311(const uint8_t *table, size_t size, int32_t first_line, int32_t lasti,
                         struct py_position *ret)
{
    const struct py_position none = {.column = -1, .end_column = -1};
    *ret = none;
    if (lasti < 0) {
        ret->line = checked_line(first_line);
        return;
    }
    struct location_cursor cursor = {.bytes = table, .size = size};
    int64_t line = first_line;
    int64_t end = 0;
    while (cursor.at < size && end <= lasti) {
        uint8_t head = next_byte(&cursor);
        next_entry(&cursor, head >> 3 & 0xf, &line, ret);
        end += INT64_C(2) * ((head & 7) + 1);
        if (!(head & 0x80) || cursor.cut) {
            *ret = none;
            return;
        }
    }
    if (end <= lasti || !ret->line)
        *ret = none;
}

/* Groups of six bits, the highest first; bit 6: more follow. False at the end of the table. */
static bool take_number(const uint8_t *table, size_t size, size_t *at, uint32_t *ret)
{
    *ret = 0;
    while (*at < size) {
        uint8_t byte = table[(*at)++];
        *ret = *ret << 6 | (byte & 0x3fu);
        if (!(byte & 0x40))
            return true;
    }
    return false;
}

/* Start, length and handler in units of two bytes, depth and a bit. */
uint32_t parse_handler_depth(const uint8_t *table, size_t size, int32_t lasti)
{
    uint32_t entry[4];
    size_t at = 0;
    while (lasti >= 0) {
        for (size_t i = 0; i < PSC_ARRAY_SIZE(entry); i++)
            if (!take_number(table, size, &at, &entry[i]))
                return 0;
        uint32_t unit = (uint32_t)lasti / 2;
        if (unit >= entry[0] && unit - entry[0] < entry[1])
            return entry[3] >> 1;
    }
    return 0;
}
