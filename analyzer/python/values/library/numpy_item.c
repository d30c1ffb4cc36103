/* Single items of numpy's arrays: numbers, text, moments, records. */
#include "numpy_private.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NUMBER_SIZE 32u
#define LONG_SIZE   16u

/* ---- numbers ---- */

/* IEEE 754 binary16. */
static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 0x1f;
    double fraction = bits & 0x3ff;
    double value = exponent == 0x1f ? (fraction != 0 ? NAN : INFINITY)
                   : exponent       ? ldexp(1024 + fraction, exponent - 25)
                                    : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

/* numpy/_core/src/multiarray/scalartypes.c.src: what is smaller has an exponent. */
#define LEAST 1e-4

static void add_float(struct value_writer *writer, const uint8_t *bytes, size_t width, bool part,
                      struct text *text)
{
    const struct numpy_layout *layout = numpy_get_layout(writer->python);
    struct float_style style = {FLOAT_DOUBLE, !part, LEAST, FLOAT_MOST};
    double value = 0;
    float single = 0;
    if (width == 2) {
        style.form = FLOAT_HALF;
        style.most = layout ? layout->half_most : FLOAT_MOST;
        format_float_as(half_to_double(load_u16(bytes)), &style, text);
    } else if (width == 4) {
        memcpy(&single, bytes, sizeof(single));
        style.form = FLOAT_SINGLE;
        style.most = layout ? layout->single_most : FLOAT_MOST;
        format_float_as(single, &style, text);
    } else if (width == LONG_SIZE) {
#if LDBL_MANT_DIG == 64
        long double wide = 0;
        memcpy(&wide, bytes, sizeof(wide));
        style.form = FLOAT_LONG;
        format_float_as(wide, &style, text);
#else
        text_add_char(text, '?');
#endif
    } else {
        memcpy(&value, bytes, sizeof(value));
        format_float_as(value, &style, text);
    }
}

/* There, too: a real part of 0 is left out, one of -0 is not. */
static void add_complex(struct value_writer *writer, const struct numpy_number *number,
                        const uint8_t *bytes, struct text *text)
{
    struct text real PSC_CLEANUP(text_deinit) = {0};
    struct text imaginary PSC_CLEANUP(text_deinit) = {0};
    size_t half = number->width / 2;
    add_float(writer, bytes, half, true, &real);
    add_float(writer, bytes + half, half, true, &imaginary);
    if (real.failed || imaginary.failed || !real.data || !imaginary.data)
        text->failed = true;
    else if (!strcmp(real.data, "0"))
        text_printf(text, "%sj", imaginary.data);
    else
        text_printf(text, "(%s%s%sj)", real.data, *imaginary.data == '-' ? "" : "+",
                    imaginary.data);
}

void numpy_add_number(struct value_writer *writer, const struct numpy_number *number,
                      const uint8_t *bytes, struct text *text)
{
    uint64_t value = 0;
    switch (number->form) {
    case NUMPY_BOOL:
        text_add_string(text, *bytes ? "True" : "False");
        break;
    case NUMPY_INT:
    case NUMPY_UINT:
        memcpy(&value, bytes, number->width);
        if (number->form == NUMPY_UINT) {
            text_printf(text, "%" PRIu64, value);
            break;
        }
        /* Shifted up, so that the arithmetic shift back brings the sign along. */
        value <<= 64 - 8 * number->width;
        text_printf(text, "%" PRId64, (int64_t)value >> (64 - 8 * number->width));
        break;
    case NUMPY_FLOAT:
    case NUMPY_LONG_FLOAT:
        add_float(writer, bytes, number->width, false, text);
        break;
    case NUMPY_COMPLEX:
    case NUMPY_LONG_COMPLEX:
        add_complex(writer, number, bytes, text);
        break;
    case NUMPY_NONE:
    case NUMPY_OBJECT:
    case NUMPY_BYTES:
    case NUMPY_STR:
    case NUMPY_VOID:
    case NUMPY_DATETIME:
    case NUMPY_TIMEDELTA:
    case NUMPY_TEXT:
        break;
    }
}

/* Big-endian parts become little-endian ones. */
static void swap_bytes(const struct numpy_number *number, uint8_t *bytes)
{
    bool two = number->form == NUMPY_COMPLEX || number->form == NUMPY_LONG_COMPLEX;
    size_t part = two ? number->width / 2 : number->width;
    for (size_t start = 0; start < number->width; start += part)
        for (size_t i = 0; i < part / 2; i++) {
            uint8_t byte = bytes[start + i];
            bytes[start + i] = bytes[start + part - 1 - i];
            bytes[start + part - 1 - i] = byte;
        }
}

/* ---- time ---- */

