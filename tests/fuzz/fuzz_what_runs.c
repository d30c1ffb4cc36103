/* Files of installed distributions, and the environment of a process. */
#include "running_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct running_variables variables = {0};
    struct arena *arena = arena_create();
    char *copy = malloc(size ? size : 1); // So that a sanitizer sees each byte behind the end.
    size_t length;
    struct trace_package package;
    if (!copy || !arena)
        abort();
    memcpy(copy, data, size);
    (void)parse_record(copy, size, "pkg/\"odd\".so");
    if (parse_conda_record(copy, size, "lib/pkg.so", arena, &package) &&
        (!*package.name || !*package.version))
        abort();
    (void)parse_has_line(copy, size, "pkg");
    const char *field = parse_metadata_field(copy, size, "Name", &length);
    if (field && (field < copy || field + length > copy + size || !length))
        abort();
    parse_environment(copy, size, arena, &variables);
    for (size_t i = 0; i < variables.count; i++)
        if (!running_shows_variable(variables.items[i].name, strlen(variables.items[i].name)))
            abort();
    free(variables.items);
    free(copy);
    arena_destroy(arena);
    return 0;
}
