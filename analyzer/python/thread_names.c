#include "runtime.h"

#include <stdlib.h>

#define ACTIVE_LIMIT (1u << 18) /* Threads. */
#define NAME_LIMIT   256u

/* threading._active, a dict of {ident: Thread}. */
static enum psc_status open_active(struct python *python, psc_addr interpreter,
                                   struct py_items *ret)
{
    psc_addr active;
    enum psc_status status = py_module_find(python, interpreter, "threading", "_active", &active);
    return status == PSC_OK ? py_dict_open(python, active, ret) : status;
}

static const char *read_name(struct python *python, psc_addr thread)
{
    psc_addr string;
    const char *name = NULL;
    const char *attribute = python->layout.rules->spelling->thread_name;
    if (py_attribute_find(python, thread, attribute, &string) != PSC_OK ||
        py_read_string(python, string, NAME_LIMIT, &name) != PSC_OK)
        return NULL;
    return name;
}

static int compare_names(const void *left, const void *right)
{
    const struct py_thread_name *a = left;
    const struct py_thread_name *b = right;
    return COMPARE(a->ident, b->ident);
}

const char *thread_names_find(const struct py_thread_name *names, size_t count, uint64_t ident)
{
    const struct py_thread_name *found = SORTED_FIND(names, ident, count, ident);
    return found ? found->name : NULL;
}

size_t thread_names_read(struct python *python, psc_addr interpreter, struct py_thread_name **ret)
{
    struct py_items items;
    psc_addr ident;
    psc_addr thread;
    size_t count = 0;
    size_t capacity = 0;
    void *names = NULL;
    *ret = NULL;
    if (open_active(python, interpreter, &items) != PSC_OK)
        return 0;
    while (count < ACTIVE_LIMIT && py_items_next(python, &items, &ident, &thread) == PSC_OK) {
        struct py_thread_name name = {.name = read_name(python, thread)};
        if (!name.name || py_read_int(python, ident, &name.ident) != PSC_OK)
            continue;
        if (!array_reserve(&names, &capacity, count + 1, sizeof(name)))
            break;
        ((struct py_thread_name *)names)[count++] = name;
    }
    if (count)
        qsort(names, count, sizeof(struct py_thread_name), compare_names);
    *ret = names;
    return count;
}
