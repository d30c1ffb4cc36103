#include "objects.h"

enum psc_status py_set_open(struct python *python, psc_addr set, struct py_set_items *ret)
{
    const struct py_type *type;
    uint64_t mask;
    enum psc_status status = py_type_of(python, set, &type);
    if (status != PSC_OK)
        return status;
    if (type->kind != PY_KIND_SET && type->kind != PY_KIND_FROZENSET)
        return PSC_ERR_FORMAT;
    status = py_read_u64(python, set, PY_SET_MASK, &mask);
    if (status == PSC_OK)
        status = py_read_u64(python, set, PY_SET_TABLE, &ret->table);
    if (status == PSC_OK && mask >= PY_SET_LIMIT)
        status = PSC_ERR_LIMIT;
    ret->count = status == PSC_OK ? mask + 1 : 0;
    ret->next = 0;
    return status;
}

enum psc_status py_set_next(struct python *python, struct py_set_items *items, psc_addr *ret)
{
    while (items->next < items->count) {
        psc_addr entry = items->table + PY_SET_ENTRY_SIZE * items->next++;
        uint64_t hash;
        if (!budget_spend(python, 1))
            return PSC_ERR_LIMIT;
        enum psc_status status = py_read_u64(python, entry, PY_SETENTRY_KEY, ret);
        if (status == PSC_OK)
            status = py_read_u64(python, entry, PY_SETENTRY_HASH, &hash);
        if (status != PSC_OK)
            return status;
        if (*ret && hash != PY_SET_FREED_HASH)
            return PSC_OK;
    }
    return PSC_ERR_NOT_FOUND;
}
