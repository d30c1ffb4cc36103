/* Reports as they are written: kept, and held to what each of them promises. */
#include "mutants.h"

#include <stdlib.h>
#include <string.h>

int report_take(void *context, const char *bytes, size_t size)
{
    struct report_text *text = context;
    if (size > REPORT_MAX - text->size)
        return 1;
    if (text->size + size + 1 > text->capacity) {
        size_t capacity = 2 * (text->size + size) + 4096;
        char *grown = realloc(text->bytes, capacity);
        if (!grown)
            return 1;
        text->bytes = grown;
        text->capacity = capacity;
    }
    if (size)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return 0;
}

/* The character at *at, which is moved on; UINT32_MAX: not UTF-8 (Unicode 15, table 3-7). */
static uint32_t next_character(const struct report_text *text, size_t *at)
{
    const uint8_t *bytes = (const uint8_t *)text->bytes + *at;
    size_t left = text->size - *at, size = 1;
    uint32_t character = bytes[0];
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (character >= 0xf0 && character < 0xf8)
        size = 4, character &= 7;
    else if (character >= 0xe0 && character < 0xf0)
        size = 3, character &= 15;
    else if (character >= 0xc0 && character < 0xe0)
        size = 2, character &= 31;
    else if (character >= 0x80)
        return UINT32_MAX;
    if (size > left)
        return UINT32_MAX;
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return UINT32_MAX;
        character = character << 6 | (bytes[i] & 63);
    }
    *at += size;
    return character < least[size] || character > 0x10ffff ||
                   (character >= 0xd800 && character < 0xe000)
               ? UINT32_MAX
               : character;
}

/* Controls but line breaks, marks of direction, separators of lines: what drives a terminal. */
static bool is_forbidden(uint32_t character)
{
    return (character < 0x20 && character != '\n') || (character >= 0x7f && character < 0xa0) ||
           character == 0x61c || (character >= 0x200e && character <= 0x200f) ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == UINT32_MAX;
}

void report_check_text(const struct report_text *text, struct complaint *complaint)
{
    for (size_t at = 0; at < text->size;) {
        size_t before = at;
        uint32_t character = next_character(text, &at);
        if (is_forbidden(character)) {
            complain(complaint, "text: byte %zu of the report begins %s %#x", before,
                     character == UINT32_MAX ? "what is not UTF-8," : "the character",
                     character == UINT32_MAX ? (uint8_t)text->bytes[before] : character);
            return;
        }
    }
}

void report_check_json(const struct report_text *text, const struct schema *schema,
                       struct complaint *complaint)
{
    json_error_t error;
    json_t *document = json_loadb(text->bytes ? text->bytes : "", text->size,
                                  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!document)
        complain(complaint, "JSON: %s, at byte %d", error.text, error.position);
    else
        schema_check(schema, document, complaint);
    json_decref(document);
}
