#include "objects.h"

bool py_part_find(struct python *python, psc_addr object, const char *name, psc_addr *ret)
{
    const struct py_type *type;
    if (py_attribute_find(python, object, name, ret) == PSC_OK)
        return true;
    if (py_type_of(python, object, &type) != PSC_OK)
        return false;
    for (size_t i = 0; i < type->slot_count; i++)
        if (py_string_equals(python, type->slots[i].name, name))
            return target_read_u64(python->target, object + type->slots[i].offset, ret) == PSC_OK &&
                   *ret;
    return false;
}
