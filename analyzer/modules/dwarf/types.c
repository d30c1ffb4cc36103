/* The types of variables, each read once. */
#include "dwarf_private.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Typedefs and qualifiers around a type. */
#define PEEL_LIMIT 32
/* Types that are read of one module, and members and enumerators of one type. */
#define TYPE_LIMIT       ((size_t)1 << 18)
#define MEMBER_LIMIT     ((size_t)256)
#define ENUMERATOR_LIMIT 4096
/* Children of one type that are looked at. */
#define CHILD_LIMIT ((size_t)1 << 16)
/* Arrays in arrays, by typedefs. */
#define ARRAY_DEPTH_LIMIT 8

struct type_entry {
    struct debug_type type; /* First: who holds the one has the other. */
    struct module *module;
    Dwarf_Die named; /* With the typedefs: the key. */
    Dwarf_Die die;   /* Without. */
    bool members_read;
    struct debug_member *members;
    size_t member_count;
};

/* By the DIE's address in this process. */
struct known_type {
    uint64_t die;
    struct type_entry *entry;
};

struct type_table {
    struct hash_table types;
};

void type_table_destroy(struct type_table *table)
{
    if (!table)
        return;
    hash_table_deinit(&table->types);
    free(table);
}

/* ---- DIEs ---- */

static bool follow(struct module *module, Dwarf_Attribute *reference, Dwarf_Die *ret)
{
    return dwarf_formref_die(reference, ret) ||
           (module && dwarf_whatform(reference) == DW_FORM_ref_sig8 &&
            module_find_type_unit(module, load_u64(reference->valp), ret));
}

/* Without a module, type units are those that libdw knows. */
static bool die_type(struct module *module, Dwarf_Die *die, Dwarf_Die *ret)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) && follow(module, &attribute, ret);
}

static bool is_wrapper(int tag)
{
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type || tag == DW_TAG_shared_type ||
           tag == DW_TAG_packed_type;
}

/* False at "const void", and for chains without an end. */
static bool peel(struct module *module, Dwarf_Die *die, const char **ret_name)
{
    *ret_name = NULL;
    for (size_t i = 0; i < PEEL_LIMIT; i++) {
        int tag = dwarf_tag(die);
        if (!is_wrapper(tag))
            return true;
        if (tag == DW_TAG_typedef && !*ret_name)
            *ret_name = die_name(die);
        if (!die_type(module, die, die))
            return false;
    }
    return false;
}

bool debug_base_type(Dwarf_Die *type, uint8_t *ret_encoding, uint64_t *ret_size)
{
    uint64_t encoding;
    const char *name;
    Dwarf_Die die = *type;
    if (!peel(NULL, &die, &name) || dwarf_tag(&die) != DW_TAG_base_type ||
        !die_get_number(&die, DW_AT_encoding, &encoding) || encoding > UINT8_MAX ||
        !die_get_number(&die, DW_AT_byte_size, ret_size))
        return false;
    *ret_encoding = (uint8_t)encoding;
    return true;
}

/* ---- kinds ---- */

static enum debug_kind kind_of_base(Dwarf_Die *die)
{
    uint64_t encoding;
    if (!die_get_number(die, DW_AT_encoding, &encoding))
        return DEBUG_KIND_OTHER;
    switch (encoding) {
    case DW_ATE_boolean:
        return DEBUG_KIND_BOOL;
    case DW_ATE_signed:
        return DEBUG_KIND_SIGNED;
    case DW_ATE_unsigned:
    case DW_ATE_UTF:
        return DEBUG_KIND_UNSIGNED;
    case DW_ATE_signed_char:
        return DEBUG_KIND_CHARACTER;
    case DW_ATE_unsigned_char:
        return DEBUG_KIND_UNSIGNED_CHARACTER;
    case DW_ATE_float:
        return DEBUG_KIND_FLOAT;
    case DW_ATE_complex_float:
        return DEBUG_KIND_COMPLEX;
    default:
        return DEBUG_KIND_OTHER;
    }
}

static enum debug_kind kind_of(Dwarf_Die *die)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_base_type:
        return kind_of_base(die);
    case DW_TAG_unspecified_type:
        return DEBUG_KIND_VOID;
    case DW_TAG_enumeration_type:
        return DEBUG_KIND_ENUM;
    case DW_TAG_pointer_type:
        return DEBUG_KIND_POINTER;
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return DEBUG_KIND_REFERENCE;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        return DEBUG_KIND_STRUCT;
    case DW_TAG_union_type:
        return DEBUG_KIND_UNION;
    case DW_TAG_array_type:
        return DEBUG_KIND_ARRAY;
    case DW_TAG_subroutine_type:
        return DEBUG_KIND_FUNCTION;
    default:
        return DEBUG_KIND_OTHER;
    }
}

