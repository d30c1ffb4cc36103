/* Functions that Cython made, and the objects that hold the variables of their closures. */
#include "library.h"

#include <inttypes.h>
#include <string.h>

#define CLOSURE_WORD_LIMIT 256u

/* Cython/Utility/CythonFunction.c: it begins as a built-in function does. */
void value_add_cyfunction(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr definition;
    psc_addr name;
    char text[128];
    if (py_read_u64(python, object, PY_BUILTIN_DEF, &definition) != PSC_OK ||
        py_read_u64(python, definition, PY_METHODDEF_NAME, &name) != PSC_OK ||
        target_read_string(python->target, name, text, sizeof(text)) != PSC_OK) {
        value_add_identity(writer, type, object);
        text_add_char(writer->text, '>');
        return;
    }
    text_printf(writer->text, "<cyfunction %s at 0x%" PRIx64 ">", text, object);
}

/* ---- closures ---- */

/* The function's name in that of its type: "__pyx_scope_struct__fit", "__pyx_scope_struct_1_inner".
 */
static const char *function_of(const struct py_type *type)
{
    const char *name = type->name + strlen(CYTHON_TYPE_CLOSURE);
    return name + strspn(name, "0123456789") + 1;
}

static bool is_closure(const struct py_type *type)
{
    const char *name = type->name;
    return type->kind == PY_KIND_CLOSURE &&
           !strncmp(name, CYTHON_TYPE_CLOSURE, strlen(CYTHON_TYPE_CLOSURE)) &&
           strchr(name + strlen(CYTHON_TYPE_CLOSURE), '_');
}

/*
 * "<closure of fit: 3, 'b'>": where names are is known to the compiler alone. What is no object
 * (a C number) is left out; the closure of the function around is the first of them.
 */
void value_open_closure(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    const struct py_type *item_type;
    psc_addr item;
    uint64_t size;
    if (!is_closure(type)) {
        value_open_instance(writer, type, object);
        return;
    }
    text_printf(writer->text, "<closure of %s", function_of(type));
    struct value_level *level = value_push(writer, object, ": ", ">");
    if (!level || py_read_u64(python, type->address, PY_TYPE_BASICSIZE, &size) != PSC_OK ||
        !budget_spend(python, CLOSURE_WORD_LIMIT))
        return;
    for (uint64_t at = python->layout.offset[PY_OBJECT_SIZE]; at + 8 <= size; at += 8) {
        if (at > UINT64_C(8) * CLOSURE_WORD_LIMIT ||
            target_read_u64(python->target, object + at, &item) != PSC_OK)
            return;
        if (py_is_object_address(item) && py_type_of(python, item, &item_type) == PSC_OK)
            value_take(writer, level, 0, item);
    }
}

/* One part of a qualified name; Python's "<lambda>" is Cython's "lambda" and a number. */
static bool names_part(const char *function, const char *part, size_t size)
{
    if (size > 2 && *part == '<') {
        part++;
        size -= 2;
    }
    return !strncmp(function, part, size) &&
           (!function[size] || (!strncmp(part, "lambda", size) &&
                                strspn(function + size, "0123456789") == strlen(function + size)));
}

/* Cython keeps those that are gone for the next one. */
static bool is_alive(struct python *python, psc_addr object)
{
    uint32_t references;
    psc_addr type = py_field_address(python, object, PY_OBJECT_TYPE);
    return !python->info.free_threaded && type >= object + PY_REFCNT_BEFORE_TYPE &&
           target_read_u32(python->target, type - PY_REFCNT_BEFORE_TYPE, &references) == PSC_OK &&
           references;
}

unsigned python_is_closure(struct python *python, psc_addr object, const char *function)
{
    const struct py_type *type;
    unsigned rank = 1;
    if (!py_is_object_address(object) || py_type_of(python, object, &type) != PSC_OK ||
        !is_closure(type) || !is_alive(python, object))
        return 0;
    if (!function)
        return 1;
    for (const char *end = function + strlen(function); end > function; rank++) {
        const char *part = end;
        while (part > function && part[-1] != '.')
            part--;
        if (names_part(function_of(type), part, (size_t)(end - part)))
            return rank;
        end = part > function ? part - 1 : part;
    }
    return 0;
}
