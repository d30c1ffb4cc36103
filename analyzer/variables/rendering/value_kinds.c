/* Values by the kind of their type: the table of all kinds; objects, pointers, structs, arrays. */
#include "value_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE_DEPTH_LIMIT 8
/* Base classes and unnamed structs of one struct. */
#define INNER_LIMIT 64
/* Bytes of the name of a function that is pointed to. */
#define FUNCTION_LIMIT 1024

/* ---- objects ---- */

/* The attributes that a cdef class declares, those of its base class first. */
static void add_attributes(struct c_writer *writer, const struct debug_type *type, psc_addr object,
                           bool *ret_any, unsigned depth)
{
    const struct debug_type *bases[BASE_DEPTH_LIMIT];
    size_t base_count = 0;
    while (type && base_count < BASE_DEPTH_LIMIT && type->tag &&
           !strncmp(type->tag, "__pyx_obj_", 10)) {
        const struct debug_member *members;
        size_t count = debug_type_members(type, &members);
        bases[base_count++] = type;
        type = count && members[0].name && !strcmp(members[0].name, "__pyx_base") ? members[0].type
                                                                                  : NULL;
    }
    size_t shown = 0;
    while (base_count--) {
        const struct debug_member *members;
        size_t count = debug_type_members(bases[base_count], &members);
        for (size_t i = 0; i < count && !c_is_full(writer); i++) {
            const char *name = members[i].name;
            if (!name || !members[i].type || !strncmp(name, "__pyx_", 6) ||
                !strcmp(name, "ob_base") || !strcmp(name, "ob_refcnt") ||
                !strcmp(name, "ob_type") || !strcmp(name, "__weakref__"))
                continue;
            if (shown++ == writer->limits.items) {
                text_add_string(writer->text, ", \u2026");
                return;
            }
            text_printf(writer->text, "%s%s=", *ret_any ? ", " : ": ", name);
            *ret_any = true;
            c_add_value(writer, members[i].type,
                        (struct c_storage){NULL, object + members[i].offset}, depth + 1);
        }
    }
}

static void add_object(struct c_writer *writer, const struct debug_type *type, psc_addr object,
                       unsigned depth)
{
    bool any = false;
    if (!object || !writer->python) {
        text_printf(writer->text, writer->cython && !object ? "NULL" : "0x%" PRIx64, object);
        return;
    }
    bool own = type->tag && !strncmp(type->tag, "__pyx_obj_", 10);
    if (!own || depth + 1 >= writer->limits.depth ||
        !python_add_identity(writer->python, object, writer->text)) {
        python_add_value(writer->python, object, writer->text);
        return;
    }
    add_attributes(writer, type, object, &any, depth);
    text_add_char(writer->text, '>');
}

/* ---- pointers ---- */

static void add_function(struct c_writer *writer, psc_addr address)
{
    struct module_symbol symbol;
    struct cython_name name;
    struct module *module = modules_find(writer->modules, address);
    if (!module || !module_find_symbol(module, address, &symbol) || symbol.address != address)
        return;
    bool cython = cython_name_of(module, symbol.name, writer->arena, &name) && name.function;
    char *demangled = cython ? NULL : demangle_symbol(symbol.name, FUNCTION_LIMIT, NULL);
    text_printf(writer->text, " <%s>",
                cython      ? name.function
                : demangled ? demangled
                            : symbol.name);
    free(demangled);
}

static void add_pointed(struct c_writer *writer, const struct debug_type *target, psc_addr address,
                        unsigned depth)
{
    struct text *text = writer->text;
    if (c_character_width(target)) {
        text_add_char(text, ' ');
        size_t before = text->size;
        if (!c_add_text(writer, target, address, UINT64_MAX, C_TEXT_TERMINATED) && !text->failed)
            text->data[text->size = before - 1] = '\0';
    } else if (target->kind == DEBUG_KIND_FUNCTION) {
        add_function(writer, address);
    } else if (target->kind == DEBUG_KIND_STRUCT && writer->cython && !depth) {
        text_add_char(text, ' ');
        c_add_value(writer, target, (struct c_storage){NULL, address}, depth + 1);
    }
}

static void add_pointer(struct c_writer *writer, const struct debug_type *type,
                        struct c_storage storage, unsigned depth)
{
    uint8_t bytes[8];
    enum c_read found = c_read(writer, storage, 0, bytes, sizeof(bytes));
    if (found != C_READ_OK || type->size != sizeof(bytes)) {
        c_add_missing(writer, found, storage.at);
        return;
    }
    psc_addr address = load_u64(bytes);
    const struct debug_type *target = debug_type_target(type);
    if (target && c_is_object(target)) {
        add_object(writer, target, address, depth);
        return;
    }
    if (target && type->kind == DEBUG_KIND_REFERENCE && depth < writer->limits.depth) {
        text_printf(writer->text, "@0x%" PRIx64 ": ", address);
        c_add_value(writer, target, (struct c_storage){NULL, address}, depth + 1);
        return;
    }
    if (!address && writer->cython)
        text_add_string(writer->text, "NULL");
    else
        text_printf(writer->text, "0x%" PRIx64, address);
    if (target && address)
        add_pointed(writer, target, address, depth);
}

/* ---- structs ---- */

