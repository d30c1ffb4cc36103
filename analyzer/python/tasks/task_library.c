/*
 * The tasks of trio and curio. Both keep them where only their own code finds the way (thread-local
 * data, a variable of a function), so that they are looked for among all objects.
 */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT 256u

/* A library, and what its class of tasks calls their parts (trio/_core/_run.py; curio/task.py). */
struct library {
    enum python_task_library library;
    const char *name;
    const char *module;
};

static const struct library libraries[] = {
    {PYTHON_TASK_TRIO, "trio", "trio._core._run"},
    {PYTHON_TASK_CURIO, "curio", "curio.task"},
};

/* A task by what others know it by: its address, or curio's number of it. */
struct known_task {
    uint64_t key; /* First: that of the hash table. */
    size_t index;
};

struct library_search {
    struct py_tasks *tasks;
    const struct library *library;
    psc_addr type;
    struct hash_table objects; /* psc_addr */
    enum psc_status status;
};

static bool is_none(struct python *python, psc_addr object)
{
    const struct py_type *type;
    return py_type_of(python, object, &type) == PSC_OK && type->kind == PY_KIND_NONE;
}

static bool visit(void *context, psc_addr object)
{
    struct library_search *search = context;
    struct py_tasks *tasks = search->tasks;
    psc_addr type;
    if (py_read_u64(tasks->python, object, PY_OBJECT_TYPE, &type) != PSC_OK || type != search->type)
        return true;
    if (search->objects.count >= PSC_PYTHON_TASK_LIMIT)
        tasks->cut = true;
    else if (!hash_table_add(&search->objects, object))
        search->status = PSC_ERR_MEMORY;
    return search->status == PSC_OK && !tasks->cut;
}

/* ---- one task ---- */

static void read_name(struct python *python, struct python_task *task)
{
    psc_addr name;
    if (!py_part_find(python, task->address, "name", &name) ||
        !py_has_flags(python, name, PY_FLAG_STR) ||
        py_read_string(python, name, NAME_LIMIT, &task->name) != PSC_OK)
        task->name = NULL;
}

/* Of one that has begun and does not run. */
static void read_work(struct python *python, struct python_task *task)
{
    psc_addr part;
    const char *state;
    task->awaits = NULL;
    switch (task->library) {
    case PYTHON_TASK_ASYNCIO:
        break;
    case PYTHON_TASK_TRIO:
        /* A task that will go on has a function that resumes it. */
        if (py_part_find(python, task->address, "_next_send_fn", &part) && !is_none(python, part))
            task->work = PYTHON_WORK_READY;
        break;
    case PYTHON_TASK_CURIO:
        if (!py_part_find(python, task->address, "state", &part) ||
            !py_has_flags(python, part, PY_FLAG_STR) ||
            py_read_string(python, part, NAME_LIMIT, &state) != PSC_OK)
            break;
        if (!strcmp(state, "READY") || !strcmp(state, "RUNNING"))
            task->work = PYTHON_WORK_READY;
        else
            task->awaits = state;
        break;
    }
}

static bool has_ended(const struct python_task *task)
{
    return task->work == PYTHON_WORK_WAITING && !task->frame_count && !task->frames_cut &&
           !task->awaits;
}

static enum psc_status add_task(const struct library_search *search, psc_addr object,
                                struct task_array *all)
{
    struct py_tasks *tasks = search->tasks;
    psc_addr coroutine;
    struct python_task *task = task_array_next(all);
    if (!task)
        return PSC_ERR_MEMORY;
    *task = (struct python_task){.address = object,
                                 .interpreter_id = tasks->interpreter_id,
                                 .library = search->library->library};
    if (!budget_spend(tasks->python, 8) || !py_part_find(tasks->python, object, "coro", &coroutine))
        return PSC_OK;
    enum psc_status status = task_read_chain(tasks, task, coroutine);
    if (status != PSC_OK || has_ended(task))
        return status;
    read_name(tasks->python, task);
    if (task->work == PYTHON_WORK_WAITING)
        read_work(tasks->python, task);
    all->count++;
    return PSC_OK;
}

/* ---- which is in whose nursery, or was spawned by whom ---- */

static uint64_t read_number(struct python *python, psc_addr object, const char *name)
{
    psc_addr part;
    uint64_t number;
    return py_part_find(python, object, name, &part) && py_read_int(python, part, &number) == PSC_OK
               ? number
               : 0;
}

