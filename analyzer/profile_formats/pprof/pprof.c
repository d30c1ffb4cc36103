/*
 * A profile as pprof has it: each stack of each thread once, with how many samples it had, the time
 * that they stand for, and processor time. Messages come in no particular order (protobuf), so that
 * none but the one at hand is in memory. Numbers of our tables are the ids: both begin at 1, and
 * string 0 is "" in both.
 */
#include "pprof.h"
#include "pprof_private.h"
#include "samples.h"

#include <stdlib.h>

/* Fields of proto/profile.proto. */
enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14
};
enum value_type_field { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STRING = 2, LABEL_NUMBER = 3 };
enum mapping_field {
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9
};
enum location_field {
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4
};
enum line_field { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function_field {
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_START_LINE = 5
};

/* Strings behind those of the profile. */
enum more_string {
    MORE_SAMPLES,
    MORE_COUNT,
    MORE_WALL,
    MORE_NANOSECONDS,
    MORE_CPU,
    MORE_THREAD,
    MORE_TID,
    MORE_PROCESS,
    MORE_PID,
    MORE_TARGET,
    MORE_STRINGS
};
#define VALUES 3 /* Samples, time, processor time. */

struct pprof {
    const struct profile *profile;
    struct profile_printer *printer;
    struct text message; /* What goes into the printer's next field. */
    struct text inner;   /* And into that. */
    uint64_t *locations;
    size_t capacity;
};

static uint64_t more_string(const struct pprof *to, enum more_string which)
{
    return to->profile->string_count + (uint64_t)which;
}

/* The message at hand as a field of the profile. */
static void put_message(struct pprof *to, enum profile_field field)
{
    protobuf_bytes(&to->printer->text, field, to->message.data ? to->message.data : "",
                   to->message.size);
    to->printer->text.failed |= to->message.failed | to->inner.failed;
    text_clear(&to->message);
    printer_flow(to->printer);
}

/* And the inner one as a field of that. */
static void put_inner(struct pprof *to, uint32_t field)
{
    protobuf_bytes(&to->message, field, to->inner.data ? to->inner.data : "", to->inner.size);
    text_clear(&to->inner);
}

static void put_value_type(struct pprof *to, enum profile_field field, enum more_string type,
                           enum more_string unit)
{
    protobuf_number(&to->message, VALUE_TYPE, more_string(to, type));
    protobuf_number(&to->message, VALUE_UNIT, more_string(to, unit));
    put_message(to, field);
}

static void put_head(struct pprof *to)
{
    const struct profile *profile = to->profile;
    struct text *text = &to->printer->text;
    enum more_string shown = profile->by_cpu ? MORE_CPU : MORE_WALL;
    put_value_type(to, PROFILE_SAMPLE_TYPE, MORE_SAMPLES, MORE_COUNT);
    put_value_type(to, PROFILE_SAMPLE_TYPE, MORE_WALL, MORE_NANOSECONDS);
    put_value_type(to, PROFILE_SAMPLE_TYPE, MORE_CPU, MORE_NANOSECONDS);
    put_value_type(to, PROFILE_PERIOD_TYPE, MORE_WALL, MORE_NANOSECONDS);
    protobuf_number(text, PROFILE_PERIOD, profile->interval);
    protobuf_number(text, PROFILE_TIME_NANOS, profile->start_epoch);
    protobuf_number(text, PROFILE_DURATION_NANOS, profile->duration);
    protobuf_number(text, PROFILE_DEFAULT_SAMPLE_TYPE, more_string(to, shown));
    const uint64_t comment = more_string(to, MORE_TARGET);
    protobuf_numbers(text, PROFILE_COMMENT, &comment, 1);
}

/* With names, files and lines told here, pprof does not look for the file. */
static void put_mapping(struct pprof *to, uint32_t number)
{
    const struct profile_library *library = &to->profile->libraries[number];
    struct text *message = &to->message;
    protobuf_number(message, MAPPING_ID, number);
    protobuf_number(message, MAPPING_START, library->base);
    protobuf_number(message, MAPPING_LIMIT, library->base + library->size);
    protobuf_number(message, MAPPING_FILE, library->path);
    protobuf_number(message, MAPPING_BUILD_ID, library->build_id);
    protobuf_number(message, MAPPING_HAS_FUNCTIONS, 1);
    protobuf_number(message, MAPPING_HAS_FILES, 1);
    protobuf_number(message, MAPPING_HAS_LINES, 1);
    put_message(to, PROFILE_MAPPING);
}

static void put_location(struct pprof *to, uint32_t number)
{
    const struct profile_frame *frame = &to->profile->frames[number];
    const struct profile_function *function = &to->profile->functions[frame->function];
    const struct profile_library *library = &to->profile->libraries[function->library];
    protobuf_number(&to->message, LOCATION_ID, number);
    protobuf_number(&to->message, LOCATION_MAPPING, function->library);
    if (function->library && frame->offset)
        protobuf_number(&to->message, LOCATION_ADDRESS, library->base + frame->offset);
    protobuf_number(&to->inner, LINE_FUNCTION, frame->function);
    protobuf_number(&to->inner, LINE_NUMBER, frame->line);
    put_inner(to, LOCATION_LINE);
    put_message(to, PROFILE_LOCATION);
}

static void put_function(struct pprof *to, uint32_t number)
{
    const struct profile_function *function = &to->profile->functions[number];
    uint32_t symbol = function->symbol ? function->symbol : function->name;
    protobuf_number(&to->message, FUNCTION_ID, number);
    protobuf_number(&to->message, FUNCTION_NAME, function->name);
    protobuf_number(&to->message, FUNCTION_SYSTEM_NAME, symbol);
    protobuf_number(&to->message, FUNCTION_FILE, function->file);
    protobuf_number(&to->message, FUNCTION_START_LINE, function->line);
    put_message(to, PROFILE_FUNCTION);
}

static void put_label(struct pprof *to, enum more_string key, enum label_field field,
                      uint64_t value)
{
    if (!value)
        return;
    protobuf_number(&to->inner, LABEL_KEY, more_string(to, key));
    protobuf_number(&to->inner, field, value);
    put_inner(to, SAMPLE_LABEL);
}

static bool put_sample(struct pprof *to, const struct stack_weight *one)
{
    const struct profile *profile = to->profile;
    const struct profile_thread *thread = &profile->threads[one->thread];
    const struct profile_process *process = &profile->processes[thread->process];
    size_t count = 0;
    for (uint32_t at = (uint32_t)one->stack; at; at = profile->stacks[at].parent) {
        if (!array_reserve(&to->locations, &to->capacity, count + 1, sizeof(*to->locations)))
            return false;
        to->locations[count++] = profile->stacks[at].frame;
    }
    const uint64_t values[VALUES] = {one->count, one->weight * profile->interval, one->cpu};
    protobuf_numbers(&to->message, SAMPLE_LOCATION, to->locations, count);
    protobuf_numbers(&to->message, SAMPLE_VALUE, values, VALUES);
    put_label(to, MORE_THREAD, LABEL_STRING, thread->name);
    put_label(to, MORE_TID, LABEL_NUMBER, (uint64_t)thread->tid);
    put_label(to, MORE_PROCESS, LABEL_STRING, process->name);
    put_label(to, MORE_PID, LABEL_NUMBER, (uint64_t)process->pid);
    put_message(to, PROFILE_SAMPLE);
    return true;
}

static void put_string(struct pprof *to, const char *string)
{
    protobuf_bytes(&to->printer->text, PROFILE_STRING, string, strlen(string));
    printer_flow(to->printer);
}

static void put_strings(struct pprof *to)
{
    const struct profile *profile = to->profile;
    static const char *const more[MORE_TARGET] = {
        [MORE_SAMPLES] = "samples", [MORE_COUNT] = "count",
        [MORE_WALL] = "wall",       [MORE_NANOSECONDS] = "nanoseconds",
        [MORE_CPU] = "cpu",         [MORE_THREAD] = "thread",
        [MORE_TID] = "tid",         [MORE_PROCESS] = "process",
        [MORE_PID] = "pid"};
    for (uint32_t i = 0; i < profile->string_count; i++)
        put_string(to, profile_string(profile, i));
    for (size_t i = 0; i < MORE_TARGET; i++)
        put_string(to, more[i]);
    put_string(to, profile->target ? profile->target : "pystack-core");
}

static bool put_all(struct pprof *to, const struct hash_table *weights)
{
    const struct profile *profile = to->profile;
    bool good = true;
    put_head(to);
    for (size_t i = 0; good && i < weights->count; i++)
        good = put_sample(to, hash_table_at(weights, i));
    for (uint32_t i = 1; i < profile->library_count; i++)
        put_mapping(to, i);
    for (uint32_t i = 1; i < profile->frame_count; i++)
        put_location(to, i);
    for (uint32_t i = 1; i < profile->function_count; i++)
        put_function(to, i);
    put_strings(to);
    return good;
}

static enum psc_status write_packed(const struct profile *profile,
                                    const struct profile_output *output,
                                    const struct hash_table *weights)
{
    struct profile_output packed;
    struct gzip_output *gzip = gzip_open(output, &packed);
    if (!gzip)
        return PSC_ERR_MEMORY;
    struct profile_printer printer = {.output = &packed};
    struct pprof to = {.profile = profile, .printer = &printer};
    if (!put_all(&to, weights))
        printer.status = PSC_ERR_MEMORY;
    text_deinit(&to.message);
    text_deinit(&to.inner);
    free(to.locations);
    enum psc_status status = printer_end(&printer);
    enum psc_status closed = gzip_close(gzip, status == PSC_OK);
    return status == PSC_OK ? closed : status;
}

enum psc_status write_pprof(const struct profile *profile, const struct profile_output *output,
                            struct psc_error *err)
{
    struct hash_table weights;
    enum psc_status status = stack_weights_read(profile, &weights, err);
    if (status == PSC_OK)
        status = psc_fail_status(err, write_packed(profile, output, &weights));
    hash_table_deinit(&weights);
    return status;
}
