/**
 * @file
 * Private to modules/: reading forward through bytes. Past the end everything
 * is 0 and `failed` is set, so that a parser may check once per step.
 */
#ifndef PSC_BYTE_CURSOR_H
#define PSC_BYTE_CURSOR_H

#include "base.h"

#include <string.h>

struct byte_cursor {
    const uint8_t *next;
    const uint8_t *end;
    bool failed;
};

static inline size_t cursor_left(const struct byte_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->next);
}

/** The next `size` bytes, or NULL. */
static inline const uint8_t *cursor_take(struct byte_cursor *cursor, uint64_t size)
{
    if (size > cursor_left(cursor)) {
        cursor->failed = true;
        cursor->next = cursor->end;
        return NULL;
    }
    const uint8_t *bytes = cursor->next;
    cursor->next += size;
    return bytes;
}

static inline uint8_t cursor_u8(struct byte_cursor *cursor)
{
    const uint8_t *bytes = cursor_take(cursor, 1);
    return bytes ? *bytes : 0;
}

/** An unsigned number of 1 to 8 bytes, little-endian. */
static inline uint64_t cursor_unsigned(struct byte_cursor *cursor, size_t size)
{
    uint64_t value = 0;
    const uint8_t *bytes = size <= sizeof(value) ? cursor_take(cursor, size) : NULL;
    if (bytes)
        memcpy(&value, bytes, size);
    else
        cursor->failed = true;
    return value;
}

static inline uint64_t cursor_uleb(struct byte_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned int shift = 0; cursor->next < cursor->end;) {
        uint8_t byte = *cursor->next++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += shift < 64 ? 7 : 0;
        if (!(byte & 0x80))
            return value;
    }
    cursor->failed = true;
    return 0;
}

static inline int64_t cursor_sleb(struct byte_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned int shift = 0; cursor->next < cursor->end;) {
        uint8_t byte = *cursor->next++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += shift < 64 ? 7 : 0;
        if (!(byte & 0x80)) {
            if ((byte & 0x40) && shift < 64)
                value |= UINT64_MAX << shift;
            return (int64_t)value;
        }
    }
    cursor->failed = true;
    return 0;
}

/** A NUL-terminated string, or NULL. */
static inline const char *cursor_string(struct byte_cursor *cursor)
{
    const uint8_t *nul = memchr(cursor->next, 0, cursor_left(cursor));
    if (!nul) {
        cursor->failed = true;
        cursor->next = cursor->end;
        return NULL;
    }
    const char *string = (const char *)cursor->next;
    cursor->next = nul + 1;
    return string;
}

#endif