/* NPY_DATETIMEUNIT; 3 was business days. */
enum {
    UNIT_YEAR,
    UNIT_MONTH,
    UNIT_WEEK,
    UNIT_DAY = 4,
    UNIT_HOUR,
    UNIT_MINUTE,
    UNIT_SECOND,
    UNIT_ATTOSECOND = 13
};

__extension__ typedef __int128 wide;

bool numpy_is_no_time(int64_t number)
{
    return number == INT64_MIN;
}

/* Days since 1970-01-01 as a date of the Gregorian calendar: eras of 400 years, from a March on. */
static void add_date(wide days, struct text *text)
{
    const int64_t era_days = 146097;
    days += 719468;
    wide era = (days >= 0 ? days : days - era_days + 1) / era_days;
    int64_t day_of_era = (int64_t)(days - era * era_days);
    int64_t year =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    int64_t march_month = (5 * day_of_year + 2) / 153;
    int64_t day = day_of_year - (153 * march_month + 2) / 5 + 1;
    int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    year = (int64_t)(era * 400 + year + (month <= 2));
    text_printf(text, year < 0 ? "%05" PRId64 : "%04" PRId64, year);
    text_printf(text, "-%02" PRId64 "-%02" PRId64, month, day);
}

/* Seconds of a day, and the part of one with three digits for each unit below. */
static void add_clock(int32_t unit, uint64_t seconds, uint64_t fraction, struct text *text)
{
    text_printf(text, "T%02" PRIu64, seconds / 3600);
    if (unit >= UNIT_MINUTE)
        text_printf(text, ":%02" PRIu64, seconds / 60 % 60);
    if (unit >= UNIT_SECOND)
        text_printf(text, ":%02" PRIu64, seconds % 60);
    if (unit > UNIT_SECOND)
        text_printf(text, ".%0*" PRIu64, 3 * (unit - UNIT_SECOND), fraction);
}

void numpy_add_moment(const struct numpy_time *time, int64_t number, struct text *text)
{
    wide value = (wide)number * time->count;
    if (numpy_is_no_time(number)) {
        text_add_string(text, "NaT");
    } else if (time->unit < UNIT_YEAR || time->unit > UNIT_ATTOSECOND) {
        text_printf(text, "%" PRId64, number); // Generic, or damaged.
    } else if (time->unit == UNIT_YEAR) {
        int64_t year = (int64_t)(value + 1970);
        text_printf(text, year < 0 ? "%05" PRId64 : "%04" PRId64, year);
    } else if (time->unit == UNIT_MONTH) {
        wide year = (value >= 0 ? value : value - 11) / 12;
        int64_t shown = (int64_t)(year + 1970);
        text_printf(text, shown < 0 ? "%05" PRId64 "-%02d" : "%04" PRId64 "-%02d", shown,
                    (int)(value - year * 12) + 1);
    } else if (time->unit == UNIT_WEEK) {
        add_date(value * 7, text);
    } else {
        wide in_second = 1;
        for (int32_t unit = UNIT_SECOND; unit < time->unit; unit++)
            in_second *= 1000;
        wide in_day = time->unit == UNIT_DAY      ? 1
                      : time->unit == UNIT_HOUR   ? 24
                      : time->unit == UNIT_MINUTE ? 1440
                                                  : 86400 * in_second;
        wide days = (value >= 0 ? value : value - in_day + 1) / in_day;
        wide rest = value - days * in_day;
        add_date(days, text);
        if (time->unit == UNIT_HOUR || time->unit == UNIT_MINUTE)
            rest *= time->unit == UNIT_HOUR ? 3600 : 60;
        if (time->unit > UNIT_DAY)
            add_clock(time->unit, (uint64_t)(rest / in_second), (uint64_t)(rest % in_second), text);
    }
}

/* ---- items ---- */

static void add_hexadecimal(const uint8_t *bytes, size_t count, struct text *text)
{
    text_add_char(text, '\'');
    for (size_t i = 0; i < count; i++)
        text_printf(text, "\\x%02x", bytes[i]);
    text_add_char(text, '\'');
}

