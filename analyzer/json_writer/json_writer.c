#include "json_writer.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* ---- jansson ---- */

static int append_text(const char *bytes, size_t size, void *text)
{
    text_add(text, bytes, size);
    return 0;
}

/* Takes the value over. */
static void dump_value(struct json_writer *writer, json_t *value)
{
    size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY;
    if (!value || json_dump_callback(value, append_text, writer->out, flags))
        writer->failed = true;
    json_decref(value);
}

/* How many bytes the next character has that is written; one that is not UTF-8 is U+FFFD. */
static size_t decode_repaired(const char *bytes, size_t left, uint32_t *ret)
{
    size_t used = utf8_decode(bytes, left, ret);
    if (!used)
        *ret = 0xfffd;
    return used ? used : 1;
}

static json_t *make_repaired_string(const char *bytes)
{
    struct text text = {0};
    size_t left = strlen(bytes);
    while (left) {
        uint32_t code_point;
        size_t used = decode_repaired(bytes, left, &code_point);
        text_add_code_point(&text, code_point);
        bytes += used;
        left -= used;
    }
    json_t *value = text.failed ? NULL : json_string(text.data);
    text_deinit(&text);
    return value;
}

bool json_is_same_string(const char *one, const char *other)
{
    size_t left[2] = {strlen(one), strlen(other)};
    while (left[0] && left[1]) {
        uint32_t code_points[2];
        size_t used[2] = {decode_repaired(one, left[0], &code_points[0]),
                          decode_repaired(other, left[1], &code_points[1])};
        if (code_points[0] != code_points[1])
            return false;
        one += used[0];
        left[0] -= used[0];
        other += used[1];
        left[1] -= used[1];
    }
    return left[0] == left[1];
}

/* How many bytes stand for themselves in a string. */
static size_t count_plain(const char *string)
{
    const char *end = string;
    while (*end >= ' ' && *end < 0x7f && *end != '"' && *end != '\\')
        end++;
    return (size_t)(end - string);
}

static void add_quoted(struct json_writer *writer, const char *string)
{
    size_t plain = count_plain(string);
    if (!string[plain]) {
        text_add_char(writer->out, '"');
        text_add(writer->out, string, plain);
        text_add_char(writer->out, '"');
        return;
    }
    // jansson refuses what is not UTF-8.
    json_t *value = json_string(string);
    dump_value(writer, value ? value : make_repaired_string(string));
}

/* ---- structure ---- */

bool json_takes(const struct json_writer *writer)
{
    return !writer->takes || writer->takes(writer->context);
}

/* What stands before a value: a comma, and the name of a member. */
static void begin(struct json_writer *writer, const char *key)
{
    if (writer->follows)
        text_add_char(writer->out, ',');
    if (key) {
        add_quoted(writer, key);
        text_add_char(writer->out, ':');
    }
    writer->follows = true;
}

static void open_bracket(struct json_writer *writer, const char *key, char bracket)
{
    begin(writer, key);
    text_add_char(writer->out, bracket);
    writer->follows = false;
}

static void close_bracket(struct json_writer *writer, char bracket)
{
    text_add_char(writer->out, bracket);
    writer->follows = true;
}

void json_open_object(struct json_writer *writer, const char *key)
{
    open_bracket(writer, key, '{');
}

void json_close_object(struct json_writer *writer)
{
    close_bracket(writer, '}');
}

void json_open_array(struct json_writer *writer, const char *key)
{
    open_bracket(writer, key, '[');
}

void json_close_array(struct json_writer *writer)
{
    close_bracket(writer, ']');
}

void json_break_line(struct json_writer *writer)
{
    if (writer->one_line)
        return;
    if (writer->follows)
        text_add_char(writer->out, ',');
    text_add_char(writer->out, '\n');
    writer->follows = false;
}

/* ---- values ---- */

void json_put_string(struct json_writer *writer, const char *key, const char *string)
{
    if (!string) {
        json_put_null(writer, key);
        return;
    }
    begin(writer, key);
    add_quoted(writer, string);
}

void json_put_integer(struct json_writer *writer, const char *key, bool known, int64_t value)
{
    if (!known) {
        json_put_null(writer, key);
        return;
    }
    begin(writer, key);
    text_printf(writer->out, "%" PRId64, value);
}

void json_put_unsigned(struct json_writer *writer, const char *key, bool known, uint64_t value)
{
    json_put_integer(writer, key, known && value <= INT64_MAX, (int64_t)value);
}

void json_put_address(struct json_writer *writer, const char *key, bool known, psc_addr address)
{
    if (!known) {
        json_put_null(writer, key);
        return;
    }
    begin(writer, key);
    text_printf(writer->out, "\"0x%" PRIx64 "\"", address);
}

void json_put_real(struct json_writer *writer, const char *key, double value)
{
    begin(writer, key);
    dump_value(writer, json_real(value));
}

void json_put_boolean(struct json_writer *writer, const char *key, bool value)
{
    begin(writer, key);
    text_add_string(writer->out, value ? "true" : "false");
}

void json_put_null(struct json_writer *writer, const char *key)
{
    begin(writer, key);
    text_add(writer->out, "null", 4);
}
