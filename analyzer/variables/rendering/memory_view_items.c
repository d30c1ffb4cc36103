/*
 * Items of Cython's typed memoryviews, as __Pyx_TypeInfo describes them
 * (Cython/Utility/Buffer.c).
 */
#include "memory_view_items.h"

#include <inttypes.h>
#include <string.h>

#define ITEM_SIZE_LIMIT (UINT64_C(1) << 20)
/* Fields of one struct, and structs in structs. */
#define FIELD_LIMIT       32u
#define ITEM_DEPTH_LIMIT  3u
#define FIELD_ARRAY_LIMIT 8u

/* ---- members ---- */

bool view_read_member(struct c_writer *writer, struct c_part part, const char *name, void *ret,
                      size_t size)
{
    struct debug_member member;
    return c_find_member(part.type, name, &member) &&
           c_read(writer, part.storage, member.offset, ret, size) == C_READ_OK;
}

bool view_read_word(struct c_writer *writer, struct c_part part, const char *name, uint64_t *ret)
{
    uint8_t bytes[8];
    if (!view_read_member(writer, part, name, bytes, sizeof(bytes)))
        return false;
    *ret = load_u64(bytes);
    return true;
}

const struct debug_type *view_member_target(const struct debug_type *type, const char *name)
{
    struct debug_member member;
    if (!type || !c_find_member(type, name, &member) || !member.type ||
        member.type->kind != DEBUG_KIND_POINTER)
        return NULL;
    return debug_type_target(member.type);
}

/* ---- items ---- */

bool view_read_item_type(struct c_writer *writer, const struct debug_type *described, psc_addr info,
                         struct item_type *ret)
{
    const struct c_part part = in_memory(described, info);
    psc_addr name;
    uint32_t dimensions;
    uint64_t extent;
    struct debug_member member;
    *ret = (struct item_type){.count = 1};
    if (!described || !view_read_member(writer, part, "typegroup", &ret->group, 1) ||
        !view_read_member(writer, part, "ndim", &dimensions, sizeof(dimensions)) ||
        !view_read_word(writer, part, "size", &ret->size) ||
        !view_read_word(writer, part, "fields", &ret->fields) ||
        !view_read_word(writer, part, "name", &name) ||
        !c_find_member(described, "arraysize", &member) || dimensions > VIEW_DIMENSION_LIMIT)
        return false;
    for (uint32_t i = 0; i < dimensions; i++)
        if (target_read_u64(writer->target, info + member.offset + 8 * (uint64_t)i, &extent) !=
                PSC_OK ||
            __builtin_mul_overflow(ret->count, extent, &ret->count))
            return false;
    enum psc_status status = target_read_string(writer->target, name, ret->name, VIEW_NAME_SIZE);
    if ((status != PSC_OK && status != PSC_ERR_LIMIT) || !ret->size || ret->size > ITEM_SIZE_LIMIT)
        return false;
    ret->described = described;
    return true;
}

/* A __Pyx_StructField; the last one of a struct has no type. */
struct item_field {
    bool last;
    struct item_type type;
    char name[VIEW_NAME_SIZE];
    uint64_t offset;
};

static bool read_field(struct c_writer *writer, struct c_part part,
                       const struct debug_type *described, struct item_field *ret)
{
    psc_addr info, name;
    if (!view_read_word(writer, part, "type", &info))
        return false;
    ret->last = !info;
    if (ret->last)
        return true;
    if (!view_read_word(writer, part, "name", &name) ||
        !view_read_word(writer, part, "offset", &ret->offset) || ret->offset > ITEM_SIZE_LIMIT)
        return false;
    enum psc_status status = target_read_string(writer->target, name, ret->name, VIEW_NAME_SIZE);
    return (status == PSC_OK || status == PSC_ERR_LIMIT) &&
           view_read_item_type(writer, described, info, &ret->type);
}

static bool add_item(struct c_writer *writer, const struct item_type *item, psc_addr address,
                     unsigned depth);

/* An array in a struct. */
static bool add_row(struct c_writer *writer, const struct item_type *item, psc_addr address,
                    unsigned depth)
{
    if (item->count == 1)
        return add_item(writer, item, address, depth);
    text_add_char(writer->text, '[');
    for (uint64_t i = 0; i < item->count; i++) {
        text_add_string(writer->text, i ? ", " : "");
        if (i == FIELD_ARRAY_LIMIT || c_is_full(writer)) {
            text_printf(writer->text, "\u2026 %" PRIu64 " more", item->count - i);
            break;
        }
        if (!add_item(writer, item, address + i * item->size, depth))
            return false;
    }
    text_add_char(writer->text, ']');
    return true;
}

static bool add_struct(struct c_writer *writer, const struct item_type *item, psc_addr address,
                       unsigned depth)
{
    const struct debug_type *type = view_member_target(item->described, "fields");
    struct item_field field = {.last = false};
    if (!type || !type->size || !item->fields || depth >= ITEM_DEPTH_LIMIT)
        return false;
    text_add_char(writer->text, '{');
    for (uint64_t i = 0; i < FIELD_LIMIT; i++) {
        const struct c_part part = in_memory(type, item->fields + i * type->size);
        if (!read_field(writer, part, item->described, &field))
            return false;
        if (field.last)
            break;
        text_printf(writer->text, "%s%s = ", i ? ", " : "", field.name);
        if (!add_row(writer, &field.type, address + field.offset, depth + 1))
            return false;
    }
    text_add_string(writer->text, field.last ? "}" : ", \u2026}");
    return true;
}

static bool add_item(struct c_writer *writer, const struct item_type *item, psc_addr address,
                     unsigned depth)
{
    uint8_t bytes[32] = {0};
    if (item->group == 'S')
        return add_struct(writer, item, address, depth);
    if (item->size > sizeof(bytes) ||
        target_read(writer->target, address, bytes, item->size) != PSC_OK)
        return false;
    uint64_t value = load_u64(bytes);
    unsigned shift = item->size < 8 ? (unsigned)(64 - 8 * item->size) : 0;
    bool word = item->size <= 8;
    switch (item->group) {
    case 'R':
        return c_add_float(writer, bytes, item->size, writer->text);
    case 'C':
        return c_add_complex(writer, bytes, item->size);
    case 'I':
    case 'H':
        if (word)
            text_printf(writer->text, "%" PRId64, (int64_t)(value << shift) >> shift);
        return word;
    case 'U':
        if (word)
            text_printf(writer->text, "%" PRIu64, value);
        return word;
    case 'P':
        if (word)
            text_printf(writer->text, "0x%" PRIx64, value);
        return word;
    case 'O':
        if (!writer->python || item->size != 8)
            return false;
        python_add_value(writer->python, value, writer->text);
        return true;
    default:
        return false;
    }
}

bool view_add_item(struct c_writer *writer, const struct item_type *item, psc_addr address)
{
    return add_item(writer, item, address, 0);
}
