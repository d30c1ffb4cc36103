/*
 * CPython, Modules/_queuemodule.c: up to 3.12 a list from a position on, from 3.13 on a ring; up to
 * 3.6 concurrent.futures has a queue.Queue in its place, whose items are in a deque.
 */
#include "leaves.h"

#include <string.h>

#define ITEM_LIMIT 100000u

struct queue_items {
    psc_addr items;
    uint64_t first;
    uint64_t count; /* From `first` on. */
    uint64_t size;  /* Behind so many the first one follows. */
};

static bool open_list(struct python *python, psc_addr queue, struct queue_items *ret)
{
    psc_addr list;
    uint64_t size;
    if (py_read_u64(python, queue, PY_SIMPLEQUEUE_LIST, &list) != PSC_OK ||
        py_read_u64(python, queue, PY_SIMPLEQUEUE_NEXT, &ret->first) != PSC_OK ||
        !py_has_flags(python, list, PY_FLAG_LIST) ||
        py_read_u64(python, list, PY_VAR_SIZE, &size) != PSC_OK ||
        py_read_u64(python, list, PY_LIST_ITEMS, &ret->items) != PSC_OK || ret->first > size)
        return false;
    ret->count = size - ret->first;
    ret->size = size;
    return true;
}

static bool open_ring(struct python *python, psc_addr queue, struct queue_items *ret)
{
    return py_read_u64(python, queue, PY_SIMPLEQUEUE_RING, &ret->items) == PSC_OK &&
           py_read_u64(python, queue, PY_SIMPLEQUEUE_RING_GET, &ret->first) == PSC_OK &&
           py_read_u64(python, queue, PY_SIMPLEQUEUE_RING_SIZE, &ret->size) == PSC_OK &&
           py_read_u64(python, queue, PY_SIMPLEQUEUE_RING_COUNT, &ret->count) == PSC_OK &&
           ret->count <= ret->size && ret->first < ret->size;
}

/* concurrent/futures/thread.py: a _WorkItem has the future. */
static bool is_work_for(struct python *python, psc_addr item, psc_addr future)
{
    psc_addr found;
    return py_part_find(python, item, "future", &found) && found == future;
}

static bool deque_has(struct python *python, psc_addr queue, psc_addr future)
{
    psc_addr deque;
    psc_addr item;
    struct py_deque_items items;
    if (!py_part_find(python, queue, "queue", &deque) ||
        py_deque_open(python, deque, &items) != PSC_OK)
        return false;
    for (size_t i = 0; i < ITEM_LIMIT && budget_spend(python, 8); i++) {
        if (py_deque_next(python, &items, &item) != PSC_OK)
            return false;
        if (is_work_for(python, item, future))
            return true;
    }
    return false;
}

bool simple_queue_has_future(struct python *python, psc_addr queue, psc_addr future)
{
    const struct py_type *type;
    struct queue_items items;
    psc_addr item;
    if (py_type_of(python, queue, &type) != PSC_OK)
        return false;
    if (strcmp(type->c_name, "_queue.SimpleQueue") != 0)
        return deque_has(python, queue, future);
    if (!open_list(python, queue, &items) && !open_ring(python, queue, &items))
        return false;
    for (uint64_t i = 0; i < items.count && i < ITEM_LIMIT && budget_spend(python, 8); i++) {
        uint64_t at = items.first + i;
        at -= at >= items.size ? items.size : 0;
        if (target_read_u64(python->target, items.items + 8 * at, &item) == PSC_OK &&
            is_work_for(python, item, future))
            return true;
    }
    return false;
}
