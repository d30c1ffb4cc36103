#include "python_private.h"

#include <stdlib.h>
#include <string.h>

/* CPython, Include/cpython/unicodeobject.h: compact ASCII, compact, with a data pointer, and
   up to 3.11 the legacy form that has only wchar_t. */
enum psc_status py_string_open(struct python *python, psc_addr object, struct py_characters *ret)
{
    int32_t state;
    if (!py_has_flags(python, object, PY_FLAG_STR))
        return PSC_ERR_FORMAT;
    enum psc_status status = py_read_i32(python, object, PY_STR_STATE, &state);
    if (status == PSC_OK)
        status = py_read_u64(python, object, PY_STR_LENGTH, &ret->length);
    if (status != PSC_OK)
        return status;
    uint32_t bits = (uint32_t)state >> python->layout.string_kind_shift;
    bool compact = bits & 8;
    bool ascii = bits & 16;
    ret->width = bits & 7;
    if (ret->width == 0) {
        ret->width = 4;
        status = py_read_u64(python, object, PY_STR_WSTR_LENGTH, &ret->length);
        return status == PSC_OK ? py_read_u64(python, object, PY_STR_WSTR, &ret->data) : status;
    }
    if (ret->width != 1 && ret->width != 2 && ret->width != 4)
        return PSC_ERR_FORMAT;
    if (!compact)
        return py_read_u64(python, object, PY_STR_DATA, &ret->data);
    ret->data = py_field_address(python, object, ascii ? PY_STR_ASCII_SIZE : PY_STR_COMPACT_SIZE);
    return PSC_OK;
}

static void add_characters(struct text *text, const uint8_t *bytes, size_t count, uint32_t width)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t character = width == 1   ? bytes[i]
                             : width == 2 ? load_u16(bytes + 2 * i)
                                          : load_u32(bytes + 4 * i);
        /* A NUL would end the name for whoever reads it. */
        text_add_code_point(text, character ? character : 0xfffd);
    }
}

enum psc_status py_read_string(struct python *python, psc_addr object, size_t limit,
                               const char **ret)
{
    struct py_characters shape;
    enum psc_status status = py_string_open(python, object, &shape);
    if (status != PSC_OK)
        return status;
    bool cut = shape.length > limit;
    size_t count = cut ? limit : (size_t)shape.length;
    size_t size = count * shape.width;
    PSC_CLEANUP(cleanup_free) uint8_t *copy = NULL;
    const uint8_t *bytes = target_peek(python->target, shape.data, size);
    if (!bytes && size) {
        bytes = copy = malloc(size);
        if (!copy)
            return PSC_ERR_MEMORY;
        status = target_read(python->target, shape.data, copy, size);
        if (status != PSC_OK)
            return status;
    }
    struct text text = {0};
    add_characters(&text, bytes, count, shape.width);
    text_add_string(&text, cut ? "..." : "");
    *ret = text.failed ? NULL : arena_strndup(python->arena, text.data ? text.data : "", text.size);
    text_deinit(&text);
    return *ret ? PSC_OK : PSC_ERR_MEMORY;
}

bool py_string_equals(struct python *python, psc_addr object, const char *ascii)
{
    struct py_characters shape;
    uint8_t bytes[64];
    size_t size = strlen(ascii);
    return py_string_open(python, object, &shape) == PSC_OK && shape.length == size &&
           shape.width == 1 && size <= sizeof(bytes) &&
           target_read(python->target, shape.data, bytes, size) == PSC_OK &&
           memcmp(bytes, ascii, size) == 0;
}
