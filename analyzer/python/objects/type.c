/* Types by name: tp_name of C types, and what Python says of its classes. */
#include "objects_private.h"

#include <stdlib.h>
#include <string.h>

#define BASE_LIMIT        32u
#define CLASS_DICT_LIMIT  1024u
#define BUILTINS_LIMIT    1024u
#define TYPE_NAME_LIMIT   200u
#define TYPE_COUNT_LIMIT  (1u << 16)
#define SLOT_OFFSET_LIMIT (1u << 20)

/* ---- names ---- */

/* The __dict__ of builtins is in the heap: it names types whose ELF file is not at hand. */
const char *py_builtin_name(struct python *python, psc_addr object)
{
    psc_addr dict;
    psc_addr key;
    psc_addr value;
    struct py_items items;
    const char *name = NULL;
    if (py_read_u64(python, python->interpreters, PY_INTERP_BUILTINS, &dict) != PSC_OK ||
        py_dict_open(python, dict, &items) != PSC_OK || !budget_spend(python, BUILTINS_LIMIT))
        return NULL;
    for (size_t i = 0; i < BUILTINS_LIMIT; i++) {
        if (py_items_next(python, &items, &key, &value) != PSC_OK)
            return NULL;
        if (value != object || py_read_string(python, key, TYPE_NAME_LIMIT, &name) != PSC_OK)
            continue;
        /* __package__ may be None, _ is what an interactive session computed last. */
        if (*name != '_')
            return name;
    }
    return NULL;
}

/* The module types has more of them under names of its own, and these are in collections. */
static const char *name_in_modules(struct python *python, psc_addr type)
{
    static const struct {
        const char *module;
        const char *name;
        const char *c_name;
    } names[] = {
        {"types", "GeneratorType", "generator"},
        {"types", "CoroutineType", "coroutine"},
        {"types", "AsyncGeneratorType", "async_generator"},
        {"types", "FunctionType", "function"},
        {"types", "MethodType", "method"},
        {"types", "BuiltinFunctionType", "builtin_function_or_method"},
        {"types", "ModuleType", "module"},
        {"types", "CellType", "cell"},
        {"types", "MemberDescriptorType", "member_descriptor"},
        {"types", "CodeType", "code"},
        {"types", "FrameType", "frame"},
        {"types", "GetSetDescriptorType", "getset_descriptor"},
        {"types", "WrapperDescriptorType", "wrapper_descriptor"},
        {"types", "MethodWrapperType", "method-wrapper"},
        {"types", "MethodDescriptorType", "method_descriptor"},
        {"types", "MappingProxyType", "mappingproxy"},
        {"types", "SimpleNamespace", "types.SimpleNamespace"},
        {"collections", "OrderedDict", "collections.OrderedDict"},
        {"collections", "defaultdict", "collections.defaultdict"},
    };
    psc_addr found;
    if (!budget_spend(python, BUILTINS_LIMIT))
        return NULL;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (py_module_find(python, python->interpreters, names[i].module, names[i].name, &found) ==
                PSC_OK &&
            found == type)
            return names[i].c_name;
    return NULL;
}

/* tp_name: "collections.deque" of a C type, "Point" of a class. False when it is not there. */
static bool read_c_name(struct python *python, psc_addr type, uint64_t flags,
                        char ret[TYPE_NAME_LIMIT])
{
    psc_addr name;
    ret[0] = '\0';
    enum psc_status status = py_read_u64(python, type, PY_TYPE_NAME, &name);
    if (status == PSC_OK)
        status = target_read_string(python->target, name, ret, TYPE_NAME_LIMIT);
    if (status == PSC_OK || status == PSC_ERR_LIMIT)
        return *ret;
    const char *builtin = flags & PY_FLAG_HEAPTYPE ? NULL : py_builtin_name(python, type);
    if (!builtin && !(flags & PY_FLAG_HEAPTYPE))
        builtin = name_in_modules(python, type);
    if (!builtin || strlen(builtin) >= TYPE_NAME_LIMIT)
        return false;
    memcpy(ret, builtin, strlen(builtin) + 1);
    return true;
}

