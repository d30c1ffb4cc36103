/** What the files that write JSON share: the writer, and values made of what a trace holds. */
#ifndef PSC_JSON_VALUES_H
#define PSC_JSON_VALUES_H

#include "as_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define JSON_CACHE_SIZE 256 /* A power of two. */

/** The text of a location, for the frames that are there again. */
struct cached_location {
    const struct trace_location *location;
    struct text text;
};

struct json_writer {
    struct print_sink *sink;
    bool failed; /* Out of memory. */
    bool one_line;
    struct cached_location cache[JSON_CACHE_SIZE];
};

/** For what is not UTF-8. */
json_t *json_make_repaired_string(const char *bytes);

/** NULL is null; jansson refuses what is not UTF-8. */
static inline json_t *make_string(const char *string)
{
    if (!string)
        return json_null();
    json_t *value = json_string(string);
    return value ? value : json_make_repaired_string(string);
}

static inline json_t *make_address(bool known, psc_addr address)
{
    char digits[24];
    if (!known)
        return json_null();
    snprintf(digits, sizeof(digits), "0x%" PRIx64, address);
    return json_string(digits);
}

static inline json_t *make_integer(bool known, uint64_t value)
{
    return known && value <= INT64_MAX ? json_integer((json_int_t)value) : json_null();
}

static inline void set(struct json_writer *writer, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, value))
        writer->failed = true;
}

static inline void append(struct json_writer *writer, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        writer->failed = true;
}

/** Function, name, file and line. */
json_t *json_make_place(struct json_writer *writer, const struct trace_location *location);

/* ---- json_tasks.c ---- */

json_t *json_make_task(struct json_writer *writer, const struct trace_tasks *tasks,
                       const struct trace_task *task);
json_t *json_make_greenlet(struct json_writer *writer, const struct trace_task *greenlet);
/** Lists of ids. */
json_t *json_make_task_cycles(struct json_writer *writer, const struct trace_tasks *tasks);

#endif
