#include "objects.h"

#include <stdlib.h>
#include <string.h>

#define JUDGED_CHARACTERS 64u

/*
 * A build of 2.7 has unicode of 2 or of 4 bytes a character, and names of functions that say which
 * (Include/unicodeobject.h). Without them the text itself tells: as 4-byte characters it is none,
 * or it does not end where it should.
 */
static uint32_t judge_width(struct python *python, psc_addr data, uint64_t length)
{
    uint32_t character;
    uint64_t count = length < JUDGED_CHARACTERS ? length : JUDGED_CHARACTERS;
    for (uint64_t i = 0; i < count; i++)
        if (target_read_u32(python->target, data + 4 * i, &character) != PSC_OK ||
            character > 0x10ffff)
            return 2;
    return target_read_u32(python->target, data + 4 * length, &character) == PSC_OK && !character
               ? 4
               : 2;
}

/* CPython 2.7, Include/stringobject.h and unicodeobject.h. */
static enum psc_status open_bytes_or_unicode(struct python *python, psc_addr object,
                                             struct py_characters *ret)
{
    psc_addr type;
    uint64_t flags;
    enum psc_status status = py_read_type(python, object, &type, &flags);
    if (status != PSC_OK)
        return status;
    ret->encoded = flags & PY_FLAG_BYTES;
    if (ret->encoded) {
        ret->width = 1;
        ret->data = py_field_address(python, object, PY_BYTES_DATA);
        return py_read_u64(python, object, PY_VAR_SIZE, &ret->length);
    }
    if (!(flags & PY_FLAG_STR))
        return PSC_ERR_FORMAT;
    status = py_read_u64(python, object, PY_STR_LENGTH, &ret->length);
    if (status == PSC_OK)
        status = py_read_u64(python, object, PY_STR_DATA, &ret->data);
    if (status != PSC_OK)
        return status;
    ret->width = python->layout.unicode_width ? python->layout.unicode_width
                                              : judge_width(python, ret->data, ret->length);
    return PSC_OK;
}

/* CPython, Include/cpython/unicodeobject.h: compact ASCII, compact, with a data pointer, and
   up to 3.11 the legacy form that has only wchar_t. */
static enum psc_status open_str(struct python *python, psc_addr object, struct py_characters *ret)
{
    int32_t state;
    ret->encoded = false;
    if (!py_has_flags(python, object, PY_FLAG_STR))
        return PSC_ERR_FORMAT;
    enum psc_status status = py_read_i32(python, object, PY_STR_STATE, &state);
    if (status == PSC_OK)
        status = py_read_u64(python, object, PY_STR_LENGTH, &ret->length);
    if (status != PSC_OK)
        return status;
    uint32_t bits = (uint32_t)state >> python->layout.string_kind_shift;
    bool compact = bits & PY_STR_COMPACT;
    bool ascii = bits & PY_STR_ASCII;
    ret->width = bits & PY_STR_KIND;
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

enum psc_status py_string_open(struct python *python, psc_addr object, struct py_characters *ret)
{
    switch (python->layout.rules->texts) {
    case PY_TEXTS_BYTES_AND_UNICODE:
        return open_bytes_or_unicode(python, object, ret);
    case PY_TEXTS_STR:
        break;
    }
    return open_str(python, object, ret);
}

bool py_is_text(struct python *python, psc_addr object)
{
    switch (python->layout.rules->texts) {
    case PY_TEXTS_BYTES_AND_UNICODE:
        if (py_has_flags(python, object, PY_FLAG_BYTES))
            return true;
        break;
    case PY_TEXTS_STR:
        break;
    }
    return py_has_flags(python, object, PY_FLAG_STR);
}

static void add_characters(struct text *text, const uint8_t *bytes, size_t count, uint32_t width)
{
    for (size_t i = 0; bytes && i < count; i++) {
        uint32_t character = width == 1   ? bytes[i]
                             : width == 2 ? load_u16(bytes + 2 * i)
                                          : load_u32(bytes + 4 * i);
        /* A NUL would end the name for whoever reads it. */
        text_add_code_point(text, character ? character : 0xfffd);
    }
}

/* Bytes that are no UTF-8 are shown as U+FFFD each. */
static void add_encoded(struct text *text, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count;) {
        uint32_t character = 0;
        size_t used = utf8_decode(bytes + i, count - i, &character);
        text_add_code_point(text, used && character ? character : 0xfffd);
        i += used ? used : 1;
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
    if (shape.encoded)
        add_encoded(&text, (const char *)bytes, count);
    else
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