/* A value of the class's own __dict__. */
static bool find_in_class(struct python *python, psc_addr type, const char *key, psc_addr *ret)
{
    psc_addr dict;
    struct py_items items;
    return py_read_u64(python, type, PY_TYPE_DICT, &dict) == PSC_OK && dict &&
           py_dict_open(python, dict, &items) == PSC_OK &&
           budget_spend(python, items.count < CLASS_DICT_LIMIT ? items.count : CLASS_DICT_LIMIT) &&
           py_items_find(python, &items, key, CLASS_DICT_LIMIT, ret) == PSC_OK;
}

static bool is_builtin_module(const struct python *python, const char *module)
{
    const char *const *names = python->layout.rules->spelling->builtin_modules;
    return !strcmp(module, names[0]) || !strcmp(module, names[1]);
}

static void set_names(struct python *python, struct py_type *type, const char *c_name)
{
    psc_addr string;
    const char *text = NULL;
    const char *dot = c_name ? strrchr(c_name, '.') : NULL;
    if (dot) {
        type->module = arena_strndup(python->arena, c_name, (size_t)(dot - c_name));
        type->name = arena_strdup(python->arena, dot + 1);
    } else {
        type->name = arena_strdup(python->arena, c_name ? c_name : "?");
    }
    if (type->flags & PY_FLAG_HEAPTYPE) {
        if (py_read_u64(python, type->address, PY_TYPE_QUALNAME, &string) == PSC_OK &&
            py_read_string(python, string, TYPE_NAME_LIMIT, &text) == PSC_OK)
            type->name = text;
        if (find_in_class(python, type->address, "__module__", &string) &&
            py_read_string(python, string, TYPE_NAME_LIMIT, &text) == PSC_OK)
            type->module = text;
    }
    if (!type->name)
        type->name = "?";
    if (type->module && is_builtin_module(python, type->module))
        type->module = NULL;
}

/* ---- what a type is, by its bases ---- */

/* True when the type or one of its bases has that C name. */
static bool is_derived_from(struct python *python, psc_addr type, const char *const *names)
{
    char name[TYPE_NAME_LIMIT];
    uint64_t flags;
    for (size_t i = 0; i < BASE_LIMIT && py_is_object_address(type); i++) {
        if (py_read_u64(python, type, PY_TYPE_FLAGS, &flags) != PSC_OK)
            return false;
        bool named = read_c_name(python, type, flags, name);
        for (size_t n = 0; named && names[n]; n++)
            if (!strcmp(names[n], name))
                return true;
        if (py_read_u64(python, type, PY_TYPE_BASE, &type) != PSC_OK)
            return false;
    }
    return false;
}

static void set_kind(struct python *python, struct py_type *type)
{
    char name[TYPE_NAME_LIMIT];
    psc_addr base = type->address;
    type->kind = PY_KIND_OBJECT;
    for (size_t i = 0; i < BASE_LIMIT && py_is_object_address(base); i++) {
        uint64_t flags;
        if (py_read_u64(python, base, PY_TYPE_FLAGS, &flags) != PSC_OK)
            break;
        /* A class may have any name; a type made in C with a dot has its module's. */
        if (read_c_name(python, base, flags, name) &&
            (!(flags & PY_FLAG_HEAPTYPE) || strchr(name, '.'))) {
            enum py_kind kind = type_kind_of_name(python, name);
            if (kind != PY_KIND_OBJECT) {
                type->kind = kind;
                type->exact = i == 0;
                type->origin = base;
                return;
            }
        }
        if (py_read_u64(python, base, PY_TYPE_BASE, &base) != PSC_OK)
            break;
    }
    type->kind = type_kind_of_flags(python, type->flags);
    if (type->kind == PY_KIND_OBJECT && type->module)
        type->kind = type_kind_of_class(type);
    type->exact = !type->module && !(type->flags & PY_FLAG_HEAPTYPE);
}

