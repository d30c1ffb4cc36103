/* Modules/_datetimemodule.c: packed bytes, whose repr() is a call with numbers. */
#include "library.h"

#include <inttypes.h>
#include <string.h>

static void add_date(const uint8_t *bytes, struct text *text)
{
    text_printf(text, "%d, %d, %d", bytes[0] << 8 | bytes[1], bytes[2], bytes[3]);
}

/* Hours and minutes always; seconds and microseconds as far as they are not zero. */
static void add_time(const uint8_t *bytes, struct text *text)
{
    int micro = bytes[3] << 16 | bytes[4] << 8 | bytes[5];
    text_printf(text, "%d, %d", bytes[0], bytes[1]);
    if (bytes[2] || micro)
        text_printf(text, ", %d", bytes[2]);
    if (micro)
        text_printf(text, ", %d", micro);
}

/* fold and tzinfo, and the end. */
static void open_zone(struct value_writer *writer, psc_addr object, enum py_field fold_field,
                      enum py_field zoned_field, enum py_field zone_field)
{
    struct python *python = writer->python;
    uint8_t fold = 0;
    uint8_t zoned = 0;
    psc_addr zone = 0;
    if (py_read_u8(python, object, fold_field, &fold) == PSC_OK && fold)
        text_printf(writer->text, ", fold=%d", fold);
    if (py_read_u8(python, object, zoned_field, &zoned) != PSC_OK || !zoned ||
        py_read_u64(python, object, zone_field, &zone) != PSC_OK) {
        text_add_char(writer->text, ')');
        return;
    }
    struct value_level *level = value_push(writer, object, ", tzinfo=", ")");
    if (level)
        value_take(writer, level, 0, zone);
}

static void add_delta(struct value_writer *writer, psc_addr object)
{
    static const struct {
        enum py_field field;
        const char *name;
    } parts[] = {{PY_DELTA_DAYS, "days"},
                 {PY_DELTA_SECONDS, "seconds"},
                 {PY_DELTA_MICROSECONDS, "microseconds"}};
    bool any = false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(parts); i++) {
        int32_t value;
        if (py_read_i32(writer->python, object, parts[i].field, &value) != PSC_OK || !value)
            continue;
        text_printf(writer->text, "%s%s=%" PRId32, any ? ", " : "", parts[i].name, value);
        any = true;
    }
    text_add_string(writer->text, any ? ")" : "0)");
}

/* timezone.utc is the one of offset zero without a name. */
static void open_timezone(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr offset = 0;
    psc_addr name = 0;
    int32_t days = 0;
    int32_t seconds = 0;
    int32_t micro = 0;
    if (py_read_u64(python, object, PY_TIMEZONE_OFFSET, &offset) != PSC_OK ||
        py_read_u64(python, object, PY_TIMEZONE_NAME, &name) != PSC_OK)
        offset = 0;
    text_add_string(writer->text, type->c_name);
    if (offset && !name && py_read_i32(python, offset, PY_DELTA_DAYS, &days) == PSC_OK &&
        py_read_i32(python, offset, PY_DELTA_SECONDS, &seconds) == PSC_OK &&
        py_read_i32(python, offset, PY_DELTA_MICROSECONDS, &micro) == PSC_OK && !days && !seconds &&
        !micro) {
        text_add_string(writer->text, ".utc");
        return;
    }
    struct value_level *level = value_push(writer, object, "(", ")");
    if (level && offset)
        value_take(writer, level, 0, offset);
    if (level && name)
        value_take(writer, level, 0, name);
}

static bool read_bytes(struct value_writer *writer, psc_addr object, enum py_field field,
                       uint8_t *ret, size_t size)
{
    psc_addr at = py_field_address(writer->python, object, field);
    return at && target_read(writer->python->target, at, ret, size) == PSC_OK;
}

void value_open_time(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint8_t bytes[PY_DATE_BYTES + PY_TIME_BYTES] = {0};
    struct text *text = writer->text;
    if (type->kind == PY_KIND_TIMEZONE) {
        open_timezone(writer, type, object);
        return;
    }
    text_add_string(text, type->c_name);
    text_add_char(text, '(');
    if (type->kind == PY_KIND_TIMEDELTA) {
        add_delta(writer, object);
    } else if (type->kind == PY_KIND_DATE) {
        if (read_bytes(writer, object, PY_DATE_DATA, bytes, PY_DATE_BYTES))
            add_date(bytes, text);
        text_add_char(text, ')');
    } else if (type->kind == PY_KIND_DATETIME) {
        if (read_bytes(writer, object, PY_DATETIME_DATA, bytes, sizeof(bytes))) {
            add_date(bytes, text);
            text_add_string(text, ", ");
            add_time(bytes + PY_DATE_BYTES, text);
        }
        open_zone(writer, object, PY_DATETIME_FOLD, PY_DATETIME_TIMEZONED, PY_DATETIME_TZINFO);
    } else {
        if (read_bytes(writer, object, PY_TIME_DATA, bytes, PY_TIME_BYTES))
            add_time(bytes, text);
        open_zone(writer, object, PY_TIME_FOLD, PY_TIME_TIMEZONED, PY_TIME_TZINFO);
    }
}
