/* What all kinds of values need to be read and written. */
#include "value_writer.h"

#include <inttypes.h>
#include <string.h>

/* Base classes of base classes, or first members of first members. */
#define BASE_DEPTH_LIMIT 8
/* Base classes and unnamed structs of one struct. */
#define INNER_LIMIT 64

/* ---- bytes ---- */

enum c_read c_read(const struct c_writer *writer, struct c_storage storage, uint64_t offset,
                   void *ret, size_t size)
{
    const struct native_value *value = storage.value;
    uint64_t at = storage.at + offset;
    if (!value)
        return target_read(writer->target, at, ret, size) == PSC_OK ? C_READ_OK : C_READ_FAULT;
    if (at < offset || at > value->size || size > value->size - at)
        return C_READ_LOST;
    for (size_t i = 0; i < size; i++)
        if (!value->known[at + i])
            return C_READ_LOST;
    memcpy(ret, value->bytes + at, size);
    return C_READ_OK;
}

void c_add_missing(struct c_writer *writer, enum c_read why, psc_addr address)
{
    if (why == C_READ_LOST)
        text_add_string(writer->text, "<optimised out>");
    else
        text_printf(writer->text, "<not readable at 0x%" PRIx64 ">", address);
}

bool c_is_full(const struct c_writer *writer)
{
    return writer->text->failed || writer->text->size > writer->limits.text;
}

/* ---- limits ---- */

/* By default. */
#define DEPTH      4u
#define ITEMS      32u
#define CHARACTERS 200u
#define TEXT       2000u
#define TEXT_MAX   (1u << 22) /* Whatever is asked for. */

static uint32_t limit_of(uint32_t wanted, uint32_t otherwise, uint32_t most)
{
    if (!wanted)
        return otherwise;
    return wanted < most ? wanted : most;
}

struct c_limits c_limits_of(const struct python_value_limits *wanted)
{
    struct c_limits limits = {.depth = limit_of(wanted->depth, DEPTH, PSC_VALUE_DEPTH_MAX),
                              .items = limit_of(wanted->items, ITEMS, PSC_VALUE_ITEMS_MAX),
                              .characters =
                                  limit_of(wanted->length, CHARACTERS, PSC_VALUE_LENGTH_MAX)};
    uint64_t text = (uint64_t)TEXT * limits.characters / CHARACTERS;
    if (limits.items > ITEMS)
        text = text * limits.items / ITEMS;
    limits.text = text < TEXT_MAX ? (size_t)text : TEXT_MAX;
    return limits;
}

/* ---- types ---- */

bool c_is_object(const struct debug_type *type)
{
    for (size_t i = 0; type && i < BASE_DEPTH_LIMIT; i++) {
        const struct debug_member *members;
        if (type->kind != DEBUG_KIND_STRUCT)
            return false;
        if (type->tag && !strcmp(type->tag, "_object"))
            return true;
        size_t count = debug_type_members(type, &members);
        if (!count || members[0].offset)
            return false;
        // CPython 3.7 and before, and Py_TRACE_REFS: the head's members stand in the struct itself.
        if (count > 1 && members[0].name && !strcmp(members[0].name, "ob_refcnt"))
            return members[1].name && !strcmp(members[1].name, "ob_type");
        type = members[0].type;
    }
    return false;
}

/* A struct whose members are its outer one's: a base class, or one without a name. */
struct inner_struct {
    const struct debug_type *type;
    uint64_t offset;
};

bool c_find_member(const struct debug_type *type, const char *name, struct debug_member *ret)
{
    struct inner_struct inner[INNER_LIMIT] = {{type, 0}};
    size_t known = 1;
    for (size_t at = 0; at < known && inner[at].type; at++) {
        const struct debug_member *members;
        size_t count = debug_type_members(inner[at].type, &members);
        for (size_t i = 0; i < count; i++) {
            uint64_t offset = inner[at].offset + members[i].offset;
            if (members[i].name && !strcmp(members[i].name, name)) {
                *ret = members[i];
                ret->offset = offset;
                return true;
            }
            if (!members[i].name && members[i].type && known < INNER_LIMIT)
                inner[known++] = (struct inner_struct){members[i].type, offset};
        }
    }
    return false;
}

/* ---- rows ---- */

void c_add_items(struct c_writer *writer, struct c_part first, uint64_t count, unsigned depth)
{
    struct text *text = writer->text;
    text_add_char(text, writer->cython ? '[' : '{');
    for (uint64_t i = 0; i < count; i++) {
        if (i)
            text_add_string(text, ", ");
        if (i == writer->limits.items || c_is_full(writer)) {
            text_printf(text, "\u2026 %" PRIu64 " more", count - i);
            break;
        }
        c_add_value(
            writer, first.type,
            (struct c_storage){first.storage.value, first.storage.at + i * first.type->size},
            depth + 1);
    }
    text_add_char(text, writer->cython ? ']' : '}');
}
