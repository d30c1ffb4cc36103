/* What holds items: arrays, and Cython's memoryviews. */
#include "c_value.h"

#include <inttypes.h>
#include <string.h>

/* Cython/Utility/MemoryView_C.c: __Pyx_memviewslice has room for so many. */
#define DIMENSION_LIMIT 8u
#define ITEM_SIZE_LIMIT (UINT64_C(1) << 20)
#define NAME_SIZE       64u

/* ---- rows ---- */

void c_add_items(struct c_writer *writer, const struct debug_type *item, struct c_place place,
                 uint64_t stride, uint64_t count, unsigned depth)
{
    struct text *text = writer->text;
    text_add_char(text, writer->cython ? '[' : '{');
    for (uint64_t i = 0; i < count; i++) {
        if (i)
            text_add_string(text, ", ");
        if (i == C_VALUE_ITEM_LIMIT || c_is_full(writer)) {
            text_printf(text, "\u2026 %" PRIu64 " more", count - i);
            break;
        }
        c_value_add(writer, item, (struct c_place){place.value, place.at + i * stride}, depth + 1);
    }
    text_add_char(text, writer->cython ? ']' : '}');
}

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

/* The struct that a member points to, and its address. */
static const struct debug_type *follow(struct c_writer *writer, const struct debug_type *type,
                                       struct c_place place, const char *name, psc_addr *ret)
{
    struct debug_member member;
    if (!read_word(writer, type, place, name, ret) || !*ret ||
        !c_find_member(type, name, &member) || !member.type ||
        member.type->kind != DEBUG_KIND_POINTER)
        return NULL;
    return debug_type_target(member.type);
}

/* ---- memoryviews ---- */

/* What Cython's __Pyx_TypeInfo says of the items. */
struct item_type {
    char name[NAME_SIZE];
    uint64_t size;
    char group; /* As in Cython/Utility/Buffer.c: 'R' real, 'C' complex, 'I', 'U', 'O', 'S', 'H' */
};

struct slice_view {
    psc_addr data;
    struct item_type item;
    size_t dimensions;
    uint64_t shape[DIMENSION_LIMIT];
    int64_t strides[DIMENSION_LIMIT];
};

static bool read_item_type(struct c_writer *writer, const struct debug_type *type,
                           struct c_place place, struct item_type *ret)
{
    psc_addr view;
    psc_addr info;
    psc_addr name;
    struct debug_member member;
    uint8_t group;
    const struct debug_type *object = follow(writer, type, place, "memview", &view);
    if (!object)
        return false;
    const struct debug_type *described =
        follow(writer, object, (struct c_place){NULL, view}, "typeinfo", &info);
    if (!described || !c_find_member(described, "typegroup", &member) ||
        target_read_u8(writer->target, info + member.offset, &group) != PSC_OK ||
        !read_word(writer, described, (struct c_place){NULL, info}, "size", &ret->size) ||
        !read_word(writer, described, (struct c_place){NULL, info}, "name", &name))
        return false;
    enum psc_status status = target_read_string(writer->target, name, ret->name, NAME_SIZE);
    ret->group = (char)group;
    return (status == PSC_OK || status == PSC_ERR_LIMIT) && ret->size &&
           ret->size <= ITEM_SIZE_LIMIT;
}

static bool read_extents(struct c_writer *writer, const struct debug_type *type,
                         struct c_place place, const char *name, uint64_t *ret, size_t *ret_count)
{
    struct debug_member member;
    uint8_t bytes[8];
    if (!c_find_member(type, name, &member))
        return false;
    for (*ret_count = 0; *ret_count < DIMENSION_LIMIT; (*ret_count)++) {
        if (c_read(writer, place, member.offset + 8 * *ret_count, bytes, sizeof(bytes)) !=
            C_READ_OK)
            break;
        ret[*ret_count] = load_u64(bytes);
    }
    return *ret_count;
}

/* A dimension that a slice does not have is left 0 by Cython, and is no part of it in registers. */
static bool read_slice(struct c_writer *writer, const struct debug_type *type, struct c_place place,
                       struct slice_view *ret)
{
    uint64_t strides[DIMENSION_LIMIT];
    size_t shapes;
    size_t known;
    ret->data = UINT64_MAX;
    if (!read_word(writer, type, place, "data", &ret->data) ||
        !read_extents(writer, type, place, "shape", ret->shape, &shapes))
        return false;
    if (!read_extents(writer, type, place, "strides", strides, &known))
        known = 0;
    ret->dimensions = 0;
    while (ret->dimensions < shapes &&
           (ret->shape[ret->dimensions] || (ret->dimensions < known && strides[ret->dimensions])))
        ret->dimensions++;
    for (size_t i = 0; i < ret->dimensions; i++)
        ret->strides[i] = i < known ? (int64_t)strides[i] : 0;
    return known >= ret->dimensions;
}

static void add_real(struct c_writer *writer, const uint8_t *bytes, uint64_t size)
{
    float single;
    double value;
    if (size == sizeof(single)) {
        memcpy(&single, bytes, sizeof(single));
        python_add_single(single, writer->text);
    } else {
        memcpy(&value, bytes, sizeof(value));
        python_add_float(value, writer->text);
    }
}