/* Without the zeros at the end, as numpy has it. */
static bool add_text(struct value_writer *writer, const struct numpy_dtype *dtype, psc_addr address)
{
    uint32_t width = dtype->number->form == NUMPY_STR ? 4 : 1;
    uint64_t count = dtype->size / width;
    uint64_t most = writer->python->limits.length;
    size_t read = (size_t)(count < most ? count : most);
    uint8_t *bytes = value_buffer(writer, read * width + 1);
    if (!bytes || target_read(writer->python->target, address, bytes, read * width) != PSC_OK)
        return false;
    for (size_t i = 0; dtype->order == NUMPY_BIG_ENDIAN && width == 4 && i < read; i++) {
        uint32_t character = load_u32(bytes + 4 * i);
        character = __builtin_bswap32(character);
        memcpy(bytes + 4 * i, &character, sizeof(character));
    }
    size_t shown = read;
    while (dtype->number->form != NUMPY_VOID && shown && read == count) {
        uint32_t last = width == 4 ? load_u32(bytes + 4 * (shown - 1)) : bytes[shown - 1];
        if (last)
            break;
        shown--;
    }
    if (width == 4) {
        text_add_string(writer->text, writer->python->layout.rules->spelling->text_prefix);
        value_format_text(writer, bytes, shown, width);
    } else {
        text_add_string(writer->text, writer->python->layout.rules->spelling->bytes_prefix);
        if (dtype->number->form == NUMPY_VOID)
            add_hexadecimal(bytes, shown, writer->text);
        else
            format_bytes(bytes, shown, writer->text);
    }
    value_add_rest(writer->text, read < count ? count - read : 0);
    return true;
}

static bool add_utf8(struct value_writer *writer, psc_addr address, uint64_t size)
{
    uint64_t most = writer->python->limits.length;
    size_t wanted = (size_t)(size < 4 * most ? size : 4 * most);
    /* The bytes, and the characters before them in their place. */
    uint8_t *characters = value_buffer(writer, 4 * wanted + wanted + 1);
    if (!characters)
        return false;
    char *bytes = (char *)characters + 4 * wanted;
    if (wanted && target_read(writer->python->target, address, bytes, wanted) != PSC_OK)
        return false;
    size_t count = 0;
    for (size_t at = 0; at < wanted && count < most; count++) {
        uint32_t character;
        size_t length = utf8_decode(bytes + at, wanted - at, &character);
        if (!length)
            break;
        memcpy(characters + 4 * count, &character, sizeof(character));
        at += length;
    }
    value_format_text(writer, characters, count, 4);
    /* How many characters are left is not known without reading them. */
    if (count == most && size > wanted)
        text_add_string(writer->text, "\u2026");
    return true;
}

/* UTF-8, in the item or where it says. False, and nothing, for what cannot be read. */
static bool add_long_text(struct value_writer *writer, const struct numpy_dtype *dtype,
                          psc_addr address)
{
    struct target *target = writer->python->target;
    uint8_t item[NUMPY_TEXT_WIDTH];
    psc_addr allocator, at;
    psc_addr fields = dtype->object + writer->python->layout.offset[PY_OBJECT_SIZE];
    if (target_read(target, address, item, sizeof(item)) != PSC_OK)
        return false;
    uint8_t flags = item[sizeof(item) - 1] & NUMPY_TEXT_FLAGS;
    uint64_t size = load_u64(item + 8) & (((uint64_t)1 << 56) - 1);
    if (flags & NUMPY_TEXT_IS_MISSING) {
        numpy_add_missing(writer, dtype);
        return true;
    }
    if (flags == (NUMPY_TEXT_SET | NUMPY_TEXT_OUTSIDE)) {
        size = item[sizeof(item) - 1] & NUMPY_TEXT_SHORT_SIZE;
        at = address;
    } else {
        at = load_u64(item);
        if (size && !(flags & NUMPY_TEXT_OUTSIDE)) {
            psc_addr buffer;
            if (target_read_u64(target, fields + NUMPY_TEXT_ALLOCATOR, &allocator) != PSC_OK ||
                target_read_u64(target, allocator + NUMPY_ALLOCATOR_BUFFER, &buffer) != PSC_OK)
                return false;
            at += buffer;
        }
    }
    return add_utf8(writer, at, size);
}

/* Of anything but a record. */
static bool add_plain(struct value_writer *writer, const struct numpy_dtype *dtype,
                      psc_addr address)
{
    const struct numpy_number *number = dtype->number;
    uint8_t bytes[NUMBER_SIZE] = {0};
    int64_t time;
    if (!number || dtype->fields || dtype->subarray)
        return false;
    if (number->form == NUMPY_BYTES || number->form == NUMPY_STR || number->form == NUMPY_VOID)
        return add_text(writer, dtype, address);
    if (number->form == NUMPY_TEXT)
        return add_long_text(writer, dtype, address);
    if (number->form == NUMPY_NONE || number->form == NUMPY_OBJECT ||
        target_read(writer->python->target, address, bytes, number->width) != PSC_OK)
        return false;
    if (dtype->order == NUMPY_BIG_ENDIAN)
        swap_bytes(number, bytes);
    time = (int64_t)load_u64(bytes);
    if (number->form == NUMPY_DATETIME) {
        if (dtype->time.unit < 0)
            return false;
        text_add_char(writer->text, '\'');
        numpy_add_moment(&dtype->time, time, writer->text);
        text_add_char(writer->text, '\'');
    } else if (number->form == NUMPY_TIMEDELTA) {
        if (numpy_is_no_time(time))
            text_add_string(writer->text, "'NaT'");
        else
            text_printf(writer->text, "%" PRId64, time);
    } else {
        numpy_add_number(writer, number, bytes, writer->text);
    }
    return true;
}