static void set_protocols(struct python *python, struct py_type *type, psc_addr metatype)
{
    static const char *const enum_names[] = {"EnumMeta", "EnumType", NULL};
    static const char *const flag_names[] = {"Flag", NULL};
    static const char *const ordered_names[] = {"collections.OrderedDict", NULL};
    psc_addr found;
    type->ordered = type->kind == PY_KIND_DICT &&
                    python->layout.offset[PY_ORDERED_FIRST] != PY_NO_OFFSET &&
                    is_derived_from(python, type->address, ordered_names);
    /* 2.7's are not derived from tuple, but laid out as one. */
    if (type->kind == PY_KIND_OBJECT && !(type->flags & PY_FLAG_HEAPTYPE) &&
        python->layout.rules->reprs == PY_REPRS_2 &&
        find_in_class(python, type->address, "n_sequence_fields", &found))
        type->kind = PY_KIND_TUPLE;
    /* Static types of an interpreter's own have their dicts elsewhere (3.12); none but these are
       derived from tuple in C. */
    if (type->kind == PY_KIND_TUPLE && !type->exact &&
        (!(type->flags & PY_FLAG_HEAPTYPE) ||
         find_in_class(python, type->address, "n_sequence_fields", &found)) &&
        py_read_u64(python, type->address, PY_TYPE_MEMBERS, &type->structure) != PSC_OK)
        type->structure = 0;
    if (!(type->flags & PY_FLAG_HEAPTYPE))
        return;
    if (is_derived_from(python, metatype, enum_names)) {
        type->enumeration = true;
        type->flags_of_enum = is_derived_from(python, type->address, flag_names);
    }
    if (type->enumeration && find_in_class(python, type->address, "_value2member_map_", &found) &&
        py_has_flags(python, found, PY_FLAG_DICT))
        type->members = found;
    if (type_find_in_classes(python, type->address, "__dataclass_fields__", &found) &&
        py_has_flags(python, found, PY_FLAG_DICT))
        type->data = found;
    if (type->kind == PY_KIND_TUPLE &&
        type_find_in_classes(python, type->address, "_fields", &found) &&
        py_has_flags(python, found, PY_FLAG_TUPLE))
        type->fields = found;
}

/* ---- __slots__ ---- */

static bool read_slot(struct python *python, psc_addr descriptor, psc_addr member_type,
                      uint64_t *ret_offset)
{
    psc_addr type;
    uint64_t flags;
    return py_read_type(python, descriptor, &type, &flags) == PSC_OK && type == member_type &&
           py_member_offset(python, descriptor, ret_offset) && *ret_offset <= SLOT_OFFSET_LIMIT;
}

static void add_class_slots(struct python *python, struct py_type *type, psc_addr class)
{
    psc_addr dict;
    psc_addr key;
    psc_addr value;
    struct py_items items;
    if (py_read_u64(python, class, PY_TYPE_DICT, &dict) != PSC_OK || !dict ||
        py_dict_open(python, dict, &items) != PSC_OK || !budget_spend(python, CLASS_DICT_LIMIT))
        return;
    for (size_t i = 0; i < CLASS_DICT_LIMIT && type->slot_count < PY_SLOT_LIMIT; i++) {
        struct py_slot slot;
        if (py_items_next(python, &items, &key, &value) != PSC_OK)
            return;
        if (!read_slot(python, value, python->types.member, &slot.offset))
            continue;
        slot.name = key;
        type->slots[type->slot_count++] = slot;
    }
}

