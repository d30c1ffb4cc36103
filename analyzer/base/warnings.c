#include "warnings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARNING_LIMIT 1000

void warnings_init(struct warnings *warnings, struct arena *arena)
{
    *warnings = (struct warnings){.arena = arena};
}

void warnings_deinit(struct warnings *warnings)
{
    free(warnings->items);
    *warnings = (struct warnings){0};
}

void warnings_add(struct warnings *warnings, const char *code, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (warnings->count > WARNING_LIMIT)
        return;
    if (warnings->count == WARNING_LIMIT) {
        code = "more-warnings";
        snprintf(message, sizeof(message), "more than %d warnings; the rest are not listed",
                 WARNING_LIMIT);
    }
    for (size_t i = 0; i < warnings->count; i++)
        if (!strcmp(warnings->items[i].message, message))
            return;
    if (!array_reserve(&warnings->items, &warnings->capacity, warnings->count + 1,
                       sizeof(*warnings->items)))
        return;
    char *copy = arena_strdup(warnings->arena, message);
    if (copy)
        warnings->items[warnings->count++] = (struct warning){code, copy};
}
