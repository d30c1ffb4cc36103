/**
 * @file
 * JSON as it is written: compact, ASCII, never more than one string of it in memory.
 *
 * `key` names the member that a value is; NULL in arrays. A failed allocation shows in out->failed
 * or in `failed`.
 */
#ifndef PSC_JSON_WRITER_H
#define PSC_JSON_WRITER_H

#include "base.h"

struct json_writer {
    struct text *out;
    bool one_line; /**< Without line breaks. */
    bool follows;  /**< A member or item stands before the next one: a comma comes between. */
    bool failed;   /**< Out of memory. */
    /** Whether one more item may be written, and where room can be made; NULL: yes. */
    bool (*takes)(void *context);
    void *context; /**< What it is given. */
};

/** Whether a list goes on: to be asked before each item of those that foreign data fills. */
bool json_takes(const struct json_writer *writer);

void json_open_object(struct json_writer *writer, const char *key);
void json_close_object(struct json_writer *writer);
void json_open_array(struct json_writer *writer, const char *key);
void json_close_array(struct json_writer *writer);
/** The next member or item begins a line. */
void json_break_line(struct json_writer *writer);

/** NULL is null; each byte that is not UTF-8 becomes U+FFFD. */
void json_put_string(struct json_writer *writer, const char *key, const char *string);
/**
 * Whether two strings are written as the same one, as what is not UTF-8 can be: a member's name
 * that is not ours has to differ in this way from all others of its object (RFC 8259, 4).
 */
bool json_is_same_string(const char *one, const char *other);
/** null when it is not known. */
void json_put_integer(struct json_writer *writer, const char *key, bool known, int64_t value);
/** The same; null also above INT64_MAX, which is what readers of JSON take. */
void json_put_unsigned(struct json_writer *writer, const char *key, bool known, uint64_t value);
/** A string, since readers of JSON may keep 53 bits of a number. */
void json_put_address(struct json_writer *writer, const char *key, bool known, psc_addr address);
void json_put_real(struct json_writer *writer, const char *key, double value);
void json_put_boolean(struct json_writer *writer, const char *key, bool value);
void json_put_null(struct json_writer *writer, const char *key);

#endif
