/* array.array (Modules/arraymodule.c). */
#include "library.h"

#include <inttypes.h>
#include <string.h>

#define ITEM_SIZE   8u
#define COUNT_LIMIT (UINT64_C(1) << 40)

struct array {
    psc_addr items;
    uint64_t count;
    uint32_t item_size;
    char code;
};

static bool read_array(struct python *python, psc_addr object, struct array *ret)
{
    psc_addr description;
    int32_t size;
    uint8_t code;
    if (py_read_u64(python, object, PY_VAR_SIZE, &ret->count) != PSC_OK ||
        py_read_u64(python, object, PY_ARRAY_ITEMS, &ret->items) != PSC_OK ||
        py_read_u64(python, object, PY_ARRAY_DESCR, &description) != PSC_OK ||
        py_read_u8(python, description, PY_ARRAYDESCR_CODE, &code) != PSC_OK ||
        py_read_i32(python, description, PY_ARRAYDESCR_SIZE, &size) != PSC_OK ||
        ret->count > COUNT_LIMIT || size < 1 || size > (int32_t)ITEM_SIZE)
        return false;
    ret->item_size = (uint32_t)size;
    ret->code = (char)code;
    return strchr("cbBuwhHiIlLqQfd", ret->code) && ret->code;
}

static void add_number(const struct array *array, const uint8_t *bytes, const char *suffix,
                       struct text *text)
{
    unsigned bits = 8 * array->item_size;
    uint64_t number = load_u64(bytes);
    double wide;
    float single;
    if (array->code == 'd') {
        memcpy(&wide, bytes, sizeof(wide));
        format_float(wide, text);
    } else if (array->code == 'f') {
        memcpy(&single, bytes, sizeof(single));
        format_float((double)single, text);
    } else if (strchr("bhilq", array->code)) {
        text_printf(text, "%" PRId64, (int64_t)(number << (64 - bits)) >> (64 - bits));
    } else {
        // 2.7 makes a long of what need not fit its int.
        text_printf(text, "%" PRIu64 "%s", number, strchr("IL", array->code) ? suffix : "");
    }
}

static void add_numbers(struct value_writer *writer, const struct array *array)
{
    struct text *text = writer->text;
    uint64_t shown = 0;
    for (; shown < array->count && shown < writer->python->limits.items; shown++) {
        uint8_t bytes[ITEM_SIZE] = {0};
        if (target_read(writer->python->target, array->items + shown * array->item_size, bytes,
                        array->item_size) != PSC_OK)
            break;
        text_add_string(text, shown ? ", " : "");
        add_number(array, bytes, writer->python->layout.rules->spelling->long_suffix, text);
    }
    text_add_string(text, shown && shown < array->count ? ", " : "");
    value_add_rest(text, array->count - shown);
}

static void add_characters(struct value_writer *writer, const struct array *array)
{
    size_t count = writer->python->limits.length;
    count = array->count < count ? (size_t)array->count : count;
    uint8_t *bytes = value_buffer(writer, count * array->item_size + 1);
    if (!bytes)
        return;
    if (target_read(writer->python->target, array->items, bytes, count * array->item_size) !=
        PSC_OK)
        count = 0;
    if (array->code == 'c') {
        format_bytes(bytes, count, writer->text);
    } else {
        text_add_string(writer->text, writer->python->layout.rules->spelling->text_prefix);
        value_format_text(writer, bytes, count, array->item_size);
    }
    value_add_rest(writer->text, array->count - count);
}

void value_add_array(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct array array;
    if (!read_array(writer->python, object, &array)) {
        value_add_identity(writer, type, object);
        text_add_char(writer->text, '>');
        return;
    }
    text_printf(writer->text, "%s('%c'", py_type_short_name(type), array.code);
    if (array.count && strchr("cuw", array.code)) {
        text_add_string(writer->text, ", ");
        add_characters(writer, &array);
    } else if (array.count) {
        text_add_string(writer->text, ", [");
        add_numbers(writer, &array);
        text_add_char(writer->text, ']');
    }
    text_add_char(writer->text, ')');
}

/* Modules/_struct.c, s_repr(), from 3.13 on. */
void value_add_struct(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr format;
    const struct py_type *kind;
    if (writer->python->layout.rules->reprs < PY_REPRS_STRUCTS ||
        py_read_u64(writer->python, object, PY_STRUCT_FORMAT, &format) != PSC_OK ||
        py_type_of(writer->python, format, &kind) != PSC_OK || kind->kind != PY_KIND_BYTES) {
        value_add_identity(writer, type, object);
        text_add_char(writer->text, '>');
        return;
    }
    text_printf(writer->text, "%s(", py_type_short_name(type));
    value_add_bytes_as_text(writer, format);
    text_add_char(writer->text, ')');
}
