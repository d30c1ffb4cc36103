/*
 * Which tasks a task waits for: the one that it awaits itself, and those whose end completes the
 * future that it awaits, as gather(), wait(), shield() and TaskGroup arrange by callbacks.
 */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

#define CELL_LIMIT  32u
#define REACH_LIMIT 64u /* Futures that the end of one task leads to. */
#define EDGE_LIMIT  ((size_t)4 * PSC_PYTHON_TASK_LIMIT)
#define FILE_LIMIT  1024u

/* A future, and a task that waits for it. */
struct waiter {
    psc_addr future;
    size_t task;
};

struct edge {
    size_t from;
    size_t to;
};

struct waits {
    struct py_tasks *tasks;
    const struct python_task *items;
    size_t count;
    struct waiter *waiters; /* By future. */
    size_t waiter_count;
    struct waiter *addresses; /* Of the tasks themselves, sorted. */
    struct edge *edges;
    size_t edge_count;
    size_t edge_capacity;
    psc_addr reached[REACH_LIMIT];
    size_t reached_count;
};

static int compare_waiters(const void *left, const void *right)
{
    const struct waiter *a = left;
    const struct waiter *b = right;
    return COMPARE(a->future, b->future);
}

static enum psc_status add_edge(struct waits *waits, size_t from, size_t to)
{
    void *edges = waits->edges;
    if (waits->edge_count >= EDGE_LIMIT) {
        waits->tasks->waits_cut = true;
        return PSC_OK;
    }
    if (!array_reserve(&edges, &waits->edge_capacity, waits->edge_count + 1, sizeof(struct edge)))
        return PSC_ERR_MEMORY;
    waits->edges = edges;
    waits->edges[waits->edge_count++] = (struct edge){from, to};
    return PSC_OK;
}

/* All that wait for the future wait for the task. */
static enum psc_status add_waiters(struct waits *waits, psc_addr future, size_t to)
{
    enum psc_status status = PSC_OK;
    size_t i = SORTED_BELOW(waits->waiters, future, waits->waiter_count, future);
    for (; status == PSC_OK && i < waits->waiter_count && waits->waiters[i].future == future; i++)
        status = add_edge(waits, waits->waiters[i].task, to);
    return status;
}

static void reach(struct waits *waits, psc_addr future)
{
    for (size_t i = 0; i < waits->reached_count; i++)
        if (waits->reached[i] == future)
            return;
    if (waits->reached_count < REACH_LIMIT)
        waits->reached[waits->reached_count++] = future;
}

/* ---- what a callback completes ---- */

/* A future; or a TaskGroup, of asyncio or of anyio, which has one that its __aexit__ awaits. */
static void take_object(struct waits *waits, psc_addr object)
{
    static const char *const attributes[] = {"_on_completed_future", "_on_completed_fut"};
    struct py_tasks *tasks = waits->tasks;
    const struct py_type *type;
    psc_addr found;
    if (!budget_spend(tasks->python, 8))
        return;
    if (task_is_future(tasks, object)) {
        if (!task_is_task(tasks, object))
            reach(waits, object);
        return;
    }
    if (py_type_of(tasks->python, object, &type) != PSC_OK ||
        strcmp(py_type_short_name(type), "TaskGroup") != 0)
        return;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(attributes); i++)
        if (py_attribute_find(tasks->python, object, attributes[i], &found) == PSC_OK &&
            task_is_future(tasks, found))
            reach(waits, found);
}

static void take_tuple(struct waits *waits, psc_addr tuple, bool cells)
{
    struct python *python = waits->tasks->python;
    psc_addr items;
    psc_addr item;
    size_t count;
    if (py_read_tuple(python, tuple, &count, &items) != PSC_OK)
        return;
    for (size_t i = 0; i < count && i < CELL_LIMIT; i++)
        if (target_read_u64(python->target, items + 8 * i, &item) == PSC_OK &&
            (!cells || py_read_u64(python, item, PY_CELL_REF, &item) == PSC_OK) && item)
            take_object(waits, item);
}

/* Only of these is it known what they do with the futures that they hold. */
static bool is_library_function(struct python *python, psc_addr function)
{
    static const char *const names[] = {"_done_callback", "_inner_done_callback", "_on_completion",
                                        "_release_waiter", "task_done"};
    psc_addr code;
    psc_addr string;
    const char *file = NULL;
    bool named = false;
    if (py_read_u64(python, function, PY_FUNC_CODE, &code) != PSC_OK ||
        py_read_u64(python, code, PY_CODE_NAME, &string) != PSC_OK)
        return false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names) && !named; i++)
        named = py_string_equals(python, string, names[i]);
    return named && py_read_u64(python, code, PY_CODE_FILENAME, &string) == PSC_OK &&
           py_read_string(python, string, FILE_LIMIT, &file) == PSC_OK &&
           (strstr(file, "asyncio/") || strstr(file, "anyio/"));
}

static void take_function(struct waits *waits, psc_addr function)
{
    struct python *python = waits->tasks->python;
    const struct py_type *type;
    psc_addr cells;
    if (py_type_of(python, function, &type) == PSC_OK && type->kind == PY_KIND_FUNCTION &&
        is_library_function(python, function) &&
        py_read_u64(python, function, PY_FUNC_CLOSURE, &cells) == PSC_OK)
        take_tuple(waits, cells, true);
}

