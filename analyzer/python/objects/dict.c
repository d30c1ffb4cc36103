#include "objects.h"

/* Where the entries of a keys object begin. CPython, Objects/dict-common.h, 3.11+
   pycore_dict.h: an index table of a width that fits the size comes first. */
static enum psc_status open_keys(struct python *python, psc_addr keys, struct py_items *ret)
{
    uint64_t index_bytes = 0;
    uint8_t log2 = 0;
    uint8_t kind = 0;
    enum psc_status status = py_read_u64(python, keys, PY_KEYS_ENTRIES, &ret->count);
    if (status != PSC_OK)
        return status;
    switch (python->layout.rules->dicts) {
    case PY_DICTS_TABLE:
        return PSC_ERR_UNSUPPORTED;
    case PY_DICTS_COMPACT: {
        uint64_t size;
        status = py_read_u64(python, keys, PY_KEYS_SIZE, &size);
        if (status != PSC_OK)
            return status;
        uint64_t width = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= UINT32_MAX ? 4 : 8;
        if (size > PY_DICT_LIMIT)
            return PSC_ERR_LIMIT;
        index_bytes = size * width;
        break;
    }
    case PY_DICTS_KINDS:
        status = py_read_u8(python, keys, PY_KEYS_LOG2_INDEX_BYTES, &log2);
        if (status == PSC_OK)
            status = py_read_u8(python, keys, PY_KEYS_KIND, &kind);
        if (status != PSC_OK)
            return status;
        if (log2 > 40)
            return PSC_ERR_FORMAT;
        index_bytes = UINT64_C(1) << log2;
        break;
    }
    if (ret->count > PY_DICT_LIMIT || kind > PY_KEYS_KIND_LAST)
        return PSC_ERR_FORMAT;
    ret->entries = py_field_address(python, keys, PY_KEYS_INDICES) + index_bytes;
    ret->entry_size = kind ? PY_STR_ENTRY_SIZE : PY_ENTRY_SIZE;
    ret->key_at = kind ? PY_STR_ENTRY_KEY : PY_ENTRY_KEY;
    ret->value_at = kind ? PY_STR_ENTRY_VALUE : PY_ENTRY_VALUE;
    ret->values = 0;
    ret->next = 0;
    return PSC_OK;
}

/* CPython 2.7, Include/dictobject.h: one table of (hash, key, value), most of it free. */
static enum psc_status open_table(struct python *python, psc_addr dict, struct py_items *ret)
{
    uint64_t mask = 0;
    enum psc_status status = py_read_u64(python, dict, PY_DICT_MASK, &mask);
    *ret = (struct py_items){
        .entry_size = PY_ENTRY_SIZE, .key_at = PY_ENTRY_KEY, .value_at = PY_ENTRY_VALUE};
    if (status == PSC_OK)
        status = py_read_u64(python, dict, PY_DICT_TABLE, &ret->entries);
    if (status == PSC_OK && mask >= PY_DICT_LIMIT)
        return PSC_ERR_FORMAT;
    ret->count = mask + 1;
    return status;
}

enum psc_status py_dict_open_unchecked(struct python *python, psc_addr dict, struct py_items *ret)
{
    psc_addr keys;
    psc_addr values;
    if (python->layout.rules->dicts == PY_DICTS_TABLE)
        return open_table(python, dict, ret);
    enum psc_status status = py_read_u64(python, dict, PY_DICT_KEYS, &keys);
    if (status == PSC_OK)
        status = py_read_u64(python, dict, PY_DICT_VALUES, &values);
    if (status == PSC_OK)
        status = open_keys(python, keys, ret);
    if (status == PSC_OK && values)
        ret->values = py_field_address(python, values, PY_VALUES_ITEMS);
    return status;
}

enum psc_status py_dict_open(struct python *python, psc_addr dict, struct py_items *ret)
{
    return py_has_flags(python, dict, PY_FLAG_DICT) ? py_dict_open_unchecked(python, dict, ret)
                                                    : PSC_ERR_FORMAT;
}

enum psc_status py_items_next(struct python *python, struct py_items *items, psc_addr *ret_key,
                              psc_addr *ret_value)
{
    uint8_t buffer[PY_ENTRY_SIZE];
    while (items->next < items->count) {
        uint64_t index = items->next++;
        psc_addr entry = items->entries + index * items->entry_size;
        const uint8_t *bytes = target_peek(python->target, entry, items->entry_size);
        if (!bytes) {
            enum psc_status status = target_read(python->target, entry, buffer, items->entry_size);
            if (status != PSC_OK)
                return status;
            bytes = buffer;
        }
        psc_addr value = load_u64(bytes + items->value_at);
        if (items->values) {
            enum psc_status status =
                target_read_u64(python->target, items->values + 8 * index, &value);
            if (status != PSC_OK)
                return status;
        }
        *ret_key = load_u64(bytes + items->key_at);
        *ret_value = value;
        if (*ret_key && value)
            return PSC_OK;
    }
    return PSC_ERR_NOT_FOUND;
}