static bool add_item(struct c_writer *writer, const struct item_type *item, psc_addr address)
{
    uint8_t bytes[16] = {0};
    if (item->size > sizeof(bytes) ||
        target_read(writer->target, address, bytes, item->size) != PSC_OK)
        return false;
    uint64_t value = load_u64(bytes);
    unsigned shift = item->size < 8 ? (unsigned)(64 - 8 * item->size) : 0;
    switch (item->group) {
    case 'R':
        if (item->size != sizeof(float) && item->size != sizeof(double))
            return false;
        add_real(writer, bytes, item->size);
        return true;
    case 'C':
        return c_add_complex(writer, bytes, item->size);
    case 'I':
    case 'H':
        if (item->size > 8)
            return false;
        text_printf(writer->text, "%" PRId64, (int64_t)(value << shift) >> shift);
        return true;
    case 'U':
        if (item->size > 8)
            return false;
        text_printf(writer->text, "%" PRIu64, value);
        return true;
    case 'O':
        if (!writer->python || item->size != 8)
            return false;
        python_add_value(writer->python, value, writer->text);
        return true;
    default:
        return false;
    }
}

/* The first items, the last dimension counting fastest. */
static void add_first_items(struct c_writer *writer, const struct slice_view *slice, uint64_t total)
{
    uint64_t index[DIMENSION_LIMIT] = {0};
    for (uint64_t i = 0; i < total; i++) {
        psc_addr address = slice->data;
        for (size_t d = 0; d < slice->dimensions; d++)
            address += index[d] * (uint64_t)slice->strides[d];
        text_add_string(writer->text, i ? ", " : ": ");
        size_t before = writer->text->size;
        if (i == C_VALUE_ITEM_LIMIT || c_is_full(writer) ||
            !add_item(writer, &slice->item, address)) {
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

static void add_tuple(struct c_writer *writer, const uint64_t *numbers, size_t count)
{
    text_add_char(writer->text, '(');
    for (size_t i = 0; i < count; i++)
        text_printf(writer->text, "%s%" PRId64, i ? ", " : "", (int64_t)numbers[i]);
    text_add_string(writer->text, count == 1 ? ",)" : ")");
}

static void add_slice(struct c_writer *writer, const struct debug_type *type, struct c_place place)
{
    struct slice_view slice = {.dimensions = 0};
    uint64_t memview;
    uint64_t total = 1;
    bool strides = read_slice(writer, type, place, &slice);
    // None has no data; what was never assigned has no object either.
    if (read_word(writer, type, place, "memview", &memview) && !slice.data) {
        text_add_string(writer->text, memview ? "None" : "NULL");
        return;
    }
    bool item = read_item_type(writer, type, place, &slice.item);
    if (!slice.dimensions && !item && !strides) {
        text_add_string(writer->text, "<optimised out>");
        return;
    }
    text_printf(writer->text, "<memoryview %s ", item ? slice.item.name : "?");
    add_tuple(writer, slice.shape, slice.dimensions);
    for (size_t i = 0; i < slice.dimensions; i++)
        if (slice.shape[i] > INT64_MAX || __builtin_mul_overflow(total, slice.shape[i], &total))
            total = 0;
    if (strides && item && !is_contiguous(&slice)) {
        uint64_t numbers[DIMENSION_LIMIT];
        memcpy(numbers, slice.strides, sizeof(numbers));
        text_add_string(writer->text, " strides ");
        add_tuple(writer, numbers, slice.dimensions);
    }
    if (strides && item && slice.dimensions)
        add_first_items(writer, &slice, total);
    else
        text_printf(writer->text, " at 0x%" PRIx64, slice.data);
    text_add_char(writer->text, '>');
}

/* ---- which ---- */

/* Cython/Utility/Complex.c, where the compiler has no complex numbers. */
static bool add_complex_struct(struct c_writer *writer, const struct debug_type *type,
                               struct c_place place)
{
    const struct debug_member *members;
    uint8_t bytes[16];
    if (debug_type_members(type, &members) != 2 || !members[0].name || !members[1].name ||
        !members[0].type || strcmp(members[0].name, "real") != 0 ||
        strcmp(members[1].name, "imag") != 0 || members[0].type->kind != DEBUG_KIND_FLOAT ||
        (type->size != 8 && type->size != 16) ||
        c_read(writer, place, 0, bytes, type->size) != C_READ_OK)
        return false;
    return c_add_complex(writer, bytes, type->size);
}

bool c_add_known_struct(struct c_writer *writer, const struct debug_type *type,
                        struct c_place place, unsigned depth)
{
    const char *tag = type->tag ? type->tag : type->name;
    if (!tag)
        return false;
    if (type->name && !strcmp(type->name, "__Pyx_memviewslice")) {
        add_slice(writer, type, place);
        return true;
    }
    if (c_add_library_struct(writer, type, place, depth))
        return true;
    return writer->cython && !strncmp(tag, "__pyx_t_", 8) &&
           add_complex_struct(writer, type, place);
}
