/* What several formats say of a report. */
#include "messages.h"
#include "facts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

long long number_of(const json_t *object, const char *member)
{
    return (long long)json_integer_value(json_object_get(object, member));
}

bool is_shown(const json_t *frame)
{
    return !json_is_true(json_object_get(frame, "hidden"));
}

bool is_gap(const json_t *frame)
{
    return !strcmp(text_of(frame, "kind"), "gap");
}

/* enum of the schema's crash.cause, and what it means. */
static const struct death_kind kinds[] = {
    {"null-pointer", "A null pointer was used"},
    {"wild-pointer", "A pointer to no memory of the process was used"},
    {"freed-memory", "Memory was used that had been freed"},
    {"stack-overflow", "The stack of a thread was full"},
    {"read-only", "Memory was written that may only be read"},
    {"no-execute", "Memory was executed that is no code"},
    {"file-truncated", "A mapped file had been cut off"},
    {"assertion", "An assertion failed"},
    {"heap-corruption", "The allocator found its heap damaged"},
    {"fatal-error", "The interpreter ended itself"},
    {"terminate", "A C++ exception was not caught"},
    {"panic", "A Rust program panicked"},
    {"stack-smashing", "A function's stack frame was overwritten"},
    {"fortify", "A buffer would have been written beyond its end"},
    {"division", "An integer was divided by zero, or the quotient does not fit"},
    {"illegal-instruction", "What is no instruction of this processor was executed"},
    {"seccomp", "A system call was not allowed"},
    {"sent", "A signal was sent to the process"},
    {"snapshot", "The process went on: a look at it"},
    {"deadlock", "Threads wait for each other"},
    {"out-of-memory", "The kernel killed the process for lack of memory"},
    {"exit", "The process ended without a core file"},
    {"unread", "The core file could not be read"},
    {"other", "The process died of a signal"},
};

const struct death_kind *death_kind_of(const struct core_report *report)
{
    const char *name = report_text(report->json, "crash", NULL, "cause");
    const char *target = report_text(report->json, "target", NULL, "kind");
    const size_t count = sizeof(kinds) / sizeof(kinds[0]);
    if (!core_report_tells(report))
        name = "unread";
    else if (json_array_size(json_object_get(report->json, "deadlocks")) &&
             (!name || !strcmp(name, "snapshot")))
        name = "deadlock";
    else if (!name && target && !strcmp(target, "exit"))
        name = "exit";
    for (size_t i = 0; name && i < count; i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return &kinds[count - 1];
}

bool is_of_core(const struct core_report *report)
{
    const char *kind = report_text(report->json, "target", NULL, "kind");
    return !kind || !strcmp(kind, "core");
}

json_t *json_of_bytes(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    // No UTF-8: each byte that is no ASCII becomes U+FFFD.
    char *copy = malloc(3 * strlen(text) + 1), *end = copy;
    for (; copy && *text; text++) {
        const bool plain = (unsigned char)*text < 0x80;
        memcpy(end, plain ? text : "\xef\xbf\xbd", plain ? 1 : 3);
        end += plain ? 1 : 3;
    }
    if (copy)
        string = json_stringn(copy, (size_t)(end - copy));
    free(copy);
    return string;
}

json_t *json_of_number(const char *hexadecimal)
{
    unsigned long long number = hexadecimal ? strtoull(hexadecimal, NULL, 16) : 0;
    // JSON numbers of most readers are signed and have 64 bits.
    return hexadecimal && number <= INT64_MAX ? json_integer((json_int_t)number) : NULL;
}

void put_member(json_t *object, const char *name, json_t *value)
{
    if (value)
        json_object_set_new(object, name, value);
}

void put_text(json_t *object, const char *name, const char *text)
{
    if (text && *text)
        put_member(object, name, json_string(text));
}

bool put_json(FILE *file, json_t *json, size_t flags)
{
    const bool made = json != NULL;
    if (!made)
        complain("out of memory");
    else
        json_dumpf(json, file, flags | JSON_ENSURE_ASCII); // Its errors are the file's.
    if (made)
        putc('\n', file);
    json_decref(json);
    return made;
}
