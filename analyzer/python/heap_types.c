/* Python's objects as a whole: what lies where in them, and what their types are called. */
#include "layout.h"
#include "runtime.h"

#define NAME_OF_TYPE "PyType_Type"

/* The type of the type of the dict of builtins, where no symbol tells. */
static psc_addr find_type_type(struct python *python)
{
    struct module_symbol symbol;
    psc_addr builtins;
    psc_addr type;
    uint64_t flags;
    if (python->info.module && module_find_symbol_named(python->info.module, NAME_OF_TYPE, &symbol))
        return symbol.address;
    if (py_read_u64(python, python->interpreters, PY_INTERP_BUILTINS, &builtins) != PSC_OK ||
        py_read_type(python, builtins, &type, &flags) != PSC_OK ||
        py_read_type(python, type, &type, &flags) != PSC_OK || !(flags & PY_FLAG_TYPE))
        return 0;
    return type;
}

enum psc_status python_get_heap_layout(struct python *python, struct python_heap_layout *ret,
                                       struct psc_error *err)
{
    const struct python_info *info = &python->info;
    if (info->free_threaded)
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "the objects of free-threaded CPython %s lie in mimalloc's pages, which "
                        "are not read",
                        info->version);
    if (!layout_of_heap(&python->layout, ret))
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "the objects of %s %s are not read as a whole: CPython 3.8 to 3.15 are, "
                        "but for builds with Py_TRACE_REFS",
                        info->implementation, info->version);
    ret->type_type = find_type_type(python);
    if (!ret->type_type)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "where `type` itself lies was not found");
    return PSC_OK;
}

bool python_add_type_name(struct python *python, psc_addr address, struct text *text)
{
    const struct py_type *type;
    if (py_type_find(python, address, &type) != PSC_OK || (type->name[0] == '?' && !type->name[1]))
        return false;
    py_type_add_name(type, text);
    return true;
}

bool python_add_slot_name(struct python *python, psc_addr address, uint64_t offset,
                          struct text *text)
{
    const struct py_type *type;
    const char *name;
    if (py_type_find(python, address, &type) != PSC_OK)
        return false;
    for (size_t i = 0; i < type->slot_count; i++)
        if (type->slots[i].offset == offset &&
            py_read_string(python, type->slots[i].name, PY_NAME_LIMIT, &name) == PSC_OK) {
            text_add_escaped(text, name);
            return true;
        }
    return false;
}
