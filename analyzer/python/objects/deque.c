/* CPython, Modules/_collectionsmodule.c: items lie in blocks that are linked from left to right. */
#include "objects.h"

enum psc_status py_deque_open(struct python *python, psc_addr deque, struct py_deque_items *ret)
{
    const struct py_type *type;
    uint64_t count;
    *ret = (struct py_deque_items){0};
    enum psc_status status = py_type_of(python, deque, &type);
    if (status == PSC_OK && type->kind != PY_KIND_DEQUE)
        status = PSC_ERR_FORMAT;
    if (status == PSC_OK)
        status = py_read_u64(python, deque, PY_DEQUE_COUNT, &count);
    if (status == PSC_OK && count > PY_DEQUE_LIMIT)
        status = PSC_ERR_LIMIT;
    if (status == PSC_OK)
        status = py_read_u64(python, deque, PY_DEQUE_BLOCK, &ret->block);
    if (status == PSC_OK)
        status = py_read_u64(python, deque, PY_DEQUE_INDEX, &ret->index);
    ret->left = status == PSC_OK ? count : 0;
    return status;
}

enum psc_status py_deque_next(struct python *python, struct py_deque_items *items, psc_addr *ret)
{
    if (!items->left)
        return PSC_ERR_NOT_FOUND;
    if (items->index >= python->layout.rules->deque_block) {
        enum psc_status status = py_read_u64(python, items->block, PY_BLOCK_RIGHT, &items->block);
        if (status != PSC_OK)
            return status;
        items->index = 0;
    }
    psc_addr data = py_field_address(python, items->block, PY_BLOCK_DATA);
    items->left--;
    return target_read_u64(python->target, data + 8 * items->index++, ret);
}