/* Of the class, then of its bases. */
static void set_slots(struct python *python, struct py_type *type)
{
    psc_addr base = type->address;
    uint64_t flags = type->flags;
    if (!(flags & PY_FLAG_HEAPTYPE) ||
        (type->kind != PY_KIND_OBJECT && type->kind != PY_KIND_UUID &&
         type->kind != PY_KIND_PATH) ||
        !python->types.member)
        return;
    type->slots = arena_array(python->arena, PY_SLOT_LIMIT, sizeof(*type->slots));
    for (size_t i = 0; i < BASE_LIMIT && type->slots && py_is_object_address(base); i++) {
        if (py_read_u64(python, base, PY_TYPE_FLAGS, &flags) != PSC_OK ||
            !(flags & PY_FLAG_HEAPTYPE))
            return;
        add_class_slots(python, type, base);
        if (py_read_u64(python, base, PY_TYPE_BASE, &base) != PSC_OK)
            return;
    }
}

/* ---- the table ---- */

struct type_entry {
    psc_addr address;
    struct py_type *type;
};

struct python_types {
    struct hash_table entries;
};

enum psc_status python_types_create(struct python *python)
{
    python->type_table = malloc(sizeof(*python->type_table));
    if (!python->type_table)
        return PSC_ERR_MEMORY;
    python->type_table->entries = HASH_TABLE_OF(struct type_entry);
    return PSC_OK;
}

void python_types_forget(struct python *python)
{
    hash_table_clear(&python->type_table->entries);
}

void python_types_destroy(struct python *python)
{
    if (!python->type_table)
        return;
    hash_table_deinit(&python->type_table->entries);
    free(python->type_table);
    python->type_table = NULL;
}

/* What is known of a type, from its memory. */
static enum psc_status read_type(struct python *python, psc_addr type, struct py_type *ret)
{
    psc_addr metatype;
    uint64_t flags;
    enum psc_status status = py_read_type(python, type, &metatype, &flags);
    if (status != PSC_OK)
        return status;
    if (!(flags & PY_FLAG_TYPE))
        return PSC_ERR_FORMAT;
    status = py_read_u64(python, type, PY_TYPE_FLAGS, &flags);
    if (status != PSC_OK)
        return status;
    char name[TYPE_NAME_LIMIT];
    *ret = (struct py_type){.address = type, .flags = flags};
    set_names(python, ret, read_c_name(python, type, flags, name) ? name : NULL);
    ret->c_name = *name ? arena_strdup(python->arena, name) : NULL;
    if (!ret->c_name)
        ret->c_name = "?";
    set_kind(python, ret);
    set_protocols(python, ret, metatype);
    type_set_repr(python, ret);
    set_slots(python, ret);
    return PSC_OK;
}

enum psc_status py_type_find(struct python *python, psc_addr type, const struct py_type **ret)
{
    struct hash_table *entries = &python->type_table->entries;
    struct type_entry *entry = hash_table_find(entries, type);
    if (entry) {
        *ret = entry->type;
        return PSC_OK;
    }
    struct py_type read;
    if (entries->count >= TYPE_COUNT_LIMIT)
        return PSC_ERR_LIMIT;
    enum psc_status status = read_type(python, type, &read);
    if (status != PSC_OK)
        return status;
    struct py_type *kept = arena_alloc(python->arena, sizeof(*kept));
    entry = kept ? hash_table_add(entries, type) : NULL;
    if (!entry)
        return PSC_ERR_MEMORY;
    *kept = read;
    entry->type = kept;
    *ret = kept;
    return PSC_OK;
}

enum psc_status py_type_of(struct python *python, psc_addr object, const struct py_type **ret)
{
    psc_addr type;
    uint64_t flags;
    enum psc_status status = py_read_type(python, object, &type, &flags);
    return status == PSC_OK ? py_type_find(python, type, ret) : status;
}

const char *py_type_short_name(const struct py_type *type)
{
    const char *dot = strrchr(type->name, '.');
    return dot ? dot + 1 : type->name;
}

void py_type_add_name(const struct py_type *type, struct text *text)
{
    if (type->module) {
        text_add_string(text, type->module);
        text_add_char(text, '.');
    }
    text_add_string(text, type->name);
}
