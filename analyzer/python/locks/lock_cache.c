/* What the stacks of many threads have in common: read once for all of them. */
#include "locks.h"

/* Of each kind; another one takes the place of what was kept there. */
#define KEPT_COUNT   64u
#define GLOBAL_LIMIT 64u
#define NAME_LIMIT   200u

struct locks_cache {
    struct locks_known kept[LOCKS_FACTS][KEPT_COUNT];
};

struct locks_known *locks_recall(struct python *python, enum locks_fact fact, psc_addr first,
                                 psc_addr second, bool *ret_found)
{
    if (!python->locks_cache)
        python->locks_cache = arena_alloc(python->arena, sizeof(*python->locks_cache));
    if (!python->locks_cache)
        return NULL;
    struct locks_known *known =
        &python->locks_cache
             ->kept[fact][((first >> 4) ^ (first >> 12) ^ (second >> 4)) % KEPT_COUNT];
    *ret_found = known->first == first && known->second == second;
    if (!*ret_found)
        *known = (struct locks_known){.first = first, .second = second};
    return known;
}

enum psc_status locks_find_globals(struct python *python, const struct python_frame *frame,
                                   psc_addr *ret)
{
    enum psc_status status = py_read_u64(python, frame->address, PY_FRAME_GLOBALS, ret);
    if (status == PSC_ERR_UNSUPPORTED)
        status = py_read_u64(python, frame->address, PY_FRAMEOBJ_GLOBALS, ret);
    return status == PSC_OK && !*ret ? PSC_ERR_NOT_FOUND : status;
}

const char *locks_name_of_module(struct python *python, psc_addr globals)
{
    struct py_items items;
    psc_addr string;
    bool found;
    struct locks_known *known = locks_recall(python, LOCKS_MODULE_NAME, globals, 0, &found);
    if (known && !found && py_dict_open(python, globals, &items) == PSC_OK &&
        py_items_find(python, &items, "__name__", GLOBAL_LIMIT, &string) == PSC_OK &&
        py_read_string(python, string, NAME_LIMIT, &known->name) != PSC_OK)
        known->name = NULL;
    return known ? known->name : NULL;
}