enum psc_status py_items_find(struct python *python, struct py_items *items, const char *key,
                              size_t limit, psc_addr *ret)
{
    psc_addr found;
    for (size_t i = 0; i < limit; i++) {
        enum psc_status status = py_items_next(python, items, &found, ret);
        if (status != PSC_OK)
            return status;
        if (py_string_equals(python, found, key))
            return PSC_OK;
    }
    return PSC_ERR_LIMIT;
}

/* Split values whose keys the type caches. */
static enum psc_status open_cached(struct python *python, psc_addr type, psc_addr values,
                                   struct py_items *ret)
{
    psc_addr keys;
    enum psc_status status = py_read_u64(python, type, PY_TYPE_CACHED_KEYS, &keys);
    if (status == PSC_OK)
        status = open_keys(python, keys, ret);
    if (status == PSC_OK)
        ret->values = py_field_address(python, values, PY_VALUES_ITEMS);
    return status;
}

/* A dict pointer in the object itself; a negative tp_dictoffset counts from its end
   (CPython 3.10, _PyObject_GetDictPtr). */
static enum psc_status open_own_dict(struct python *python, psc_addr object, psc_addr type,
                                     struct py_items *ret)
{
    uint64_t raw;
    uint64_t basic;
    uint64_t item;
    uint64_t size;
    psc_addr dict;
    enum psc_status status = py_read_u64(python, type, PY_TYPE_DICTOFFSET, &raw);
    if (status != PSC_OK)
        return status;
    int64_t offset = (int64_t)raw;
    if (offset == 0 || offset > INT32_MAX || offset < INT32_MIN)
        return PSC_ERR_NOT_FOUND;
    if (offset < 0) {
        status = py_read_u64(python, type, PY_TYPE_BASICSIZE, &basic);
        if (status == PSC_OK)
            status = py_read_u64(python, type, PY_TYPE_ITEMSIZE, &item);
        if (status == PSC_OK)
            status = py_read_u64(python, object, PY_VAR_SIZE, &size);
        if (status != PSC_OK)
            return status;
        uint64_t items = (int64_t)size < 0 ? 0 - size : size;
        if (basic > INT32_MAX || item > INT32_MAX || items > INT32_MAX)
            return PSC_ERR_FORMAT;
        offset += (int64_t)((basic + item * items + 7) & ~UINT64_C(7));
    }
    status = target_read_u64(python->target, object + (uint64_t)offset, &dict);
    return status == PSC_OK ? py_dict_open(python, dict, ret) : status;
}

/* 3.13: values behind the object. */
static enum psc_status open_inline(struct python *python, psc_addr object, psc_addr type,
                                   struct py_items *ret)
{
    uint64_t basic;
    uint8_t valid;
    enum psc_status status = py_read_u64(python, type, PY_TYPE_BASICSIZE, &basic);
    if (status == PSC_OK)
        status = target_read_u8(python->target, object + basic + PY_INLINE_VALUES_VALID, &valid);
    if (status != PSC_OK)
        return status;
    return valid ? open_cached(python, type, object + basic, ret) : PSC_ERR_NOT_FOUND;
}

enum psc_status py_attributes_open(struct python *python, psc_addr object, struct py_items *ret)
{
    psc_addr type;
    uint64_t flags;
    psc_addr dict;
    enum psc_status status = py_read_type(python, object, &type, &flags);
    if (status != PSC_OK)
        return status;
    if (python->types.instance && type == python->types.instance) {
        status = py_read_u64(python, object, PY_INSTANCE_DICT, &dict);
        return status == PSC_OK ? py_dict_open(python, dict, ret) : status;
    }
    uint64_t word;
    psc_addr managed = object + (psc_addr)(int64_t)python->layout.managed_dict;
    switch (python->layout.rules->attributes) {
    case PY_ATTRIBUTES_DICT:
        return open_own_dict(python, object, type, ret);
    case PY_ATTRIBUTES_VALUES_POINTER:
        if (!(flags & PY_FLAG_MANAGED_DICT))
            return open_own_dict(python, object, type, ret);
        status = target_read_u64(python->target, managed - PY_VALUES_BEFORE_DICT, &word);
        if (status == PSC_OK && word)
            return open_cached(python, type, word, ret);
        break;
    case PY_ATTRIBUTES_TAGGED_POINTER:
        if (!(flags & PY_FLAG_MANAGED_DICT))
            return open_own_dict(python, object, type, ret);
        status = target_read_u64(python->target, managed, &word);
        if (status == PSC_OK && word & PY_VALUES_TAG)
            return open_cached(python, type, word + PY_VALUES_TAG, ret);
        break;
    case PY_ATTRIBUTES_INLINE:
        if (!(flags & PY_FLAG_MANAGED_DICT))
            return open_own_dict(python, object, type, ret);
        if (flags & PY_FLAG_INLINE_VALUES) {
            status = open_inline(python, object, type, ret);
            if (status != PSC_ERR_NOT_FOUND)
                return status;
            status = PSC_OK;
        }
        break;
    }
    if (status == PSC_OK)
        status = target_read_u64(python->target, managed, &word);
    if (status == PSC_OK)
        status = word ? py_dict_open(python, word, ret) : PSC_ERR_NOT_FOUND;
    return status;
}
