/*
 * What tables in data say of functions: methods, slots and properties of types.
 *
 * Cython and mypyc write them as static data, so that the loader's relocations show where each
 * pointer stands. A type's table tells the class that a bare name belongs to, names slots whose
 * functions report nothing, and tells the methods of Cython's own types from the user's.
 */
#include "names.h"
#include "python.h"
#include "reports_private.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_LIMIT ((size_t)1 << 18)
#define TYPE_LIMIT  ((size_t)1 << 14)
/** Entries of one table. */
#define TABLE_LIMIT 8192
#define SLOT_LIMIT  128
/** Entries of all tables, those included that several types have. */
#define ENTRY_READ_LIMIT ((size_t)1 << 20)
/** Bytes of an object of a type. */
#define OBJECT_SIZE_LIMIT ((uint32_t)1 << 24)

/** What the tables of one file say. */
struct method_tables {
    struct table_entry *entries; /**< Sorted by function. */
    size_t count;
    size_t capacity;
};

/** The reading of a file's tables. */
struct tables {
    const struct code_image *image;
    struct method_tables *found;
    size_t entries_read; /**< Of all tables, so far. */
    bool has_views;      /**< There are the types of Cython's memoryviews. */
};

/* ---- reading ---- */

/** What a pointer at an address in data leads to; 0 when there is none, or an import. */
static uint64_t pointer_at(const struct code_image *image, uint64_t address)
{
    const struct code_pointer *pointer = code_find_pointer(image, address);
    return pointer ? pointer->value : 0;
}

static uint64_t function_at(const struct code_image *image, uint64_t address)
{
    uint64_t value = pointer_at(image, address);
    return value && code_function_from(image, value) ? value : 0;
}

static uint64_t value_of(const struct code_pointer *pointer)
{
    return pointer ? pointer->value : 0;
}

/** As pointer_at() and function_at(), so many bytes behind a pointer. */
static uint64_t pointer_behind(const struct code_image *image, const struct code_pointer *pointer,
                               uint64_t offset)
{
    return value_of(code_pointer_behind(image, pointer, offset));
}

static uint64_t function_behind(const struct code_image *image, const struct code_pointer *pointer,
                                uint64_t offset)
{
    uint64_t value = pointer_behind(image, pointer, offset);
    return value && code_function_from(image, value) ? value : 0;
}

/** True for "name" and "pkg.mod.Name". */
static bool is_dotted_name(const char *text)
{
    static const bool others[256] = {
        [' '] = true, ['/'] = true,  [':'] = true,  ['%'] = true, ['('] = true, [')'] = true,
        ['['] = true, [']'] = true,  ['{'] = true,  ['}'] = true, [','] = true, [';'] = true,
        ['"'] = true, ['\''] = true, ['\\'] = true, ['+'] = true, ['*'] = true, ['?'] = true,
        ['!'] = true, ['-'] = true,  ['='] = true,  ['&'] = true, ['|'] = true, ['#'] = true,
        ['$'] = true, ['@'] = true,  ['^'] = true,  ['~'] = true, ['<'] = true, ['>'] = true,
        ['`'] = true,
    };
    if (!*text || *text == '.')
        return false;
    while (*text && !others[(uint8_t)*text])
        text++;
    return !*text;
}

static const char *name_of(const struct code_image *image, const struct code_pointer *pointer)
{
    const char *name = value_of(pointer) ? code_string(image, pointer->value) : NULL;
    return name && is_dotted_name(name) ? name : NULL;
}

/* ---- entries ---- */

/** Also the types of closures and defaults, and of memoryviews when the module has these. */
static bool is_own_type(const struct tables *tables, const char *type)
{
    static const char *const views[] = {"Enum", "_memoryviewslice", "array", "memoryview"};
    const char *leaf = cython_last_part(type);
    if (strncmp(type, CYTHON_TYPE_MODULE, strlen(CYTHON_TYPE_MODULE)) == 0 ||
        strncmp(leaf, "__pyx_", strlen("__pyx_")) == 0)
        return true;
    if (leaf == type && cython_type_find(type) != CYTHON_TYPE_NONE)
        return true;
    for (size_t i = 0; tables->has_views && i < PSC_ARRAY_SIZE(views); i++)
        if (strcmp(leaf, views[i]) == 0)
            return true;
    return false;
}

