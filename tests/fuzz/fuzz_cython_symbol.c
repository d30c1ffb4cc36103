/* Names from symbols, the symbol table being hostile too: one symbol a line, the first is named. */
#include "names_private.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SYMBOL_LIMIT 256

static void parse_all(char *text, const char *module_name)
{
    struct arena *arena = arena_create();
    struct cython_names names = {0};
    struct cython_context context = {.module_name = module_name};
    struct cython_name name;
    char *left = NULL;
    size_t count = 0;
    const char *first = strtok_r(text, "\n", &left);
    for (const char *line = first; line && count < SYMBOL_LIMIT; count++) {
        if (!cython_names_add(&names, line))
            break;
        line = strtok_r(NULL, "\n", &left);
    }
    cython_names_sort(&names);
    if (arena && first) {
        if (cython_parse_symbol(first, NULL, arena, &name) &&
            (name.kind == CYTHON_NONE || !name.function))
            abort();
        cython_names_bind(&names, &context);
        if (cython_parse_symbol(first, &context, arena, &name) &&
            (name.kind == CYTHON_NONE || !name.function))
            abort();
    }
    cython_names_deinit(&names);
    arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16)
        return 0;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    for (int with_name = 0; with_name < 2; with_name++) {
        if (size)
            memcpy(text, data, size);
        text[size] = '\0';
        parse_all(text, with_name ? "pkg.sub._kern" : NULL);
    }
    free(text);
    return 0;
}
