/*
 * Cython's typed memoryviews: __Pyx_memviewslice (Cython/Utility/MemoryView_C.c). Parts of one may
 * be lost in registers.
 */
#include "memory_view_items.h"

#include <inttypes.h>
#include <string.h>

struct slice_view {
    bool has_data;
    psc_addr data;
    struct item_type item;
    size_t dimensions; /* Whose shape is known. */
    bool all;          /* There are no others. */
    uint64_t shape[VIEW_DIMENSION_LIMIT];
    bool has_strides;
    int64_t strides[VIEW_DIMENSION_LIMIT];
    bool has_suboffsets;
    int64_t suboffsets[VIEW_DIMENSION_LIMIT]; /* Negative: none. Else a pointer is followed, and
                                                 this added. */
};

static size_t read_extents(struct c_writer *writer, struct c_part part, const char *name,
                           uint64_t *ret)
{
    struct debug_member member;
    uint8_t bytes[8];
    size_t count = 0;
    if (!c_find_member(part.type, name, &member))
        return 0;
    for (; count < VIEW_DIMENSION_LIMIT; count++) {
        if (c_read(writer, part.storage, member.offset + 8 * count, bytes, sizeof(bytes)) !=
            C_READ_OK)
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
    if (!object || !c_find_member(object, "view", &view) || !view.type)
        return buffer;
    const struct c_part part = in_memory(view.type, memview + view.offset);
    if (!view_read_member(writer, part, "ndim", &buffer.dimensions, sizeof(buffer.dimensions)) ||
        !view_read_word(writer, part, "suboffsets", &suboffsets))
        return buffer;
    buffer.known = true;
    buffer.direct = !suboffsets;
    return buffer;
}

/* Dimensions that a slice does not have are 0; of a slice in registers they are missing. */
static void read_slice(struct c_writer *writer, struct c_part part, const struct buffer *buffer,
                       struct slice_view *ret)
{
    uint64_t strides[VIEW_DIMENSION_LIMIT];
    uint64_t suboffsets[VIEW_DIMENSION_LIMIT];
    size_t shapes = read_extents(writer, part, "shape", ret->shape);
    size_t known = read_extents(writer, part, "strides", strides);
    size_t offsets = read_extents(writer, part, "suboffsets", suboffsets);
    ret->has_data = view_read_word(writer, part, "data", &ret->data);
    ret->dimensions = 0;
    while (ret->dimensions < shapes &&
           (ret->shape[ret->dimensions] || (ret->dimensions < known && strides[ret->dimensions])))
        ret->dimensions++;
    // A slice has a dimension at least: the first one is empty, and there may be more.
    bool empty = !ret->dimensions && shapes && buffer->known;
    if (empty)
        ret->dimensions = 1;
    ret->all = ret->dimensions < (empty ? known : shapes) ||
               (!empty && shapes == VIEW_DIMENSION_LIMIT) ||
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
    uint64_t index[VIEW_DIMENSION_LIMIT] = {0};
    for (uint64_t i = 0; i < total; i++) {
        psc_addr address;
        text_add_string(writer->text, i ? ", " : ": ");
        size_t before = writer->text->size;
        if (i == writer->limits.items || c_is_full(writer) ||
            !find_item(writer, slice, index, &address) ||
            !view_add_item(writer, &slice->item, address)) {
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

/* Where data or shape are not known: the object that the memoryview was made of. */
static void add_source(struct c_writer *writer, const struct debug_type *object, psc_addr memview)
{
    psc_addr source;
    text_add_string(writer->text, "<optimised out>");
    if (!object || !writer->python ||
        !view_read_word(writer, in_memory(object, memview), "obj", &source) || !source)
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
        uint64_t numbers[VIEW_DIMENSION_LIMIT];
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

void c_add_memoryview(struct c_writer *writer, const struct debug_type *type,
                      struct c_storage storage)
{
    struct slice_view slice = {.dimensions = 0};
    struct buffer buffer = {.known = false};
    psc_addr info;
    psc_addr memview = 0;
    const struct c_part part = {type, storage};
    bool has_object = view_read_word(writer, part, "memview", &memview);
    if (is_none(writer, memview)) {
        text_add_string(writer->text, "None");
        return;
    }
    const struct debug_type *object = memview ? view_member_target(type, "memview") : NULL;
    if (object) {
        buffer = read_buffer(writer, object, memview);
        if (view_read_word(writer, in_memory(object, memview), "typeinfo", &info))
            view_read_item_type(writer, view_member_target(object, "typeinfo"), info, &slice.item);
    }
    read_slice(writer, part, &buffer, &slice);
    // A variable that was never assigned has no object.
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
