/* Names of variables: Cython/Compiler/Naming.py, var_prefix, and Symtab.py, mangle(). */
#include "names_private.h"

#include <string.h>

#define VARIABLE_PREFIX "__pyx_v_"

/* Those of a comprehension have its scope in front: __pyx_8genexpr1__pyx_v_x. */
static bool skip_scope(struct slice *name)
{
    struct slice rest = *name;
    if (!slice_skip(&rest, "__pyx_") || !slice_digits(rest))
        return false;
    for (size_t i = 0; i + 1 < rest.size; i++) {
        struct slice from = slice_from(rest, i);
        if (slice_starts(from, VARIABLE_PREFIX)) {
            *name = from;
            return true;
        }
    }
    return false;
}

const char *cython_variable_name(const char *c_name, struct arena *arena)
{
    struct text buffer = {0};
    struct cython_symbol symbol;
    const char *name = NULL;
    // What the compiler splits off keeps the name, without a suffix.
    if (parse_cython_symbol(c_name, &buffer, &symbol)) {
        struct slice rest = symbol.name;
        skip_scope(&rest);
        if (slice_skip(&rest, VARIABLE_PREFIX) && rest.size)
            name = arena_strndup(arena, rest.data, rest.size);
    }
    text_deinit(&buffer);
    return name;
}

/* Symtab.py: those of a module are mangled with its name, as functions are. */
const char *cython_enumerator_name(const char *c_name)
{
    struct slice rest = {c_name, strlen(c_name)};
    if (!slice_skip(&rest, "__pyx_e_"))
        return c_name;
    while (slice_digits(rest)) {
        size_t digits = slice_digits(rest);
        size_t length = 0;
        for (size_t i = 0; i < digits && length <= rest.size; i++)
            length = 10 * length + (size_t)(rest.data[i] - '0');
        if (!length || length + 1 >= rest.size - digits || rest.data[digits + length] != '_')
            break;
        rest = slice_from(rest, digits + length + 1);
    }
    return rest.data;
}
