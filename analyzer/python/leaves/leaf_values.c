/* Members of the objects that event loops are made of. */
#include "leaves.h"

#include <string.h>

#define CELL_LIMIT 64u
#define BASE_LIMIT 32u

bool leaf_is_none(struct python *python, psc_addr object)
{
    const struct py_type *type;
    return py_type_of(python, object, &type) == PSC_OK && type->kind == PY_KIND_NONE;
}

bool leaf_part(struct python *python, psc_addr object, const char *name, psc_addr *ret)
{
    return py_part_find(python, object, name, ret) && *ret && !leaf_is_none(python, *ret);
}

bool leaf_number(struct python *python, psc_addr object, double *ret)
{
    const struct py_type *type;
    uint64_t bits;
    if (py_type_of(python, object, &type) != PSC_OK)
        return false;
    if (type->kind == PY_KIND_FLOAT &&
        py_read_u64(python, object, PY_FLOAT_VALUE, &bits) == PSC_OK) {
        memcpy(ret, &bits, sizeof(*ret));
        return true;
    }
    if (py_read_int(python, object, &bits) != PSC_OK)
        return false;
    *ret = (double)bits;
    return true;
}

bool leaf_part_number(struct python *python, psc_addr object, const char *name, double *ret)
{
    psc_addr part;
    return leaf_part(python, object, name, &part) && leaf_number(python, part, ret);
}

bool leaf_is_function(struct python *python, psc_addr object, const char *file, const char *name)
{
    const struct py_type *type;
    psc_addr address;
    if (py_type_of(python, object, &type) != PSC_OK || type->kind != PY_KIND_FUNCTION ||
        py_read_u64(python, object, PY_FUNC_CODE, &address) != PSC_OK)
        return false;
    const struct py_code *code = code_find_named(python, address);
    return code && code_is(code, file, name);
}

/* The cells of a function are those of the last names of its code, in their order. */
bool leaf_closure(struct python *python, psc_addr function, const char *name, psc_addr *ret)
{
    psc_addr code;
    psc_addr tuple;
    psc_addr cells;
    size_t count;
    struct py_slots slots;
    bool found = false;
    if (py_read_u64(python, function, PY_FUNC_CODE, &code) != PSC_OK ||
        py_read_u64(python, function, PY_FUNC_CLOSURE, &tuple) != PSC_OK ||
        py_read_tuple(python, tuple, &count, &cells) != PSC_OK || count > CELL_LIMIT ||
        py_slots_list(python, code, &slots) != PSC_OK)
        return false;
    for (size_t i = 0; !found && i < count && count <= slots.count; i++) {
        psc_addr cell;
        found = py_string_equals(python, slots.items[slots.count - count + i].name, name) &&
                target_read_u64(python->target, cells + 8 * i, &cell) == PSC_OK &&
                py_read_u64(python, cell, PY_CELL_REF, ret) == PSC_OK && *ret;
    }
    py_slots_deinit(&slots);
    return found;
}

/* Whether a type, or one that it is derived from, was made in C under that name. */
static bool is_made_from(struct python *python, const struct py_type *type, const char *c_name)
{
    for (size_t i = 0; i < BASE_LIMIT; i++) {
        psc_addr base;
        if (!strcmp(type->c_name, c_name))
            return true;
        if (py_read_u64(python, type->address, PY_TYPE_BASE, &base) != PSC_OK || !base ||
            py_type_find(python, base, &type) != PSC_OK)
            return false;
    }
    return false;
}

int32_t leaf_descriptor(struct python *python, psc_addr object)
{
    const struct py_type *type;
    int32_t fd = -1;
    if (py_type_of(python, object, &type) != PSC_OK)
        return -1;
    if (type->kind == PY_KIND_FILEIO)
        return py_read_i32(python, object, PY_FILEIO_FD, &fd) == PSC_OK ? fd : -1;
    if (!is_made_from(python, type, "_socket.socket"))
        return -1;
    return py_read_i32(python, object, PY_SOCKET_FD, &fd) == PSC_OK ? fd : -1;
}