static void take_callback(struct waits *waits, psc_addr callback)
{
    struct python *python = waits->tasks->python;
    const struct py_type *type;
    psc_addr part;
    if (!budget_spend(python, 8) || py_type_of(python, callback, &type) != PSC_OK)
        return;
    if (type->kind == PY_KIND_METHOD) {
        if (py_read_u64(python, callback, PY_METHOD_SELF, &part) == PSC_OK)
            take_object(waits, part);
    } else if (type->kind == PY_KIND_FUNCTION) {
        take_function(waits, callback);
    } else if (type->address == waits->tasks->types.partial) {
        if (py_read_u64(python, callback, PY_PARTIAL_ARGS, &part) == PSC_OK)
            take_tuple(waits, part, false);
        if (py_read_u64(python, callback, PY_PARTIAL_FUNCTION, &part) == PSC_OK)
            take_function(waits, part);
    }
}

/*
 * Futures that very many tasks wait for have a callback of each: those behind the limit add
 * nothing, and looking at them all costs tasks times tasks.
 */
static bool visit_callback(void *context, psc_addr callback)
{
    struct waits *waits = context;
    if (waits->reached_count < REACH_LIMIT)
        take_callback(waits, callback);
    else
        waits->tasks->waits_cut = true;
    return waits->reached_count < REACH_LIMIT || !waits->tasks->waits_cut;
}

static void take_callbacks(struct waits *waits, psc_addr future)
{
    task_each_callback(waits->tasks, future, visit_callback, waits);
}

/* ---- what 3.14 notes down itself ---- */

/* A task waits; a future leads on to those that it was noted for. */
static enum psc_status add_noted(struct waits *waits, psc_addr waiting, size_t to)
{
    const struct waiter *found = SORTED_FIND(waits->addresses, future, waits->count, waiting);
    if (found)
        return add_edge(waits, found->task, to);
    if (budget_spend(waits->tasks->python, 8) && task_is_future(waits->tasks, waiting) &&
        !task_is_task(waits->tasks, waiting))
        reach(waits, waiting);
    return add_waiters(waits, waiting, to);
}

static enum psc_status add_awaited_by(struct waits *waits, psc_addr future, size_t to)
{
    struct python *python = waits->tasks->python;
    struct py_set_items items;
    psc_addr by = task_read_awaited_by(waits->tasks, future);
    if (!py_is_object_address(by))
        return PSC_OK;
    if (py_set_open(python, by, &items) != PSC_OK)
        return add_noted(waits, by, to);
    enum psc_status status = PSC_OK;
    while (status == PSC_OK && budget_spend(python, 1) &&
           py_set_next(python, &items, &by) == PSC_OK)
        status = add_noted(waits, by, to);
    return status;
}

/* Of a task, and of the futures that this leads to. */
static enum psc_status add_all_noted(struct waits *waits, size_t to)
{
    waits->reached_count = 0;
    enum psc_status status = add_awaited_by(waits, waits->items[to].address, to);
    for (size_t i = 0; status == PSC_OK && i < waits->reached_count; i++)
        status = add_awaited_by(waits, waits->reached[i], to);
    return status;
}

/* ---- all ---- */

static enum psc_status find_edges_to(struct waits *waits, size_t to)
{
    psc_addr task = waits->items[to].address;
    enum psc_status status = add_waiters(waits, task, to);
    waits->reached_count = 0;
    take_callbacks(waits, task);
    for (size_t i = 0; status == PSC_OK && i < waits->reached_count; i++) {
        status = add_waiters(waits, waits->reached[i], to);
        take_callbacks(waits, waits->reached[i]);
    }
    return status == PSC_OK ? add_all_noted(waits, to) : status;
}

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left;
    const struct edge *b = right;
    return a->from != b->from ? COMPARE(a->from, b->from) : COMPARE(a->to, b->to);
}

/* Sorted by the task that waits; one that does not wait has none. */
static enum psc_status give_edges(struct waits *waits, struct python_task *items, size_t first)
{
    struct arena *arena = waits->tasks->python->arena;
    if (waits->edge_count)
        qsort(waits->edges, waits->edge_count, sizeof(struct edge), compare_edges);
    for (size_t i = 0; i < waits->edge_count;) {
        struct python_task *task = &items[waits->edges[i].from];
        size_t end = i;
        while (end < waits->edge_count && waits->edges[end].from == waits->edges[i].from)
            end++;
        if (task->work == PYTHON_WORK_WAITING) {
            task->waits_for = arena_array(arena, end - i, sizeof(size_t));
            if (!task->waits_for)
                return PSC_ERR_MEMORY;
            for (size_t k = i; k < end; k++)
                if (k == i || waits->edges[k].to != waits->edges[k - 1].to)
                    task->waits_for[task->waits_for_count++] = first + waits->edges[k].to;
        }
        i = end;
    }
    return PSC_OK;
}

static void waits_deinit(struct waits *waits)
{
    free(waits->edges);
}

enum psc_status task_waits_find(struct py_tasks *tasks, struct python_task *items, size_t count,
                                size_t first)
{
    PSC_CLEANUP(cleanup_free) struct waiter *waiters = calloc(count, sizeof(*waiters));
    PSC_CLEANUP(cleanup_free) struct waiter *addresses = calloc(count, sizeof(*addresses));
    PSC_CLEANUP(waits_deinit)
    struct waits waits = {
        .tasks = tasks, .items = items, .count = count, .waiters = waiters, .addresses = addresses};
    if (!waiters || !addresses)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        addresses[i] = (struct waiter){items[i].address, i};
        if (items[i].future)
            waiters[waits.waiter_count++] = (struct waiter){items[i].future, i};
    }
    qsort(waiters, waits.waiter_count, sizeof(*waiters), compare_waiters);
    qsort(addresses, count, sizeof(*addresses), compare_waiters);
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        status = find_edges_to(&waits, i);
    if (status == PSC_OK)
        status = give_edges(&waits, items, first);
    return status;
}
