/**
 * @file
 * Under all rooms: status and error, arena, sorted arrays, growing text, warnings.
 *
 * Knows nothing of targets, ELF or Python.
 */
#ifndef PSC_BASE_H
#define PSC_BASE_H

#include <pystack_core.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSC_PRINTF(format_index, first) __attribute__((__format__(__printf__, format_index, first)))
#define PSC_CLEANUP(function)           __attribute__((__cleanup__(function)))
#define PSC_ARRAY_SIZE(array)           (sizeof(array) / sizeof((array)[0]))

/* ---- errors ---- */

/**
 * Fills `err` (may be NULL) and returns `status`, so that a failing function
 * ends in one line: `return psc_fail(err, PSC_ERR_FORMAT, "%s: not ELF", path);`
 */
enum psc_status psc_fail(struct psc_error *err, enum psc_status status, const char *format, ...)
    PSC_PRINTF(3, 4);

/* ---- memory ---- */

/**
 * Many small things with one life: allocated one by one, freed together.
 * No allocation returns NULL to be ignored: a failed one makes the arena
 * "exhausted", returns NULL, and stays so.
 */
struct arena;

/** NULL when out of memory. */
struct arena *arena_create(void);
void arena_destroy(struct arena *arena);

/** Zeroed, aligned for any type; NULL when exhausted. */
void *arena_alloc(struct arena *arena, size_t size);

/** Zeroed array of count members; NULL when exhausted or when the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/** A NUL-terminated copy of `size` bytes; NULL when exhausted. */
char *arena_strndup(struct arena *arena, const char *text, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) PSC_PRINTF(2, 3);

/** True after any allocation failed. */
bool arena_is_exhausted(const struct arena *arena);

/**
 * Grows a heap array so that it holds at least `need` members; *capacity and
 * *array are changed only on success. Freed with free().
 */
PSC_MUST_CHECK bool array_reserve(void **array, size_t *capacity, size_t need, size_t member_size);

/**
 * How many items of an array that is sorted by a uint64_t member have one below the key, and how
 * many one that is not above it; those come first. `items` may be NULL when there are none.
 */
#define SORTED_BELOW(items, member, count, key) \
    sorted_count_below((items), SORTED_OFFSET(items, member), sizeof(*(items)), (count), (key))
#define SORTED_UP_TO(items, member, count, key) \
    sorted_count_up_to((items), SORTED_OFFSET(items, member), sizeof(*(items)), (count), (key))
/** Compiles for a uint64_t alone. */
#define SORTED_OFFSET(items, member) \
    _Generic((items)->member, uint64_t : offsetof(__typeof__(*(items)), member))

size_t sorted_count_below(const void *items, size_t offset, size_t size, size_t count,
                          uint64_t key);
size_t sorted_count_up_to(const void *items, size_t offset, size_t size, size_t count,
                          uint64_t key);

/** For PSC_CLEANUP on a heap pointer. */
void cleanup_free(void *pointer_to_pointer);

/* ---- text ---- */

/** Growing text; always NUL-terminated once anything was added. Zero-initialise. */
struct text {
    char *data;
    size_t size;
    size_t capacity;
    bool failed; /**< Out of memory: what was added since is lost. */
};

void text_deinit(struct text *text);
void text_clear(struct text *text);
void text_add(struct text *text, const char *bytes, size_t size);
void text_add_string(struct text *text, const char *string);
void text_add_char(struct text *text, char character);
void text_printf(struct text *text, const char *format, ...) PSC_PRINTF(2, 3);
/** Adds a code point as UTF-8; surrogates and out-of-range ones become U+FFFD. */
void text_add_code_point(struct text *text, uint32_t code_point);
/**
 * Adds text that came from a target so that it can not drive a terminal:
 * C0, DEL, C1 and bidirectional controls are shown as \xNN or \u202e, bytes that
 * are not UTF-8 as \xNN.
 */
void text_add_escaped(struct text *text, const char *string);

/**
 * Decodes one code point of UTF-8 at text (size > 0).
 * @return bytes used, or 0 when the bytes are not valid UTF-8.
 */
size_t utf8_decode(const char *text, size_t size, uint32_t *ret);

/* ---- warnings ---- */

struct warning {
    const char *code; /**< Short, static, for programs: "file-missing". */
    const char *message;
};

/** Each sentence once, in the order they came. */
struct warnings {
    struct arena *arena; /**< Owns the messages. */
    struct warning *items;
    size_t count;
    size_t capacity;
};

void warnings_init(struct warnings *warnings, struct arena *arena);
void warnings_deinit(struct warnings *warnings);
/** At most 1,000 are kept; the last says that there were more. */
void warnings_add(struct warnings *warnings, const char *code, const char *format, ...)
    PSC_PRINTF(3, 4);

/* ---- bytes ---- */

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

/** A 64-bit mix for hash tables keyed by addresses. */
static inline uint64_t hash_u64(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 29;
}

#endif