/* DW_AT_count, or DW_AT_upper_bound of an array that begins at 0, as in C and C++. */
static uint64_t read_dimension(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Word count;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_count, &attribute), &count) == 0)
        return count;
    // That of a flexible array is missing, or -1.
    if (dwarf_formudata(dwarf_attr(die, DW_AT_upper_bound, &attribute), &count) != 0 ||
        count > INT64_MAX)
        return 0;
    return count + 1;
}

static void read_dimensions(struct type_entry *entry)
{
    Dwarf_Die child;
    struct debug_type *type = &entry->type;
    if (dwarf_child(&entry->die, &child) != 0)
        return;
    do {
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        if (type->dimension_count == DEBUG_DIMENSION_LIMIT) {
            type->kind = DEBUG_KIND_OTHER;
            return;
        }
        type->dimensions[type->dimension_count++] = read_dimension(&child);
    } while (die_next_sibling(&child));
}

/* Without the types of its items, whose size it needs, this would have to call itself. */
static uint64_t size_of_array(const struct debug_type *type)
{
    uint64_t size = 1;
    for (size_t depth = 0; type && depth < ARRAY_DEPTH_LIMIT; depth++) {
        if (type->kind != DEBUG_KIND_ARRAY)
            return __builtin_mul_overflow(size, type->size, &size) ? 0 : size;
        for (size_t i = 0; i < type->dimension_count; i++)
            if (__builtin_mul_overflow(size, type->dimensions[i], &size))
                return 0;
        type = debug_type_target(type);
    }
    return 0;
}

static void read_size(struct type_entry *entry)
{
    struct debug_type *type = &entry->type;
    if (die_get_number(&entry->die, DW_AT_byte_size, &type->size))
        return;
    if (type->kind == DEBUG_KIND_POINTER || type->kind == DEBUG_KIND_REFERENCE)
        type->size = sizeof(uint64_t);
}

/* ---- the table ---- */

/* What is only declared may be in a type unit (-fdebug-types-section). */
static void follow_signature(struct module *module, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die whole;
    if (dwarf_attr(die, DW_AT_signature, &attribute) && follow(module, &attribute, &whole))
        *die = whole;
}

/* Its namespace, of which libdw has to look for the way down from the unit. */
static bool is_in_namespace(Dwarf_Die *die, const char *name)
{
    Dwarf_Die *scopes = NULL;
    int count = dwarf_getscopes_die(die, &scopes);
    const char *found =
        count > 1 && dwarf_tag(&scopes[1]) == DW_TAG_namespace ? die_name(&scopes[1]) : NULL;
    bool is = found && !strcmp(found, name);
    free(scopes);
    return is;
}

/*
 * clang does not describe what the library has instances of. std::string of libstdc++'s present ABI
 * (bits/basic_string.h) has 32 bytes: pointer, length, and 16 for short ones.
 */
static void complete_string(struct type_entry *entry)
{
    static const char start[] = "basic_string<char,";
    struct debug_type *type = &entry->type;
    if (type->incomplete && !type->size && type->tag &&
        !strncmp(type->tag, start, sizeof(start) - 1) && is_in_namespace(&entry->die, "__cxx11"))
        type->size = DEBUG_STRING_SIZE;
}

static struct type_table *table_of(struct module *module)
{
    struct module_dwarf *dwarf = dwarf_of(module);
    if (dwarf && !dwarf->types && (dwarf->types = calloc(1, sizeof(*dwarf->types))))
        hash_table_init(&dwarf->types->types, sizeof(struct known_type));
    return dwarf ? dwarf->types : NULL;
}

static const struct debug_type *find_type(struct module *module, Dwarf_Die *die)
{
    struct type_table *table = table_of(module);
    uint64_t key = (uintptr_t)die->addr;
    const struct known_type *known = table ? hash_table_find(&table->types, key) : NULL;
    if (known)
        return &known->entry->type;
    if (!table || table->types.count == TYPE_LIMIT)
        return NULL;
    struct type_entry *entry = arena_alloc(module->owner->arena, sizeof(*entry));
    struct known_type *added = entry ? hash_table_add(&table->types, key) : NULL;
    if (!added)
        return NULL;
    added->entry = entry;
    entry->module = module;
    entry->named = *die;
    entry->die = *die;
    if (!peel(module, &entry->die, &entry->type.name)) {
        entry->type.kind = DEBUG_KIND_VOID;
        return &entry->type;
    }
    follow_signature(module, &entry->die);
    entry->type.kind = kind_of(&entry->die);
    entry->type.tag = dwarf_tag(&entry->die) == DW_TAG_ptr_to_member_type ? "pointer to member"
                                                                          : die_name(&entry->die);
    if (!entry->type.name)
        entry->type.name = entry->type.tag;
    // Also what only names a type unit, where that is not at hand.
    entry->type.incomplete = dwarf_hasattr(&entry->die, DW_AT_declaration) ||
                             dwarf_hasattr(&entry->die, DW_AT_signature);
    read_size(entry);
    complete_string(entry);
    if (entry->type.kind == DEBUG_KIND_ARRAY) {
        read_dimensions(entry);
        entry->type.size = size_of_array(&entry->type);
    }
    return &entry->type;
}

