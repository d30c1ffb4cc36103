/**
 * @file
 * Bytes of others: loads at any alignment, and a cursor that reads forward. Past the end all is 0
 * and `failed` is set and stays so: a parser may check once per step.
 */
#ifndef PSC_CURSOR_H
#define PSC_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Little-endian loads from unaligned bytes. */
static inline uint16_t load_u16(const void *bytes)
{
    const uint8_t *b = bytes;
    return (uint16_t)(b[0] | (uint16_t)b[1] << 8);
}

static inline uint32_t load_u32(const void *bytes)
{
    uint32_t value;
    __builtin_memcpy(&value, bytes, sizeof(value));
    return value;
}

static inline uint64_t load_u64(const void *bytes)
{
    uint64_t value;
    __builtin_memcpy(&value, bytes, sizeof(value));
    return value;
}

struct byte_cursor {
    const uint8_t *next;
    const uint8_t *end;
    bool failed;
};

static inline struct byte_cursor cursor_over(const void *bytes, size_t size)
{
    return (struct byte_cursor){.next = bytes, .end = (const uint8_t *)bytes + size};
}

static inline size_t cursor_left(const struct byte_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->next);
}

/** Goes to the end. */
static inline void cursor_fail(struct byte_cursor *cursor)
{
    cursor->failed = true;
    cursor->next = cursor->end;
}

/** The next `size` bytes, or NULL; also to skip them. */
static inline const uint8_t *cursor_take(struct byte_cursor *cursor, uint64_t size)
{
    if (size > cursor_left(cursor)) {
        cursor_fail(cursor);
        return NULL;
    }
    const uint8_t *bytes = cursor->next;
    cursor->next += size;
    return bytes;
}

static inline uint8_t cursor_u8(struct byte_cursor *cursor)
{
    const uint8_t *bytes = cursor_take(cursor, sizeof(uint8_t));
    return bytes ? *bytes : 0;
}

static inline uint16_t cursor_u16(struct byte_cursor *cursor)
{
    const uint8_t *bytes = cursor_take(cursor, sizeof(uint16_t));
    return bytes ? load_u16(bytes) : 0;
}

static inline uint32_t cursor_u32(struct byte_cursor *cursor)
{
    const uint8_t *bytes = cursor_take(cursor, sizeof(uint32_t));
    return bytes ? load_u32(bytes) : 0;
}

static inline uint64_t cursor_u64(struct byte_cursor *cursor)
{
    const uint8_t *bytes = cursor_take(cursor, sizeof(uint64_t));
    return bytes ? load_u64(bytes) : 0;
}

/** An unsigned number of 1 to 8 bytes, little-endian. */
static inline uint64_t cursor_unsigned(struct byte_cursor *cursor, size_t size)
{
    uint64_t value = 0;
    const uint8_t *bytes = size <= sizeof(value) ? cursor_take(cursor, size) : NULL;
    if (bytes)
        memcpy(&value, bytes, size);
    else
        cursor_fail(cursor);
    return value;
}

/** LEB128 of up to ten bytes, which hold 64 bits and more; bits above are lost. */
static inline uint64_t cursor_leb128(struct byte_cursor *cursor, unsigned *ret_shift,
                                     uint8_t *ret_last)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && cursor->next < cursor->end;) {
        uint8_t byte = *cursor->next++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            *ret_shift = shift;
            *ret_last = byte;
            return value;
        }
    }
    cursor_fail(cursor);
    *ret_shift = 0;
    *ret_last = 0;
    return 0;
}

static inline uint64_t cursor_uleb(struct byte_cursor *cursor)
{
    unsigned shift;
    uint8_t last;
    return cursor_leb128(cursor, &shift, &last);
}

static inline int64_t cursor_sleb(struct byte_cursor *cursor)
{
    unsigned shift;
    uint8_t last;
    uint64_t value = cursor_leb128(cursor, &shift, &last);
    if (last & 0x40 && shift < 64)
        value |= UINT64_MAX << shift;
    return (int64_t)value;
}

/** A NUL-terminated string, or NULL. */
static inline const char *cursor_string(struct byte_cursor *cursor)
{
    const uint8_t *nul = cursor_left(cursor) ? memchr(cursor->next, 0, cursor_left(cursor)) : NULL;
    if (!nul) {
        cursor_fail(cursor);
        return NULL;
    }
    const char *string = (const char *)cursor->next;
    cursor->next = nul + 1;
    return string;
}

#endif
