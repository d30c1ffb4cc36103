/**
 * @file
 * Growing text, and UTF-8.
 */
#ifndef PSC_TEXT_H
#define PSC_TEXT_H

#include "status.h"

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
/** Adds a number in decimal: a good deal faster than text_printf(). */
void text_add_number(struct text *text, uint64_t number);
void text_printf(struct text *text, const char *format, ...) PSC_PRINTF(2, 3);
/** Adds a code point as UTF-8; surrogates and out-of-range ones become U+FFFD. */
void text_add_code_point(struct text *text, uint32_t code_point);
/**
 * Adds text that came from a target so that it can not drive a terminal:
 * C0, DEL, C1 and bidirectional controls are shown as \xNN or \u202e, bytes that
 * are not UTF-8 as \xNN.
 */
void text_add_escaped(struct text *text, const char *string);
/** The same for a page (HTML): nothing of it is markup either. */
void text_add_html(struct text *text, const char *string);

/**
 * Decodes one code point of UTF-8 at text (size > 0).
 * @return bytes used, or 0 when the bytes are not valid UTF-8.
 */
size_t utf8_decode(const char *text, size_t size, uint32_t *ret);

/**
 * Writes a code point as UTF-8; surrogates and out-of-range ones become U+FFFD.
 * @return bytes written, 1 to 4.
 */
size_t utf8_put(uint32_t code_point, char ret[4]);

/** Whether a byte is the second or a later one of a character. */
static inline bool utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

#endif