/* A record or a subarray whose text has been begun. */
struct open_item {
    struct numpy_dtype dtype; /* Of the items of a subarray. */
    struct numpy_subarray subarray;
    struct numpy_field fields[NUMPY_FIELD_LIMIT]; /* Of a record. */
    psc_addr address;
    bool is_record;
    uint64_t count, at;
};

/* False for what is neither. */
static bool open_item(struct value_writer *writer, const struct numpy_dtype *dtype,
                      psc_addr address, struct open_item *ret)
{
    struct python *python = writer->python;
    ret->address = address;
    ret->at = 0;
    ret->is_record = dtype->fields != 0;
    if (ret->is_record) {
        ret->count = numpy_read_fields(python, dtype, ret->fields);
        return ret->count > 0;
    }
    if (!numpy_read_subarray(python, dtype, &ret->subarray) ||
        !numpy_read_dtype(python, ret->subarray.dtype, &ret->dtype) || !ret->dtype.size)
        return false;
    ret->count = ret->subarray.count;
    return true;
}

/* How many dimensions, of which the last run fastest, begin with that item. */
static uint32_t count_beginning(const struct numpy_subarray *subarray, uint64_t at)
{
    uint32_t count = 0;
    uint64_t size = 1;
    for (uint32_t i = subarray->dimension_count; i-- > 0; count++) {
        size *= subarray->dimensions[i];
        if (!size || at % size)
            break;
    }
    return count;
}

static void add_brackets(struct text *text, char bracket, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_add_char(text, bracket);
}

/* What stands before an item. */
static void begin_part(const struct open_item *open, struct text *text)
{
    if (open->is_record) {
        text_add_string(text, open->at ? ", " : "(");
        return;
    }
    text_add_string(text, open->at ? ", " : "");
    add_brackets(text, '[', count_beginning(&open->subarray, open->at));
}

/* What stands behind an item. */
static void end_part(struct open_item *open, struct text *text)
{
    open->at++;
    if (!open->is_record)
        add_brackets(text, ']', count_beginning(&open->subarray, open->at));
    else if (open->at == open->count)
        text_add_string(text, open->count == 1 ? ",)" : ")");
}

/* Whether no more of it is shown; a subarray that is cut is closed then. */
static bool is_at_end(struct value_writer *writer, struct open_item *open)
{
    uint64_t most = open->is_record ? open->count : value_array_items(writer);
    if (open->at < open->count && open->at < most && budget_spend(writer->python, 1))
        return false;
    if (open->at < open->count) {
        text_printf(writer->text, "%s\u2026 %" PRIu64 " more", open->at ? ", " : "",
                    open->count - open->at);
        uint32_t open_brackets = open->subarray.dimension_count -
                                 (open->at ? count_beginning(&open->subarray, open->at) : 0);
        add_brackets(writer->text, ']', open->is_record || !open->at ? 0 : open_brackets);
        text_add_string(writer->text, open->is_record ? ")" : "");
    } else if (!open->count) {
        text_add_string(writer->text, "[]");
    }
    return true;
}

static void add_parts(struct value_writer *writer, struct open_item stack[NUMPY_NESTING])
{
    for (size_t depth = 1; depth;) {
        struct open_item *open = &stack[depth - 1];
        struct numpy_dtype part;
        if (is_at_end(writer, open)) {
            if (--depth)
                end_part(&stack[depth - 1], writer->text);
            continue;
        }
        begin_part(open, writer->text);
        bool read = !open->is_record ||
                    numpy_read_dtype(writer->python, open->fields[open->at].dtype, &part);
        if (!open->is_record)
            part = open->dtype;
        psc_addr at = open->address + (open->is_record ? open->fields[open->at].offset
                                                       : open->at * open->dtype.size);
        if (read && (part.fields || part.subarray) && depth < NUMPY_NESTING &&
            open_item(writer, &part, at, &stack[depth])) {
            depth++;
            continue;
        }
        /* An object, and what lies too deep, is left out. */
        if (!read || !add_plain(writer, &part, at))
            text_add_string(writer->text, "\u2026");
        end_part(open, writer->text);
    }
}

bool numpy_add_item(struct value_writer *writer, const struct numpy_dtype *dtype, psc_addr address)
{
    if (!dtype->fields && !dtype->subarray)
        return add_plain(writer, dtype, address);
    struct open_item stack[NUMPY_NESTING];
    if (!open_item(writer, dtype, address, &stack[0]))
        return false;
    add_parts(writer, stack);
    return true;
}