/* By `ret_parent` the parent is known; 0: it has none. */
static uint64_t read_key(struct python *python, const struct python_task *task,
                         uint64_t *ret_parent)
{
    psc_addr nursery;
    psc_addr parent;
    *ret_parent = 0;
    if (task->library == PYTHON_TASK_CURIO) {
        *ret_parent = read_number(python, task->address, "parentid");
        return read_number(python, task->address, "id");
    }
    if (py_part_find(python, task->address, "_parent_nursery", &nursery) &&
        py_part_find(python, nursery, "_parent_task", &parent))
        *ret_parent = parent;
    return task->address;
}

/* In which order they were spawned. */
static uint64_t read_order(struct python *python, const struct python_task *task)
{
    return read_number(python, task->address,
                       task->library == PYTHON_TASK_CURIO ? "id" : "_counter");
}

struct ordered_task {
    uint64_t order;
    struct python_task task;
};

static int compare_ordered(const void *left, const void *right)
{
    const struct ordered_task *a = left;
    const struct ordered_task *b = right;
    return a->order != b->order ? COMPARE(a->order, b->order)
                                : COMPARE(a->task.address, b->task.address);
}

static enum psc_status sort_tasks(struct python *python, struct python_task *items, size_t count)
{
    PSC_CLEANUP(cleanup_free) struct ordered_task *ordered = calloc(count, sizeof(*ordered));
    if (!ordered)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        ordered[i] = (struct ordered_task){read_order(python, &items[i]), items[i]};
    qsort(ordered, count, sizeof(*ordered), compare_ordered);
    for (size_t i = 0; i < count; i++)
        items[i] = ordered[i].task;
    return PSC_OK;
}

/* `parents` has the index of each one's parent, or SIZE_MAX. */
static enum psc_status give_children(struct python *python, struct python_task *items, size_t count,
                                     const size_t *parents, size_t first)
{
    for (size_t i = 0; i < count; i++)
        if (parents[i] != SIZE_MAX)
            items[parents[i]].children_count++;
    for (size_t i = 0; i < count; i++) {
        if (!items[i].children_count)
            continue;
        items[i].children = arena_array(python->arena, items[i].children_count, sizeof(size_t));
        if (!items[i].children)
            return PSC_ERR_MEMORY;
        items[i].children_count = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (parents[i] != SIZE_MAX) {
            struct python_task *parent = &items[parents[i]];
            parent->children[parent->children_count++] = first + i;
        }
    return PSC_OK;
}

static enum psc_status find_children(struct python *python, struct python_task *items, size_t count,
                                     size_t first)
{
    PSC_CLEANUP(cleanup_free) uint64_t *keys = calloc(count, sizeof(*keys));
    PSC_CLEANUP(cleanup_free) size_t *parents = calloc(count, sizeof(*parents));
    PSC_CLEANUP(hash_table_deinit) struct hash_table known = HASH_TABLE_OF(struct known_task);
    if (!keys || !parents)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = read_key(python, &items[i], &keys[i]);
        struct known_task *task = hash_table_find(&known, key) ? NULL : hash_table_add(&known, key);
        if (task)
            task->index = i;
    }
    for (size_t i = 0; i < count; i++) {
        const struct known_task *task = keys[i] ? hash_table_find(&known, keys[i]) : NULL;
        parents[i] = task && task->index != i ? task->index : SIZE_MAX;
    }
    return give_children(python, items, count, parents, first);
}

/* ---- all ---- */

static enum psc_status add_library(struct library_search *search, struct task_array *all)
{
    struct python *python = search->tasks->python;
    size_t first = all->count;
    enum psc_status status = py_each_object(python, search->tasks->interpreter, visit, search);
    if (status != PSC_OK)
        target_warn(python->target, "tasks", "%s's tasks are not %s", search->library->name,
                    status == PSC_ERR_UNSUPPORTED
                        ? "shown: this interpreter keeps no lists of its objects"
                        : "complete: the collector's lists of objects could not be read to their "
                          "end");
    status = search->status;
    for (size_t i = 0; status == PSC_OK && i < search->objects.count; i++)
        status = add_task(search, *(const psc_addr *)hash_table_at(&search->objects, i), all);
    size_t count = all->count - first;
    if (status == PSC_OK && count)
        status = sort_tasks(python, all->items + first, count);
    return status == PSC_OK && count ? find_children(python, all->items + first, count, first)
                                     : status;
}

enum psc_status task_libraries_add(struct py_tasks *tasks, struct task_array *all)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < PSC_ARRAY_SIZE(libraries); i++) {
        struct library_search search = {
            .tasks = tasks, .library = &libraries[i], .objects = HASH_TABLE_OF(psc_addr)};
        if (py_module_find(tasks->python, tasks->interpreter, libraries[i].module, "Task",
                           &search.type) == PSC_OK)
            status = add_library(&search, all);
        hash_table_deinit(&search.objects);
    }
    return status;
}
