/* What a death may be about: an object's type with two of its functions, and its references. */
#include "objects.h"

/* A count of references that is one: what else is there is far larger. */
#define COUNT_LIMIT 0xffffffffu

/* Threads of free-threaded builds count by themselves. */
static void read_count(struct python *python, psc_addr object, struct python_object_facts *ret)
{
    uint64_t count;
    psc_addr type = py_field_address(python, object, PY_OBJECT_TYPE);
    if (python->info.free_threaded || type < object + PY_REFCNT_BEFORE_TYPE ||
        target_read_u64(python->target, type - PY_REFCNT_BEFORE_TYPE, &count) != PSC_OK)
        return;
    // From 3.14 on, which tags pointers, flags are above the count.
    if (python->layout.rules->pointer_tag)
        count &= COUNT_LIMIT;
    ret->has_count = count <= COUNT_LIMIT || (int64_t)count < 0;
    ret->count = (int64_t)count;
}

bool python_read_object_facts(struct python *python, psc_addr object,
                              struct python_object_facts *ret)
{
    const struct py_type *type;
    *ret = (struct python_object_facts){0};
    if (!py_is_object_address(object) ||
        py_read_u64(python, object, PY_OBJECT_TYPE, &ret->type) != PSC_OK)
        return false;
    read_count(python, object, ret);
    if (py_type_of(python, object, &type) != PSC_OK)
        return true;
    struct text name PSC_CLEANUP(text_deinit) = {0};
    py_type_add_name(type, &name);
    ret->type_name = name.data ? arena_strdup(python->arena, name.data) : NULL;
    psc_addr flags = py_field_address(python, ret->type, PY_TYPE_FLAGS);
    if (target_read_u64(python->target, flags - PY_DEALLOC_BEFORE_FLAGS, &ret->deallocate) !=
            PSC_OK ||
        target_read_u64(python->target, flags + PY_TRAVERSE_BEHIND_FLAGS, &ret->traverse) != PSC_OK)
        ret->deallocate = ret->traverse = 0;
    return true;
}

uint64_t python_deallocate_offset(struct python *python)
{
    const psc_addr any = 0x10000;
    psc_addr flags = py_field_address(python, any, PY_TYPE_FLAGS);
    return flags ? flags - any - PY_DEALLOC_BEFORE_FLAGS : 0;
}

uint64_t python_collector_head(struct python *python)
{
    uint64_t size = python->layout.offset[PY_GC_HEAD_SIZE];
    return python->info.free_threaded || size == PY_NO_OFFSET ? 0 : size;
}
