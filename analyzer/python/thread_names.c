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

static int compare_idents(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return COMPARE(*a, *b);
}

/* Of threads without a name, rising; NULL: none, or out of memory. */
static uint64_t *list_nameless(const struct python_thread *threads, size_t count, size_t *ret_count)
{
    uint64_t *idents = count ? malloc(count * sizeof(*idents)) : NULL;
    *ret_count = 0;
    for (size_t i = 0; idents && i < count; i++)
        if (!threads[i].name)
            idents[(*ret_count)++] = threads[i].thread_id;
    if (idents)
        qsort(idents, *ret_count, sizeof(*idents), compare_idents);
    return idents;
}

static bool is_listed(const uint64_t *idents, size_t count, uint64_t ident)
{
    size_t at = SORTED_COUNT(i, count, idents[i] < ident);
    return at < count && idents[at] == ident;
}

size_t thread_names_read(struct python *python, psc_addr interpreter,
                         const struct python_thread *threads, size_t count,
                         struct py_thread_name **ret)
{
    struct py_items items;
    psc_addr ident;
    psc_addr thread;
    size_t found = 0;
    size_t capacity = 0;
    size_t nameless;
    void *names = NULL;
    PSC_CLEANUP(cleanup_free) uint64_t *idents = list_nameless(threads, count, &nameless);
    *ret = NULL;
    if (open_active(python, interpreter, &items) != PSC_OK)
        return 0;
    while (found < ACTIVE_LIMIT && py_items_next(python, &items, &ident, &thread) == PSC_OK) {
        struct py_thread_name name;
        if (py_read_int(python, ident, &name.ident) != PSC_OK ||
            !is_listed(idents, nameless, name.ident))
            continue;
        name.name = read_name(python, thread);
        if (!name.name)
            continue;
        if (!array_reserve(&names, &capacity, found + 1, sizeof(name)))
            break;
        ((struct py_thread_name *)names)[found++] = name;
    }
    if (found)
        qsort(names, found, sizeof(struct py_thread_name), compare_names);
    *ret = names;
    return found;
}
