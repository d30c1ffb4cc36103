/* Python's objects as a whole: what lies where in them, and what their types are called. */
#include "layout.h"
#include "runtime.h"

#define NAME_OF_TYPE "PyType_Type"
#define MEMBER_LIMIT 256u /* Of one type. */
#define BASE_LIMIT   64u

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

/* What has getters and no PyMemberDef (Objects/exceptions.c, Objects/funcobject.c). */
static const struct {
    enum py_kind kind;
    enum py_field field;
    const char *name;
} getters[] = {{PY_KIND_EXCEPTION, PY_EXC_ARGS, "args"},
               {PY_KIND_EXCEPTION, PY_EXC_TRACE, "__traceback__"},
               {PY_KIND_EXCEPTION, PY_EXC_CONTEXT, "__context__"},
               {PY_KIND_EXCEPTION, PY_EXC_CAUSE, "__cause__"},
               {PY_KIND_FUNCTION, PY_FUNC_CODE, "__code__"},
               {PY_KIND_FUNCTION, PY_FUNC_NAME, "__name__"},
               {PY_KIND_FUNCTION, PY_FUNC_QUALNAME, "__qualname__"},
               {PY_KIND_FUNCTION, PY_FUNC_DICT, "__dict__"},
               {PY_KIND_FUNCTION, PY_FUNC_CLOSURE, "__closure__"}};

static const char *find_getter(const struct python *python, enum py_kind kind, uint64_t offset)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(getters); i++)
        if (getters[i].kind == kind && py_field_address(python, 0, getters[i].field) == offset)
            return getters[i].name;
    return NULL;
}

/* The name of an object among the members that code in C described (PyMemberDef): "func" of
 * functools.partial. */
static bool add_member_name(struct python *python, psc_addr type, uint64_t offset,
                            struct text *text)
{
    char name[PY_NAME_LIMIT];
    psc_addr members;
    psc_addr at;
    if (py_read_u64(python, type, PY_TYPE_MEMBERS, &members) != PSC_OK || !members)
        return false;
    for (size_t i = 0; i < MEMBER_LIMIT; i++, members += PY_MEMBERDEF_SIZE) {
        int32_t kind;
        uint64_t place;
        if (target_read_u64(python->target, members, &at) != PSC_OK || !at ||
            py_read_i32(python, members, PY_MEMBERDEF_KIND, &kind) != PSC_OK ||
            py_read_u64(python, members, PY_MEMBERDEF_OFFSET, &place) != PSC_OK)
            return false;
        if (place != offset || (kind != PY_MEMBER_OBJECT && kind != PY_MEMBER_OBJECT_EX))
            continue;
        if (target_read_string(python->target, at, name, sizeof(name)) != PSC_OK || !name[0])
            return false;
        text_add_escaped(text, name);
        return true;
    }
    return false;
}

bool python_add_slot_name(struct python *python, psc_addr address, uint64_t offset,
                          struct text *text)
{
    psc_addr class = address;
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
    name = find_getter(python, type->kind, offset);
    if (name) {
        text_add_string(text, name);
        return true;
    }
    for (size_t i = 0; i < BASE_LIMIT && py_is_object_address(class); i++) {
        if (add_member_name(python, class, offset, text))
            return true;
        if (py_read_u64(python, class, PY_TYPE_BASE, &class) != PSC_OK)
            break;
    }
    return false;
}