/* Whether a base class has no members: allocators, comparisons and the like. */
static bool is_empty(const struct debug_type *type)
{
    const struct debug_type *inner[INNER_LIMIT] = {type};
    size_t known = 1;
    for (size_t at = 0; at < known; at++) {
        const struct debug_member *members;
        if (!inner[at] || inner[at]->kind != DEBUG_KIND_STRUCT || inner[at]->incomplete)
            return false;
        size_t count = debug_type_members(inner[at], &members);
        for (size_t i = 0; i < count; i++) {
            if (members[i].name || known == INNER_LIMIT)
                return false;
            inner[known++] = members[i].type;
        }
    }
    return true;
}

static void add_struct(struct c_writer *writer, const struct debug_type *type,
                       struct c_storage storage, unsigned depth)
{
    const struct debug_member *members;
    size_t shown = 0;
    size_t count = debug_type_members(type, &members);
    if (c_add_known_struct(writer, type, storage, depth))
        return;
    if (!storage.value && writer->python && c_is_object(type)) {
        add_object(writer, type, storage.at, depth);
        return;
    }
    if (type->incomplete && !count) {
        text_add_string(writer->text, "<incomplete type>");
        return;
    }
    text_add_char(writer->text, '{');
    if (depth >= writer->limits.depth)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct debug_member *member = &members[i];
        if (!member->name && is_empty(member->type))
            continue;
        if (shown)
            text_add_string(writer->text, ", ");
        if (shown++ == writer->limits.items || c_is_full(writer)) {
            text_add_string(writer->text, "\u2026");
            break;
        }
        if (member->name)
            text_printf(writer->text, "%s = ", member->name);
        if (member->bit_size)
            c_add_bits(writer, member, storage);
        else if (member->type)
            c_add_value(writer, member->type,
                        (struct c_storage){storage.value, storage.at + member->offset}, depth + 1);
        else
            text_add_char(writer->text, '?');
    }
    if (depth >= writer->limits.depth)
        text_add_string(writer->text, "\u2026");
    text_add_char(writer->text, '}');
}

/* An array of several dimensions is one of arrays, from `dimension` on. */
static void add_array(struct c_writer *writer, const struct debug_type *type,
                      struct c_storage storage, size_t dimension, unsigned depth)
{
    const struct debug_type *item = debug_type_target(type);
    uint64_t stride = item ? item->size : 0;
    for (size_t i = dimension + 1; i < type->dimension_count; i++)
        if (__builtin_mul_overflow(stride, type->dimensions[i], &stride))
            stride = 0;
    uint64_t count = dimension < type->dimension_count ? type->dimensions[dimension] : 0;
    // The length of a flexible array, and of one whose length is computed, is not known.
    if (!stride || !count || depth >= writer->limits.depth) {
        text_add_string(writer->text, writer->cython ? "[\u2026]" : "{\u2026}");
        return;
    }
    if (dimension + 1 >= type->dimension_count) {
        bool bytes = item->kind == DEBUG_KIND_UNSIGNED_CHARACTER;
        if (c_character_width(item) && !storage.value &&
            c_add_text(writer, item, storage.at, count, bytes ? C_TEXT_BYTES : C_TEXT_ARRAY))
            return;
        c_add_items(writer, (struct c_part){item, storage}, count, depth);
        return;
    }
    text_add_char(writer->text, writer->cython ? '[' : '{');
    for (uint64_t i = 0; i < count; i++) {
        if (i)
            text_add_string(writer->text, ", ");
        if (i == writer->limits.items || c_is_full(writer)) {
            text_printf(writer->text, "\u2026 %" PRIu64 " more", count - i);
            break;
        }
        add_array(writer, type, (struct c_storage){storage.value, storage.at + i * stride},
                  dimension + 1, depth + 1);
    }
    text_add_char(writer->text, writer->cython ? ']' : '}');
}

static void add_value(struct c_writer *writer, const struct debug_type *type,
                      struct c_storage storage, unsigned depth)
{
    switch (type->kind) {
    case DEBUG_KIND_SIGNED:
    case DEBUG_KIND_UNSIGNED:
    case DEBUG_KIND_CHARACTER:
    case DEBUG_KIND_UNSIGNED_CHARACTER:
    case DEBUG_KIND_BOOL:
    case DEBUG_KIND_FLOAT:
    case DEBUG_KIND_COMPLEX:
    case DEBUG_KIND_ENUM:
        c_add_number(writer, type, storage);
        return;
    case DEBUG_KIND_POINTER:
    case DEBUG_KIND_REFERENCE:
        add_pointer(writer, type, storage, depth);
        return;
    case DEBUG_KIND_STRUCT:
    case DEBUG_KIND_UNION:
        add_struct(writer, type, storage, depth);
        return;
    case DEBUG_KIND_ARRAY:
        add_array(writer, type, storage, 0, depth);
        return;
    case DEBUG_KIND_OTHER:
    case DEBUG_KIND_VOID:
    case DEBUG_KIND_FUNCTION:
        break;
    }
    if (type->name && strstr(type->name, "nullptr"))
        text_add_string(writer->text, "nullptr");
    else
        text_printf(writer->text, "<%s>", type->name ? type->name : "?");
}

void c_write_value(struct c_writer *writer, const struct debug_type *type, struct c_storage storage)
{
    writer->add_value = add_value;
    add_value(writer, type, storage, 0);
}
