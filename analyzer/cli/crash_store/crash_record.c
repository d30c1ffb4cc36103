/* The record of a crash, as JSON. */
#include "crash_store_private.h"

#include "base.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "pystack-core-crash/1"

/* Whatever bytes there are: what is no UTF-8 is escaped. */
static json_t *text_of(const char *bytes)
{
    struct text text = {0};
    text_add_escaped(&text, bytes);
    json_t *value = text.failed ? NULL : json_string(text.data ? text.data : "");
    text_deinit(&text);
    return value;
}

char *crash_record_print(const struct crash_record *record)
{
    json_t *json = json_object();
    bool good = json && !json_object_set_new(json, "schema", json_string(SCHEMA)) &&
                !json_object_set_new(json, "id", json_string(record->id)) &&
                !json_object_set_new(json, "time", json_integer(record->time)) &&
                !json_object_set_new(json, "pid", json_integer(record->pid)) &&
                !json_object_set_new(json, "user", json_integer(record->user)) &&
                !json_object_set_new(json, "group", json_integer(record->group)) &&
                !json_object_set_new(json, "signal",
                                     record->signal ? json_integer(record->signal) : json_null()) &&
                !json_object_set_new(json, "command", text_of(record->command)) &&
                !json_object_set_new(json, "executable", text_of(record->executable)) &&
                !json_object_set_new(json, "title", text_of(record->title)) &&
                !json_object_set_new(json, "signature", text_of(record->signature)) &&
                !json_object_set_new(json, "problem", text_of(record->problem)) &&
                !json_object_set_new(json, "held_ms", json_real(record->held_ms));
    char *text = good ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(json);
    return text;
}

static int64_t number_of(const json_t *json, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(json, name));
}

static void copy_text(const json_t *json, const char *name, char *ret, size_t size)
{
    const char *text = json_string_value(json_object_get(json, name));
    snprintf(ret, size, "%s", text ? text : "");
}

static bool read_record(const struct kept_crash *crash, struct crash_record *ret)
{
    json_t *json = crash->record ? json_loadb(crash->record, crash->record_size, 0, NULL) : NULL;
    const char *schema = json_string_value(json_object_get(json, "schema"));
    bool good = schema && !strcmp(schema, SCHEMA);
    if (good) {
        ret->time = number_of(json, "time");
        ret->pid = (int32_t)number_of(json, "pid");
        ret->user = (uint32_t)number_of(json, "user");
        ret->group = (uint32_t)number_of(json, "group");
        ret->signal = (int32_t)number_of(json, "signal");
        ret->held_ms = json_number_value(json_object_get(json, "held_ms"));
        copy_text(json, "command", ret->command, sizeof(ret->command));
        copy_text(json, "executable", ret->executable, sizeof(ret->executable));
        copy_text(json, "title", ret->title, sizeof(ret->title));
        copy_text(json, "signature", ret->signature, sizeof(ret->signature));
        copy_text(json, "problem", ret->problem, sizeof(ret->problem));
    }
    json_decref(json);
    return good;
}

void crash_record_parse(const struct kept_crash *crash, struct crash_record *ret)
{
    *ret = (struct crash_record){.time = crash->time, .bytes = crash->bytes};
    if (!read_record(crash, ret)) {
        snprintf(ret->problem, sizeof(ret->problem), "its record cannot be read");
        ret->pid = (int32_t)strtol(crash->id + CRASH_ID_PID, NULL, 10);
    }
    memcpy(ret->id, crash->id, sizeof(ret->id));
}
