#include "objects.h"

#include <stdlib.h>

#define TUPLE_LIMIT     (UINT64_C(1) << 24)
#define INT_DIGIT_LIMIT 3u

/** Types are few, and asked for again and again. */
#define TYPE_COUNT 64u

struct type_flags_cache {
    struct {
        psc_addr type;
        uint64_t flags;
    } slots[TYPE_COUNT];
};

enum psc_status type_flags_create(struct python *python)
{
    python->type_flags = calloc(1, sizeof(*python->type_flags));
    return python->type_flags ? PSC_OK : PSC_ERR_MEMORY;
}

void type_flags_forget(struct python *python)
{
    *python->type_flags = (struct type_flags_cache){0};
}

void type_flags_destroy(struct python *python)
{
    free(python->type_flags);
    python->type_flags = NULL;
}

psc_addr py_field_address(const struct python *python, psc_addr base, enum py_field field)
{
    uint32_t offset = python->layout.offset[field];
    return offset == PY_NO_OFFSET ? 0 : base + offset;
}

enum psc_status py_read_u64(struct python *python, psc_addr base, enum py_field field,
                            uint64_t *ret)
{
    psc_addr address = py_field_address(python, base, field);
    if (!address)
        return PSC_ERR_UNSUPPORTED;
    enum psc_status status = target_read_u64(python->target, address, ret);
    if (status != PSC_OK)
        (void)budget_spend(python, BUDGET_UNREADABLE);
    return status;
}

enum psc_status py_read_i32(struct python *python, psc_addr base, enum py_field field, int32_t *ret)
{
    uint32_t value;
    psc_addr address = py_field_address(python, base, field);
    if (!address)
        return PSC_ERR_UNSUPPORTED;
    enum psc_status status = target_read_u32(python->target, address, &value);
    if (status == PSC_OK)
        *ret = (int32_t)value;
    return status;
}

enum psc_status py_read_u8(struct python *python, psc_addr base, enum py_field field, uint8_t *ret)
{
    psc_addr address = py_field_address(python, base, field);
    return address ? target_read_u8(python->target, address, ret) : PSC_ERR_UNSUPPORTED;
}

enum psc_status py_read_type(struct python *python, psc_addr object, psc_addr *ret,
                             uint64_t *ret_flags)
{
    psc_addr type;
    if (!py_is_object_address(object))
        return PSC_ERR_FORMAT;
    enum psc_status status = py_read_u64(python, object, PY_OBJECT_TYPE, &type);
    if (status != PSC_OK)
        return status;
    if (!py_is_object_address(type))
        return PSC_ERR_FORMAT;
    size_t slot = hash_u64(type) % TYPE_COUNT;
    struct type_flags_cache *cache = python->type_flags;
    if (cache->slots[slot].type != type) {
        uint64_t flags;
        status = py_read_u64(python, type, PY_TYPE_FLAGS, &flags);
        if (status != PSC_OK)
            return status;
        cache->slots[slot].type = type;
        cache->slots[slot].flags = flags;
    }
    *ret = type;
    *ret_flags = cache->slots[slot].flags;
    return PSC_OK;
}

bool py_has_flags(struct python *python, psc_addr object, uint64_t flags)
{
    psc_addr type;
    uint64_t found;
    return py_read_type(python, object, &type, &found) == PSC_OK && (found & flags) == flags;
}

/* 2.7's int; its long is the int of later versions. */
static enum psc_status read_plain_int(struct python *python, psc_addr object, uint64_t *ret)
{
    enum psc_status status = py_read_u64(python, object, PY_INT_VALUE, ret);
    return status == PSC_OK && (int64_t)*ret < 0 ? PSC_ERR_LIMIT : status;
}

static bool is_plain_int(struct python *python, psc_addr object)
{
    switch (python->layout.rules->ints) {
    case PY_INTS_PLAIN_AND_LONG:
        return py_has_flags(python, object, PY_FLAG_PLAIN_INT);
    case PY_INTS_SIGNED_SIZE:
    case PY_INTS_TAG:
        break;
    }
    return false;
}

enum psc_status py_read_int(struct python *python, psc_addr object, uint64_t *ret)
{
    uint64_t size;
    if (is_plain_int(python, object))
        return read_plain_int(python, object, ret);
    if (!py_has_flags(python, object, PY_FLAG_INT))
        return PSC_ERR_FORMAT;
    enum psc_status status = py_read_u64(python, object, PY_INT_SIZE, &size);
    if (status != PSC_OK)
        return status;
    bool negative = false;
    switch (python->layout.rules->ints) {
    case PY_INTS_PLAIN_AND_LONG:
    case PY_INTS_SIGNED_SIZE:
        negative = (int64_t)size < 0;
        break;
    case PY_INTS_TAG:
        negative = (size & PY_INT_TAG_SIGN) == PY_INT_TAG_NEGATIVE;
        size >>= PY_INT_TAG_SHIFT;
        break;
    }
    if (negative || size > INT_DIGIT_LIMIT)
        return PSC_ERR_LIMIT;
    uint64_t value = 0;
    for (uint64_t i = 0; i < size; i++) {
        uint32_t digit;
        status = target_read_u32(python->target,
                                 py_field_address(python, object, PY_INT_DIGITS) + 4 * i, &digit);
        if (status != PSC_OK)
            return status;
        if (i == 2 && digit >> 4)
            return PSC_ERR_LIMIT;
        value |= (uint64_t)digit << (PY_INT_DIGIT_BITS * i);
    }
    *ret = value;
    return PSC_OK;
}

bool py_member_offset(struct python *python, psc_addr descriptor, uint64_t *ret)
{
    psc_addr definition;
    int32_t kind;
    return py_read_u64(python, descriptor, PY_MEMBER_DEF, &definition) == PSC_OK &&
           py_read_i32(python, definition, PY_MEMBERDEF_KIND, &kind) == PSC_OK &&
           (kind == PY_MEMBER_OBJECT || kind == PY_MEMBER_OBJECT_EX) &&
           py_read_u64(python, definition, PY_MEMBERDEF_OFFSET, ret) == PSC_OK;
}

enum psc_status py_read_tuple(struct python *python, psc_addr object, size_t *ret_count,
                              psc_addr *ret_items)
{
    uint64_t count;
    if (!py_has_flags(python, object, PY_FLAG_TUPLE))
        return PSC_ERR_FORMAT;
    enum psc_status status = py_read_u64(python, object, PY_VAR_SIZE, &count);
    if (status != PSC_OK)
        return status;
    if (count > TUPLE_LIMIT)
        return PSC_ERR_FORMAT;
    *ret_count = (size_t)count;
    *ret_items = py_field_address(python, object, PY_TUPLE_ITEMS);
    return PSC_OK;
}
