/*
 * Cython's typed memoryviews: __Pyx_memviewslice (Cython/Utility/MemoryView_C.c), whose items
 * __Pyx_TypeInfo describes (Cython/Utility/Buffer.c). Parts of one may be lost in registers.
 */
#include "variable_value.h"

#include <inttypes.h>
#include <string.h>

/* __Pyx_memviewslice has room for so many. */
#define DIMENSION_LIMIT 8u
#define ITEM_SIZE_LIMIT (UINT64_C(1) << 20)
#define NAME_SIZE       64u
/* Fields of one struct, and structs in structs. */
#define FIELD_LIMIT       32u
#define ITEM_DEPTH_LIMIT  3u
#define FIELD_ARRAY_LIMIT 8u

/* ---- members ---- */

static bool read_word(struct c_writer *writer, const struct debug_type *type, struct c_place place,
                      const char *name, uint64_t *ret)
{
    struct debug_member member;
    uint8_t bytes[8];
    if (!c_find_member(type, name, &member) ||
        c_read(writer, place, member.offset, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    *ret = load_u64(bytes);
    return true;
}

static bool read_small(struct c_writer *writer, const struct debug_type *type, psc_addr address,
                       const char *name, void *ret, size_t size)
{
    struct debug_member member;
    return c_find_member(type, name, &member) &&
           target_read(writer->target, address + member.offset, ret, size) == PSC_OK;
}

/* What a member points to; NULL: nothing that is known. */
static const struct debug_type *target_of(const struct debug_type *type, const char *name)
{
    struct debug_member member;
    if (!type || !c_find_member(type, name, &member) || !member.type ||
        member.type->kind != DEBUG_KIND_POINTER)
        return NULL;
    return debug_type_target(member.type);
}

/* ---- items ---- */

/* A __Pyx_TypeInfo. */
struct item_type {
    const struct debug_type *described; /* NULL: it is not known. */
    char name[NAME_SIZE];
    uint64_t size;
    uint64_t count;  /* Of an array in a struct; 1 otherwise. */
    psc_addr fields; /* Of a struct. */
    char group;      /* 'R' real, 'C' complex, 'I', 'U', 'O', 'S', 'P', 'H' */
};

static bool read_item_type(struct c_writer *writer, const struct debug_type *described,
                           psc_addr info, struct item_type *ret)
{
    struct c_place place = {NULL, info};
    psc_addr name;
    uint32_t dimensions;
    uint64_t extent;
    struct debug_member member;
    *ret = (struct item_type){.count = 1};
    if (!described || !read_small(writer, described, info, "typegroup", &ret->group, 1) ||
        !read_small(writer, described, info, "ndim", &dimensions, sizeof(dimensions)) ||
        !read_word(writer, described, place, "size", &ret->size) ||
        !read_word(writer, described, place, "fields", &ret->fields) ||
        !read_word(writer, described, place, "name", &name) ||
        !c_find_member(described, "arraysize", &member) || dimensions > DIMENSION_LIMIT)
        return false;
    for (uint32_t i = 0; i < dimensions; i++)
        if (target_read_u64(writer->target, info + member.offset + 8 * i, &extent) != PSC_OK ||
            __builtin_mul_overflow(ret->count, extent, &ret->count))
            return false;
    enum psc_status status = target_read_string(writer->target, name, ret->name, NAME_SIZE);
    if ((status != PSC_OK && status != PSC_ERR_LIMIT) || !ret->size || ret->size > ITEM_SIZE_LIMIT)
        return false;
    ret->described = described;
    return true;
}

static bool add_item(struct c_writer *writer, const struct item_type *item, psc_addr address,
                     unsigned depth);

static bool read_field(struct c_writer *writer, const struct debug_type *field, psc_addr at,
                       const struct debug_type *described, struct item_type *ret, char *name,
                       uint64_t *ret_offset, bool *ret_end)
{
    struct c_place place = {NULL, at};
    psc_addr info;
    psc_addr text;
    *ret_end = false;
    if (!read_word(writer, field, place, "type", &info))
        return false;
    *ret_end = !info;
    if (*ret_end)
        return true;
    if (!read_word(writer, field, place, "name", &text) ||
        !read_word(writer, field, place, "offset", ret_offset) || *ret_offset > ITEM_SIZE_LIMIT)
        return false;
    enum psc_status status = target_read_string(writer->target, text, name, NAME_SIZE);
    return (status == PSC_OK || status == PSC_ERR_LIMIT) &&
           read_item_type(writer, described, info, ret);
}

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
    const struct debug_type *field = target_of(item->described, "fields");
    struct item_type type;
    char name[NAME_SIZE];
    uint64_t offset;
    bool end = false;
    if (!field || !field->size || !item->fields || depth >= ITEM_DEPTH_LIMIT)
        return false;
    text_add_char(writer->text, '{');
    for (uint64_t i = 0; i < FIELD_LIMIT; i++) {
        if (!read_field(writer, field, item->fields + i * field->size, item->described, &type, name,
                        &offset, &end))
            return false;
        if (end)
            break;
        text_printf(writer->text, "%s%s = ", i ? ", " : "", name);
        if (!add_row(writer, &type, address + offset, depth + 1))
            return false;
    }
    text_add_string(writer->text, end ? "}" : ", \u2026}");
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
        return c_add_float(writer->text, bytes, item->size);
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

/* ---- slices ---- */

struct slice_view {
    bool has_data;
    psc_addr data;
    struct item_type item;
    size_t dimensions; /* Whose shape is known ... */
    bool all;          /* ... and there are no others. */
    uint64_t shape[DIMENSION_LIMIT];
    bool has_strides;
    int64_t strides[DIMENSION_LIMIT];
    bool has_suboffsets;
    int64_t suboffsets[DIMENSION_LIMIT]; /* From 0 on: a pointer is followed. */
};

static size_t read_extents(struct c_writer *writer, const struct debug_type *type,
                           struct c_place place, const char *name, uint64_t *ret)
{
    struct debug_member member;
    uint8_t bytes[8];
    size_t count = 0;
    if (!c_find_member(type, name, &member))
        return 0;
    for (; count < DIMENSION_LIMIT; count++) {
        if (c_read(writer, place, member.offset + 8 * count, bytes, sizeof(bytes)) != C_READ_OK)
            break;
        ret[count] = load_u64(bytes);
    }
    return count;
}

/* The Py_buffer that the slice is of; a slice may have fewer dimensions than that. */
struct buffer {
    bool known;
    uint32_t dimensions;
    bool direct; /* It has no suboffsets, and neither has any slice of it. */
};

static struct buffer read_buffer(struct c_writer *writer, const struct debug_type *object,
                                 psc_addr memview)
{
    struct debug_member view;
    struct buffer buffer = {.known = false};
    uint64_t suboffsets;
    if (!object || !c_find_member(object, "view", &view) || !view.type ||
        !read_small(writer, view.type, memview + view.offset, "ndim", &buffer.dimensions,
                    sizeof(buffer.dimensions)) ||
        !read_word(writer, view.type, (struct c_place){NULL, memview + view.offset}, "suboffsets",
                   &suboffsets))
        return buffer;
    buffer.known = true;
    buffer.direct = !suboffsets;
    return buffer;
}

/* A dimension that a slice does not have is left 0 by Cython, and is no part of it in registers. */
static void read_slice(struct c_writer *writer, const struct debug_type *type, struct c_place place,
                       const struct buffer *buffer, struct slice_view *ret)
{
    uint64_t strides[DIMENSION_LIMIT];
    uint64_t suboffsets[DIMENSION_LIMIT];
    size_t shapes = read_extents(writer, type, place, "shape", ret->shape);
    size_t known = read_extents(writer, type, place, "strides", strides);
    size_t offsets = read_extents(writer, type, place, "suboffsets", suboffsets);
    ret->has_data = read_word(writer, type, place, "data", &ret->data);
    ret->dimensions = 0;
    while (ret->dimensions < shapes &&
           (ret->shape[ret->dimensions] || (ret->dimensions < known && strides[ret->dimensions])))
        ret->dimensions++;
    // No slice is without dimensions: the first one has no items, and maybe more behind it.
    bool empty = !ret->dimensions && shapes && buffer->known;
    if (empty)
        ret->dimensions = 1;
    ret->all = ret->dimensions < (empty ? known : shapes) ||
               (!empty && shapes == DIMENSION_LIMIT) ||
               (buffer->known && buffer->dimensions == ret->dimensions);
    ret->has_strides = known >= ret->dimensions;
    ret->has_suboffsets = offsets >= ret->dimensions || (buffer->known && buffer->direct);
    for (size_t i = 0; i < ret->dimensions; i++) {
        ret->strides[i] = i < known ? (int64_t)strides[i] : 0;
        ret->suboffsets[i] = offsets >= ret->dimensions ? (int64_t)suboffsets[i] : -1;
    }
}

static bool find_item(struct c_writer *writer, const struct slice_view *slice,
                      const uint64_t *index, psc_addr *ret)
{
    *ret = slice->data;
    for (size_t d = 0; d < slice->dimensions; d++) {
        *ret += index[d] * (uint64_t)slice->strides[d];
        if (slice->suboffsets[d] < 0)
            continue;
        if (target_read_u64(writer->target, *ret, ret) != PSC_OK)
            return false;
        *ret += (uint64_t)slice->suboffsets[d];
    }
    return true;
}

/* The first items, the last dimension counting fastest. */
static void add_first_items(struct c_writer *writer, const struct slice_view *slice, uint64_t total)
{
    uint64_t index[DIMENSION_LIMIT] = {0};
    for (uint64_t i = 0; i < total; i++) {
        psc_addr address;
        text_add_string(writer->text, i ? ", " : ": ");
        size_t before = writer->text->size;
        if (i == C_VALUE_ITEM_LIMIT || c_is_full(writer) ||
            !find_item(writer, slice, index, &address) ||
            !add_item(writer, &slice->item, address, 0)) {
            if (!writer->text->failed)
                writer->text->data[writer->text->size = before] = '\0';
            text_printf(writer->text, "\u2026 %" PRIu64 " more", total - i);
            return;
        }
        for (size_t d = slice->dimensions; d-- > 0;) {
            if (++index[d] < slice->shape[d])
                break;
            index[d] = 0;
        }
    }
}

static bool is_contiguous(const struct slice_view *slice)
{
    uint64_t stride = slice->item.size;
    for (size_t d = slice->dimensions; d-- > 0;) {
        if (slice->shape[d] > 1 && (uint64_t)slice->strides[d] != stride)
            return false;
        if (__builtin_mul_overflow(stride, slice->shape[d], &stride))
            return false;
    }
    return true;
}

static void add_tuple(struct c_writer *writer, const uint64_t *numbers, size_t count, bool all)
{
    text_add_char(writer->text, '(');
    for (size_t i = 0; i < count; i++)
        text_printf(writer->text, "%s%" PRId64, i ? ", " : "", (int64_t)numbers[i]);
    if (all)
        text_add_string(writer->text, count == 1 ? ",)" : ")");
    else
        text_add_string(writer->text, count ? ", \u2026)" : "\u2026)");
}

/* What is known of one whose place or shape is not: the object that it was made of. */
static void add_source(struct c_writer *writer, const struct debug_type *object, psc_addr memview)
{
    psc_addr source;
    text_add_string(writer->text, "<optimised out>");
    if (!object || !writer->python ||
        !read_word(writer, object, (struct c_place){NULL, memview}, "obj", &source) || !source)
        return;
    text_add_string(writer->text, " of ");
    python_add_value(writer->python, source, writer->text);
}

static void add_items(struct c_writer *writer, const struct slice_view *slice)
{
    uint64_t total = 1;
    bool indirect = false;
    for (size_t i = 0; i < slice->dimensions; i++) {
        if (slice->shape[i] > INT64_MAX || __builtin_mul_overflow(total, slice->shape[i], &total))
            total = 0;
        indirect = indirect || slice->suboffsets[i] >= 0;
    }
    bool complete = slice->has_strides && slice->has_suboffsets && slice->item.described;
    if (complete && !indirect && !is_contiguous(slice)) {
        uint64_t numbers[DIMENSION_LIMIT];
        memcpy(numbers, slice->strides, sizeof(numbers));
        text_add_string(writer->text, " strides ");
        add_tuple(writer, numbers, slice->dimensions, true);
    } else if (complete && indirect) {
        text_add_string(writer->text, " indirect");
    }
    if (complete && slice->dimensions)
        add_first_items(writer, slice, total);
    else
        text_printf(writer->text, " at 0x%" PRIx64, slice->data);
}

static bool is_none(struct c_writer *writer, psc_addr object)
{
    struct text text = {0};
    bool none = writer->python && object;
    if (none)
        python_add_value(writer->python, object, &text);
    none = none && text.size == 4 && !memcmp(text.data, "None", 4);
    text_deinit(&text);
    return none;
}

void c_add_memoryview(struct c_writer *writer, const struct debug_type *type, struct c_place place)
{
    struct slice_view slice = {.dimensions = 0};
    struct buffer buffer = {.known = false};
    psc_addr info;
    psc_addr memview = 0;
    bool has_object = read_word(writer, type, place, "memview", &memview);
    if (is_none(writer, memview)) {
        text_add_string(writer->text, "None");
        return;
    }
    const struct debug_type *object = memview ? target_of(type, "memview") : NULL;
    if (object) {
        buffer = read_buffer(writer, object, memview);
        if (read_word(writer, object, (struct c_place){NULL, memview}, "typeinfo", &info))
            read_item_type(writer, target_of(object, "typeinfo"), info, &slice.item);
    }
    read_slice(writer, type, place, &buffer, &slice);
    // What was never assigned has no object.
    if (has_object && !memview && (!slice.has_data || !slice.data)) {
        text_add_string(writer->text, "NULL");
        return;
    }
    if (!slice.dimensions && !slice.item.described) {
        text_add_string(writer->text, "<optimised out>");
        return;
    }
    text_printf(writer->text, "<memoryview %s ", slice.item.described ? slice.item.name : "?");
    if (slice.dimensions || slice.all) {
        add_tuple(writer, slice.shape, slice.dimensions, slice.all);
        if (!slice.has_data || !slice.all)
            text_add_char(writer->text, ' ');
    }
    if (slice.has_data && slice.all)
        add_items(writer, &slice);
    else
        add_source(writer, object, memview);
    text_add_char(writer->text, '>');
}
