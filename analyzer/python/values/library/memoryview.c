/* memoryview: the struct Py_buffer that it shows, with items of one native number each. */
#include "library.h"

#include <inttypes.h>
#include <string.h>

#define FORMAT_LIMIT 32u

struct view {
    psc_addr data;
    uint64_t item_size;
    uint32_t dimensions;
    uint64_t shape[PY_BUFFER_DIMENSIONS];
    uint64_t strides[PY_BUFFER_DIMENSIONS];
    char format[FORMAT_LIMIT];
};

static bool read_words(struct python *python, psc_addr object, enum py_field field, uint32_t count,
                       uint64_t *ret)
{
    psc_addr at;
    if (!count)
        return true;
    if (py_read_u64(python, object, field, &at) != PSC_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (target_read_u64(python->target, at + 8 * i, &ret[i]) != PSC_OK)
            return false;
    return true;
}

static bool read_view(struct python *python, psc_addr object, struct view *ret)
{
    int32_t dimensions;
    psc_addr format;
    psc_addr suboffsets;
    if (py_read_u64(python, object, PY_MEMORYVIEW_BUF, &ret->data) != PSC_OK ||
        py_read_u64(python, object, PY_MEMORYVIEW_ITEM_SIZE, &ret->item_size) != PSC_OK ||
        py_read_i32(python, object, PY_MEMORYVIEW_DIMENSIONS, &dimensions) != PSC_OK ||
        py_read_u64(python, object, PY_MEMORYVIEW_FORMAT, &format) != PSC_OK ||
        py_read_u64(python, object, PY_MEMORYVIEW_SUBOFFSETS, &suboffsets) != PSC_OK ||
        dimensions < 0 || (uint32_t)dimensions > PY_BUFFER_DIMENSIONS || suboffsets)
        return false;
    ret->dimensions = (uint32_t)dimensions;
    memcpy(ret->format, "B", 2);
    if (format && target_read_string(python->target, format, ret->format, FORMAT_LIMIT) != PSC_OK)
        return false;
    return read_words(python, object, PY_MEMORYVIEW_SHAPE, ret->dimensions, ret->shape) &&
           read_words(python, object, PY_MEMORYVIEW_STRIDES, ret->dimensions, ret->strides);
}

/* Lib/struct's native characters; false for others. */
static bool add_item(const struct view *view, const uint8_t *bytes, struct text *text)
{
    float single;
    double value;
    unsigned bits = (unsigned)(8 * view->item_size);
    uint64_t number = load_u64(bytes);
    const char *format = view->format[0] == '@' ? view->format + 1 : view->format;
    if (strlen(format) != 1 || !bits || bits > 64)
        return false;
    if (*format == 'd' && bits == 64) {
        memcpy(&value, bytes, sizeof(value));
        format_float(value, text);
    } else if (*format == 'f' && bits == 32) {
        memcpy(&single, bytes, sizeof(single));
        format_single(single, true, text);
    } else if (*format == '?') {
        text_add_string(text, number ? "True" : "False");
    } else if (*format == 'c') {
        text_add_char(text, 'b');
        format_bytes(bytes, 1, text);
    } else if (strchr("bhilqn", *format)) {
        text_printf(text, "%" PRId64, (int64_t)(number << (64 - bits)) >> (64 - bits));
    } else if (strchr("BHILQNP", *format)) {
        text_printf(text, "%" PRIu64, number);
    } else {
        return false;
    }
    return true;
}

static bool count_items(const struct view *view, uint64_t *ret)
{
    *ret = 1;
    for (uint32_t i = 0; i < view->dimensions; i++)
        if (view->shape[i] > INT64_MAX || __builtin_mul_overflow(*ret, view->shape[i], ret))
            return false;
    return true;
}

static psc_addr find_item(const struct view *view, uint64_t index)
{
    psc_addr at = view->data;
    for (uint32_t i = view->dimensions; i-- > 0;) {
        at += index % view->shape[i] * view->strides[i];
        index /= view->shape[i];
    }
    return at;
}

static void add_items(struct value_writer *writer, const struct view *view)
{
    struct text *text = writer->text;
    uint64_t count;
    uint64_t shown = 0;
    if (!count_items(view, &count))
        return;
    for (; shown < count && shown < value_array_items(writer); shown++) {
        uint8_t bytes[8] = {0};
        size_t before = text->size;
        text_add_string(text, shown ? ", " : ": ");
        if (view->item_size > sizeof(bytes) ||
            target_read(writer->python->target, find_item(view, shown), bytes, view->item_size) !=
                PSC_OK ||
            !add_item(view, bytes, text)) {
            if (!text->failed)
                text->data[text->size = before] = '\0';
            break;
        }
    }
    if (shown < count)
        text_printf(text, "%s\u2026 %" PRIu64 " more", shown ? ", " : ": ", count - shown);
}

void value_add_memoryview(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct text *text = writer->text;
    struct view view;
    int32_t flags;
    (void)type;
    if (py_read_i32(writer->python, object, PY_MEMORYVIEW_FLAGS, &flags) == PSC_OK &&
        flags & PY_MEMORYVIEW_RELEASED) {
        text_printf(text, "<released memory at 0x%" PRIx64 ">", object);
        return;
    }
    if (!read_view(writer->python, object, &view)) {
        text_printf(text, "<memory at 0x%" PRIx64 ">", object);
        return;
    }
    text_add_string(text, "<memoryview ");
    text_add_escaped(text, view.format);
    text_add_string(text, " (");
    for (uint32_t i = 0; i < view.dimensions; i++)
        text_printf(text, "%s%" PRIu64, i ? ", " : "", view.shape[i]);
    text_add_string(text, view.dimensions == 1 ? ",)" : ")");
    add_items(writer, &view);
    text_add_char(text, '>');
}
