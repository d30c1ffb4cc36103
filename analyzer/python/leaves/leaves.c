/* Each task that waits, with what it waits for. */
#include "leaves.h"

#include <stdlib.h>

static enum psc_status know_tasks(struct leaves *leaves)
{
    leaves->addresses = HASH_TABLE_OF(struct known_task);
    for (size_t i = 0; i < leaves->count; i++) {
        psc_addr address = leaves->items[i].address;
        if (hash_table_find(&leaves->addresses, address))
            continue;
        struct known_task *known = hash_table_add(&leaves->addresses, address);
        if (!known)
            return PSC_ERR_MEMORY;
        known->index = i;
    }
    return PSC_OK;
}

/* The types of asyncio are those of the interpreter that has the task. */
static void use_interpreter(struct leaves *leaves, const struct python_leaves *given, int64_t id)
{
    if (leaves->tasks.python && leaves->tasks.interpreter_id == id)
        return;
    leaves->tasks = (struct py_tasks){.python = leaves->python, .interpreter_id = id};
    for (size_t i = 0; i < given->thread_count; i++)
        if (given->threads[i].interpreter_id == id) {
            leaves->tasks.interpreter = given->threads[i].interpreter;
            task_find_types(&leaves->tasks);
            return;
        }
}

static bool find_leaf(struct leaf_search *search)
{
    switch (search->task->library) {
    case PYTHON_TASK_TRIO:
        return leaf_of_trio(search);
    case PYTHON_TASK_CURIO:
        return leaf_of_curio(search);
    case PYTHON_TASK_ASYNCIO:
        break;
    }
    return leaf_of_asyncio(search);
}

static enum psc_status find_leaves(struct leaves *leaves, const struct python_leaves *given,
                                   struct python_leaf **found)
{
    for (size_t i = 0; i < leaves->count; i++) {
        const struct python_task *task = &leaves->items[i];
        if (task->work != PYTHON_WORK_WAITING || !budget_spend(leaves->python, 64))
            continue;
        use_interpreter(leaves, given, task->interpreter_id);
        struct python_leaf *leaf = arena_alloc(leaves->python->arena, sizeof(*leaf));
        if (!leaf)
            return PSC_ERR_MEMORY;
        leaf->fd = -1;
        struct leaf_search search = {.leaves = leaves, .task = task, .leaf = leaf};
        if (find_leaf(&search))
            found[i] = leaf;
    }
    return arena_is_exhausted(leaves->python->arena) ? PSC_ERR_MEMORY : PSC_OK;
}

/* What is cancelled passes it on to the tasks that it waits for. */
static enum psc_status pass_timers_on(const struct leaves *leaves, struct python_leaf **found)
{
    size_t count = leaves->count;
    PSC_CLEANUP(cleanup_free) size_t *queue = calloc(count ? count : 1, sizeof(*queue));
    PSC_CLEANUP(cleanup_free) bool *queued = calloc(count ? count : 1, sizeof(*queued));
    size_t end = 0;
    if (!queue || !queued)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (found[i] && found[i]->cancels) {
            queued[i] = true;
            queue[end++] = i;
        }
    for (size_t next = 0; next < end; next++) {
        const struct python_task *task = &leaves->items[queue[next]];
        for (size_t k = 0; k < task->waits_for_count; k++) {
            size_t other = task->waits_for[k];
            if (queued[other] || !found[other])
                continue;
            leaf_set_deadline(found[other], found[queue[next]]->deadline);
            queued[other] = true;
            queue[end++] = other;
        }
    }
    return PSC_OK;
}

static void leaves_deinit(struct leaves *leaves)
{
    hash_table_deinit(&leaves->addresses);
}

enum psc_status python_read_leaves(struct python *python, const struct python_leaves *given)
{
    PSC_CLEANUP(leaves_deinit)
    struct leaves leaves = {.python = python,
                            .items = given->tasks,
                            .count = given->task_count,
                            .works = given->works,
                            .work_count = given->work_count};
    PSC_CLEANUP(cleanup_free)
    struct python_leaf **found =
        calloc(leaves.count ? leaves.count : 1, sizeof(struct python_leaf *));
    if (!found)
        return PSC_ERR_MEMORY;
    enum psc_status status = know_tasks(&leaves);
    if (status == PSC_OK)
        status = find_leaves(&leaves, given, found);
    if (status == PSC_OK)
        status = leaf_find_entered(&leaves, found);
    if (status == PSC_OK)
        status = pass_timers_on(&leaves, found);
    for (size_t i = 0; status == PSC_OK && i < leaves.count; i++)
        leaves.items[i].leaf = found[i];
    return status;
}