/** mypyc's classes for inner functions, generators, and what these share; none has a module. */
static bool is_made_by_mypyc(const char *type)
{
    static const char *const endings[] = {"_obj", "_gen", "_env"};
    size_t size = strlen(type);
    for (size_t i = 0; !strchr(type, '.') && i < PSC_ARRAY_SIZE(endings); i++)
        if (size > strlen(endings[i]) && strcmp(type + size - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

static void add_entry(void *context, struct table_entry entry)
{
    struct tables *tables = context;
    struct method_tables *found = tables->found;
    entry.plumbing |=
        entry.type && (is_own_type(tables, entry.type) || is_made_by_mypyc(entry.type));
    if (!entry.function || found->count == ENTRY_LIMIT ||
        !array_reserve((void **)&found->entries, &found->capacity, found->count + 1,
                       sizeof(*found->entries)))
        return;
    found->entries[found->count++] = entry;
}

/** The methods of Cython's own generators and coroutines, by their documentation (Coroutine.c). */
static bool is_generator_method(const struct code_image *image, uint64_t doc)
{
    static const char *const beginnings[] = {"send(arg) -> send 'arg' into ",
                                             "throw(typ[,val[,tb]]) -> raise exception in ",
                                             "close() -> raise GeneratorExit inside "};
    size_t have;
    uint64_t value = pointer_at(image, doc);
    const uint8_t *text = value ? code_bytes(image, value, &have) : NULL;
    for (size_t i = 0; text && i < PSC_ARRAY_SIZE(beginnings); i++) {
        size_t size = strlen(beginnings[i]);
        if (have >= size && memcmp(text, beginnings[i], size) == 0)
            return true;
    }
    return false;
}

/** A PyMethodDef whose name a pointer leads to; false when there is none. */
static bool read_method(const struct code_image *image, const struct code_pointer *name,
                        struct table_entry *ret)
{
    const uint64_t at = name->address;
    uint64_t function = name->value ? function_behind(image, name, C_API_METHOD_FUNCTION) : 0;
    const uint8_t *flags = function ? code_bytes_at(image, at + C_API_METHOD_FLAGS, 4) : NULL;
    if (!flags || !load_u32(flags) || load_u32(flags) & ~(uint32_t)C_API_METHOD_ALL_FLAGS ||
        code_pointer_behind(image, name, C_API_METHOD_FLAGS))
        return false;
    *ret = (struct table_entry){.function = function, .name = code_string(image, name->value)};
    ret->name = ret->name ? cython_unfused_name(ret->name) : NULL;
    /* "unbound": Cython/Utility/ObjectHandling.c, UnpackUnboundCMethod. */
    ret->plumbing = is_generator_method(image, at + C_API_METHOD_DOC) ||
                    (ret->name && strcmp(ret->name, "CythonUnboundCMethod") == 0);
    return ret->name;
}

static void add_methods(struct tables *tables, const char *type, uint64_t at)
{
    for (size_t i = 0; at && i < TABLE_LIMIT && tables->entries_read++ < ENTRY_READ_LIMIT; i++) {
        struct table_entry entry;
        const struct code_pointer *name =
            code_find_pointer(tables->image, at + i * C_API_METHOD_SIZE);
        if (!value_of(name))
            return;
        if (!read_method(tables->image, name, &entry))
            continue;
        entry.type = type;
        add_entry(tables, entry);
    }
}

static void add_properties(struct tables *tables, const char *type, uint64_t at)
{
    const struct code_image *image = tables->image;
    for (size_t i = 0; at && i < TABLE_LIMIT && tables->entries_read++ < ENTRY_READ_LIMIT;
         i++, at += C_API_PROPERTY_SIZE) {
        const struct code_pointer *name = code_find_pointer(image, at);
        struct table_entry entry = {.type = type, .name = name_of(image, name)};
        if (!entry.name)
            return;
        entry.kind = ENTRY_GETTER;
        entry.function = function_behind(image, name, C_API_PROPERTY_GET);
        add_entry(tables, entry);
        entry.kind = ENTRY_SETTER;
        entry.function = function_behind(image, name, C_API_PROPERTY_SET);
        add_entry(tables, entry);
    }
}

static void add_slot(struct tables *tables, const char *type, const struct c_api_slot *slot,
                     uint64_t function)
{
    if (!function)
        return;
    const char *name = cython_slot_methods(slot->name);
    add_entry(tables, (struct table_entry){.kind = ENTRY_SLOT,
                                           .function = function,
                                           .name = name,
                                           .type = type,
                                           .plumbing = !cython_slot_is_method(name)});
}

/* ---- types ---- */

static bool is_size(uint32_t size)
{
    return size >= 16 && size < OBJECT_SIZE_LIMIT;
}

/** Whether a PyType_Spec begins with a pointer, as its name. */
static bool is_spec(const struct code_image *image, const struct code_pointer *name)
{
    uint64_t table = pointer_behind(image, name, C_API_SPEC_SLOTS);
    const uint8_t *numbers =
        table ? code_bytes_at(image, name->address + C_API_SPEC_BASIC_SIZE, 16) : NULL;
    const uint8_t *first = numbers ? code_bytes_at(image, table, 8) : NULL;
    return numbers && first && is_size(load_u32(numbers)) &&
           load_u32(numbers + C_API_SPEC_FLAGS - C_API_SPEC_BASIC_SIZE) && load_u64(first) > 0 &&
           load_u64(first) < SLOT_LIMIT && !code_find_pointer(image, table) &&
           code_find_pointer(image, table + C_API_SLOT_VALUE);
}

static void add_spec(struct tables *tables, const char *name, uint64_t at)
{
    const struct code_image *image = tables->image;
    uint64_t table = pointer_at(image, at + C_API_SPEC_SLOTS);
    size_t slot_count;
    const struct c_api_slot *slots = c_api_slots(&slot_count);
    for (size_t i = 0; i < SLOT_LIMIT; i++, table += C_API_SLOT_SIZE) {
        const uint8_t *number = code_bytes_at(image, table, 8);
        if (!number || !load_u64(number) || code_find_pointer(image, table))
            return;
        if (load_u64(number) == C_API_SLOT_METHODS)
            add_methods(tables, name, pointer_at(image, table + C_API_SLOT_VALUE));
        else if (load_u64(number) == C_API_SLOT_PROPERTIES)
            add_properties(tables, name, pointer_at(image, table + C_API_SLOT_VALUE));
        for (size_t k = 0; k < slot_count; k++)
            if (load_u64(number) == slots[k].number)
                add_slot(tables, name, &slots[k], function_at(image, table + C_API_SLOT_VALUE));
    }
}

/** Whether a pointer stands where a PyTypeObject has its name. */
static bool is_type(const struct code_image *image, const struct code_pointer *name)
{
    const uint64_t at = name->address - C_API_TYPE_NAME;
    /* What fewest have first. */
    if (name->address < C_API_TYPE_NAME ||
        !function_behind(image, name, C_API_TYPE_DEALLOC - C_API_TYPE_NAME))
        return false;
    const uint8_t *bytes = code_bytes_at(image, at, C_API_TYPE_PROPERTIES + 8);
    return bytes && load_u64(bytes + C_API_TYPE_ITEMS) == 0 &&
           is_size(load_u32(bytes + C_API_TYPE_BASIC_SIZE)) &&
           load_u32(bytes + C_API_TYPE_BASIC_SIZE + 4) == 0 &&
           load_u64(bytes + C_API_TYPE_FLAGS) != 0 && !code_find_pointer(image, at) &&
           !code_find_pointer(image, at + C_API_TYPE_BASIC_SIZE) &&
           !code_find_pointer(image, at + C_API_TYPE_FLAGS);
}

static void add_type(struct tables *tables, const char *name, uint64_t at)
{
    const struct code_image *image = tables->image;
    size_t slot_count;
    const struct c_api_slot *slots = c_api_slots(&slot_count);
    uint64_t part = at;
    uint16_t last = 0;
    for (size_t k = 0; k < slot_count; k++) {
        uint16_t in_type = c_api_part_offset(slots[k].part);
        if (in_type != last)
            part = in_type ? pointer_at(image, at + in_type) : at;
        last = in_type;
        if (part)
            add_slot(tables, name, &slots[k], function_at(image, part + slots[k].offset));
    }
    add_methods(tables, name, pointer_at(image, at + C_API_TYPE_METHODS));
    add_properties(tables, name, pointer_at(image, at + C_API_TYPE_PROPERTIES));
}

/** The number of a PyModuleDef_Slot at an address; 0: none. */
static uint64_t module_slot_number(const struct code_image *image, uint64_t at)
{
    const uint8_t *number = at ? code_bytes_at(image, at, 8) : NULL;
    return number && load_u64(number) <= SLOT_LIMIT && !code_find_pointer(image, at)
               ? load_u64(number)
               : 0;
}

/**
 * The code of the module itself, of modules that are made in two steps (PEP 489), where a pointer
 * stands as a PyModuleDef has its name.
 */
static void add_module(struct tables *tables, const struct code_pointer *pointer)
{
    const struct code_image *image = tables->image;
    uint64_t table = pointer_behind(image, pointer, C_API_MODULE_SLOTS), number;
    if (!module_slot_number(image, table) || is_spec(image, pointer) || !name_of(image, pointer))
        return;
    for (size_t i = 0; i < SLOT_LIMIT && tables->entries_read++ < ENTRY_READ_LIMIT;
         i++, table += C_API_SLOT_SIZE) {
        number = module_slot_number(image, table);
        if (!number)
            return;
        if (number == C_API_MODULE_EXEC)
            add_entry(tables,
                      (struct table_entry){.kind = ENTRY_MODULE,
                                           .function = function_at(image, table + C_API_SLOT_VALUE),
                                           .name = MODULE_BODY_NAME});
    }
}

/** The pointer of that number, or the first one that has its address. */
static const struct code_pointer *list_pointer(const struct code_image *image, size_t number)
{
    const struct code_pointer *pointer = &image->pointers[number];
    return number && pointer[-1].address == pointer->address
               ? code_find_pointer(image, pointer->address)
               : pointer;
}

/** A type that was found. */
struct found_type {
    const char *name;
    uint64_t at;
    bool spec;
};

/** Every pointer to a name that stands where a type has its own; how many. */
static size_t find_types(const struct code_image *image, struct found_type **ret)
{
    struct found_type *types = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < image->pointer_count && count < TYPE_LIMIT; i++) {
        const struct code_pointer *pointer = list_pointer(image, i);
        bool spec = is_spec(image, pointer);
        if (!spec && !is_type(image, pointer))
            continue;
        const uint64_t at = pointer->address;
        const char *name = name_of(image, pointer);
        if (!name)
            continue;
        if (!array_reserve((void **)&types, &capacity, count + 1, sizeof(*types)))
            break;
        types[count++] = (struct found_type){name, spec ? at : at - C_API_TYPE_NAME, spec};
    }
    *ret = types;
    return count;
}

static void add_types(struct tables *tables)
{
    struct found_type *types;
    size_t count = find_types(tables->image, &types);
    for (size_t i = 0; i < count; i++)
        tables->has_views |= strcmp(cython_last_part(types[i].name), "_memoryviewslice") == 0;
    for (size_t i = 0; i < count; i++)
        (types[i].spec ? add_spec : add_type)(tables, types[i].name, types[i].at);
    free(types);
}

/* ---- the result ---- */

/** What tells most of a function comes first. */
static int rank(const struct table_entry *entry)
{
    int order = entry->kind == ENTRY_METHOD ? 0 : entry->kind == ENTRY_EXPORT ? 2 : 1;
    return 2 * order + (entry->type ? 0 : 1);
}

static int compare_entries(const void *left, const void *right)
{
    const struct table_entry *a = left, *b = right;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return rank(a) - rank(b);
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/** One of each function: a slot that several types share is of none of them. */
static void merge_entries(struct method_tables *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        struct table_entry *entry = &found->entries[i];
        struct table_entry *last = kept ? &found->entries[kept - 1] : NULL;
        if (!last || last->function != entry->function) {
            found->entries[kept++] = *entry;
        } else if (entry->type && !is_same(last->type, entry->type)) {
            last->type = NULL;
            last->plumbing &= entry->plumbing;
        }
    }
    found->count = kept;
}

static void read_tables(const struct code_image *image, struct method_tables *found)
{
    struct tables tables = {.image = image, .found = found};
    add_types(&tables);
    /* Of the module itself, and of functions that are made one by one. */
    for (size_t i = 0; i < image->pointer_count; i++) {
        struct table_entry entry;
        const struct code_pointer *pointer = list_pointer(image, i);
        if (read_method(image, pointer, &entry))
            add_entry(&tables, entry);
        else
            add_module(&tables, pointer);
    }
    reports_each_export(image, &tables, add_entry);
    if (found->count)
        qsort(found->entries, found->count, sizeof(*found->entries), compare_entries);
    merge_entries(found);
}

size_t reports_entries(struct reports *reports, const struct table_entry **ret)
{
    *ret = NULL;
    if (!reports->tables) {
        reports->tables = calloc(1, sizeof(*reports->tables));
        if (!reports->tables)
            return 0;
        read_tables(&reports->flow.image, reports->tables);
    }
    *ret = reports->tables->entries;
    return reports->tables->count;
}

void reports_destroy_tables(struct method_tables *tables)
{
    if (tables)
        free(tables->entries);
    free(tables);
}

const struct table_entry *reports_find_entry(struct reports *reports, uint64_t function)
{
    const struct table_entry *entries;
    size_t count = reports_entries(reports, &entries);
    return SORTED_FIND(entries, function, count, function);
}