const struct debug_type *module_type_of(struct module *module, Dwarf_Die *die)
{
    Dwarf_Die type;
    return die_type(module, die, &type) ? find_type(module, &type) : NULL;
}

/* ---- what a type leads to ---- */

static struct type_entry *entry_of(const struct debug_type *type)
{
    return (struct type_entry *)(uintptr_t)type;
}

const struct debug_type *debug_type_target(const struct debug_type *type)
{
    struct type_entry *entry = entry_of(type);
    return module_type_of(entry->module, &entry->die);
}

const struct debug_type *debug_type_argument(const struct debug_type *type, size_t index)
{
    struct type_entry *entry = entry_of(type);
    Dwarf_Die child;
    if (dwarf_child(&entry->die, &child) != 0)
        return NULL;
    for (size_t i = 0; i < CHILD_LIMIT; i++) {
        if (dwarf_tag(&child) == DW_TAG_template_type_parameter && index-- == 0)
            return module_type_of(entry->module, &child);
        if (!die_next_sibling(&child))
            break;
    }
    return NULL;
}

/* DWARF 4 counts from the first bit of `offset`; before, from the last one of the storage. */
static bool read_bits(Dwarf_Die *die, struct debug_member *member)
{
    uint64_t size;
    uint64_t at;
    uint64_t storage = member->type ? member->type->size : 0;
    if (!die_get_number(die, DW_AT_bit_size, &size))
        return true;
    if (die_get_number(die, DW_AT_data_bit_offset, &at)) {
        member->offset = at / 8;
        member->bit_offset = (uint32_t)(at % 8);
    } else if (die_get_number(die, DW_AT_bit_offset, &at)) {
        if (die_get_number(die, DW_AT_byte_size, &storage) && storage > 8)
            return false;
        if (storage > 8 || at + size > storage * 8)
            return false;
        member->bit_offset = (uint32_t)(storage * 8 - at - size);
    }
    member->bit_size = (uint32_t)size;
    return size && size <= 64 && member->bit_offset + size <= 64;
}

static bool read_member(struct module *module, Dwarf_Die *die, struct debug_member *ret)
{
    int tag = dwarf_tag(die);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
        return false;
    *ret = (struct debug_member){.name = tag == DW_TAG_member ? die_name(die) : NULL,
                                 .type = module_type_of(module, die)};
    // Of a virtual base class the place is computed: it is left out. Static members have none.
    Dwarf_Attribute attribute;
    if (dwarf_hasattr(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_external))
        return false;
    if (dwarf_attr(die, DW_AT_data_member_location, &attribute) &&
        dwarf_formudata(&attribute, &ret->offset) != 0)
        return false;
    return read_bits(die, ret);
}

static size_t collect_members(struct type_entry *entry, struct debug_member *ret)
{
    Dwarf_Die child;
    size_t count = 0;
    if (dwarf_child(&entry->die, &child) != 0)
        return 0;
    for (size_t i = 0; i < CHILD_LIMIT && count < MEMBER_LIMIT; i++) {
        count += read_member(entry->module, &child, &ret[count]);
        if (!die_next_sibling(&child))
            break;
    }
    return count;
}

size_t debug_type_members(const struct debug_type *type, const struct debug_member **ret)
{
    struct type_entry *entry = entry_of(type);
    if (!entry->members_read) {
        struct debug_member members[MEMBER_LIMIT];
        size_t count = collect_members(entry, members);
        entry->members_read = true;
        entry->members =
            arena_array(entry->module->owner->arena, count ? count : 1, sizeof(*members));
        if (entry->members) {
            memcpy(entry->members, members, count * sizeof(*members));
            entry->member_count = count;
        }
    }
    *ret = entry->members;
    return entry->member_count;
}

const char *debug_type_enumerator(const struct debug_type *type, uint64_t value)
{
    struct type_entry *entry = entry_of(type);
    uint64_t mask =
        type->size >= 8 || !type->size ? UINT64_MAX : (UINT64_C(1) << type->size * 8) - 1;
    Dwarf_Die child;
    if (dwarf_child(&entry->die, &child) != 0)
        return NULL;
    for (size_t i = 0; i < ENUMERATOR_LIMIT; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Word constant;
        if (dwarf_tag(&child) == DW_TAG_enumerator &&
            dwarf_formudata(dwarf_attr(&child, DW_AT_const_value, &attribute), &constant) == 0 &&
            ((constant ^ value) & mask) == 0)
            return die_name(&child);
        if (!die_next_sibling(&child))
            break;
    }
    return NULL;
}
