/* Members of objects, each of the type that it must have. */
#include "report_private.h"

#include <stdio.h>

void reading_fail(struct reading *reading, enum psc_status status, const char *format, ...)
{
    char message[160];
    va_list args;
    if (reading->status != PSC_OK)
        return;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    reading->status = psc_fail(reading->err, status, "%s", message);
}

/* NULL: it is not there, or null. */
static const json_t *find(struct reading *reading, const json_t *parent, const char *key)
{
    const json_t *value = reading->status == PSC_OK ? json_object_get(parent, key) : NULL;
    return value && !json_is_null(value) ? value : NULL;
}

static const json_t *checked(struct reading *reading, const json_t *value, bool good,
                             const char *key, const char *what)
{
    if (value && !good)
        reading_fail(reading, PSC_ERR_FORMAT, "\"%s\" is no %s", key, what);
    return good ? value : NULL;
}

const json_t *reading_object(struct reading *reading, const json_t *parent, const char *key)
{
    const json_t *value = find(reading, parent, key);
    return checked(reading, value, json_is_object(value), key, "object");
}

const json_t *reading_list(struct reading *reading, const json_t *parent, const char *key)
{
    const json_t *value = find(reading, parent, key);
    return checked(reading, value, json_is_array(value), key, "list");
}

const char *reading_text(struct reading *reading, const json_t *parent, const char *key)
{
    const json_t *value = find(reading, parent, key);
    value = checked(reading, value, json_is_string(value), key, "text");
    if (!value)
        return NULL;
    const char *text = arena_strdup(reading->trace->arena, json_string_value(value));
    if (!text)
        reading_fail(reading, PSC_ERR_MEMORY, "out of memory");
    return text;
}

bool reading_number(struct reading *reading, const json_t *parent, const char *key, int64_t *ret)
{
    const json_t *value = find(reading, parent, key);
    value = checked(reading, value, json_is_integer(value), key, "whole number");
    *ret = value ? json_integer_value(value) : 0;
    return value;
}

bool reading_flag(struct reading *reading, const json_t *parent, const char *key)
{
    const json_t *value = find(reading, parent, key);
    return json_is_true(checked(reading, value, json_is_boolean(value), key, "true or false"));
}
