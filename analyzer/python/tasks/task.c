/* What each task is doing: its name, its event loop's thread, what it waits for. */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT 256u
/* Bytes that are compared where tasks are sorted: very many may have names that begin alike. */
#define NAME_ORDER_LIMIT 64u

/* ---- one task ---- */

const char *task_read_name(struct py_tasks *tasks, psc_addr task)
{
    struct python *python = tasks->python;
    psc_addr name;
    uint64_t number;
    const char *text = NULL;
    if (task_read_part(tasks, task, PY_TASK_NAME, "_name", &name) != PSC_OK)
        return NULL;
    /* CPython 3.12: a number until somebody asks for the name. */
    if (py_read_int(python, name, &number) == PSC_OK)
        return arena_printf(python->arena, "Task-%llu", (unsigned long long)number);
    if (!py_has_flags(python, name, PY_FLAG_STR) ||
        py_read_string(python, name, NAME_LIMIT, &text) != PSC_OK)
        return NULL;
    return text;
}

/* BaseEventLoop._thread_id is set while a thread runs the loop. */
static uint64_t read_thread(struct py_tasks *tasks, psc_addr task)
{
    psc_addr loop;
    psc_addr ident;
    uint64_t thread_id;
    if (task_read_part(tasks, task, PY_FUTURE_LOOP, "_loop", &loop) != PSC_OK)
        return 0;
    if (loop != tasks->loop) {
        tasks->loop = loop;
        tasks->loop_thread =
            py_attribute_find(tasks->python, loop, "_thread_id", &ident) == PSC_OK &&
                    py_read_int(tasks->python, ident, &thread_id) == PSC_OK
                ? thread_id
                : 0;
    }
    return tasks->loop_thread;
}

static void read_future(struct py_tasks *tasks, struct python_task *task)
{
    psc_addr future;
    if (task->work != PYTHON_WORK_WAITING)
        return;
    if (task_read_part(tasks, task->address, PY_TASK_WAITER, "_fut_waiter", &future) != PSC_OK) {
        task->work = PYTHON_WORK_UNKNOWN;
        return;
    }
    psc_addr type;
    uint64_t flags;
    if (future && py_read_type(tasks->python, future, &type, &flags) != PSC_OK) {
        task->work = PYTHON_WORK_UNKNOWN;
        return;
    }
    if (!future || !task_is_future(tasks, future) || !task_is_pending(tasks, future)) {
        task->work = PYTHON_WORK_READY;
        task->awaits = NULL;
        return;
    }
    task->future = future;
    task->awaits = task_type_name(tasks->python, future);
}

static enum psc_status read_task(struct py_tasks *tasks, psc_addr address, struct python_task *ret)
{
    psc_addr coroutine;
    *ret = (struct python_task){.address = address, .interpreter_id = tasks->interpreter_id};
    ret->name = task_read_name(tasks, address);
    ret->thread_id = read_thread(tasks, address);
    if (task_read_part(tasks, address, PY_TASK_CORO, "_coro", &coroutine) != PSC_OK) {
        ret->frames_cut = true;
        return PSC_OK;
    }
    enum psc_status status = task_read_chain(tasks, ret, coroutine);
    if (status == PSC_OK)
        read_future(tasks, ret);
    return status;
}

/* ---- order ---- */

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* "Task-9" before "Task-10". */
static int compare_names(const char *a, const char *b)
{
    size_t same = 0;
    while (same < NAME_ORDER_LIMIT && a[same] && a[same] == b[same])
        same++;
    if (same == NAME_ORDER_LIMIT)
        return 0;
    while (same && is_digit(a[same - 1]))
        same--;
    a += same;
    b += same;
    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            char *end_a;
            char *end_b;
            unsigned long long x = strtoull(a, &end_a, 10);
            unsigned long long y = strtoull(b, &end_b, 10);
            if (x != y)
                return x < y ? -1 : 1;
            a = end_a;
            b = end_b;
            continue;
        }
        if (*a != *b)
            break;
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static int compare_tasks(const void *left, const void *right)
{
    const struct python_task *a = left;
    const struct python_task *b = right;
    if (a->thread_id != b->thread_id)
        return a->thread_id < b->thread_id ? -1 : 1;
    if (a->name && b->name) {
        int order = compare_names(a->name, b->name);
        if (order)
            return order;
    } else if (!a->name != !b->name) {
        return a->name ? -1 : 1;
    }
    return a->address < b->address ? -1 : a->address > b->address;
}

/* ---- all ---- */

static void task_array_deinit(struct task_array *array)
{
    free(array->items);
}

static enum psc_status read_interpreter(struct py_tasks *tasks, struct task_array *all)
{
    size_t first = all->count;
    enum psc_status status = task_list_find(tasks);
    for (size_t i = 0; status == PSC_OK && i < tasks->found.count; i++) {
        psc_addr task = *(const psc_addr *)hash_table_at(&tasks->found, i);
        if (!task_is_pending(tasks, task))
            continue;
        struct python_task *next = task_array_next(all);
        if (!next)
            return PSC_ERR_MEMORY;
        status = read_task(tasks, task, next);
        all->count += status == PSC_OK;
    }
    size_t count = all->count - first;
    if (status != PSC_OK || !count)
        return status;
    qsort(all->items + first, count, sizeof(*all->items), compare_tasks);
    return task_waits_find(tasks, all->items + first, count, first);
}

enum psc_status python_read_tasks(struct python *python, const struct python_thread *threads,
                                  size_t thread_count, struct python_task **ret, size_t *ret_count)
{
    struct py_tasks tasks = {.python = python,
                             .threads = threads,
                             .thread_count = thread_count,
                             .found = HASH_TABLE_OF(psc_addr)};
    PSC_CLEANUP(task_array_deinit) struct task_array all = {0};
    enum psc_status status = PSC_OK;
    /* Threads of one interpreter stand together. */
    for (size_t i = 0; status == PSC_OK && i < thread_count; i++) {
        if (i && threads[i].interpreter == threads[i - 1].interpreter)
            continue;
        tasks.interpreter = threads[i].interpreter;
        tasks.interpreter_id = threads[i].interpreter_id;
        tasks.loop = 0;
        tasks.loop_thread = 0;
        status = read_interpreter(&tasks, &all);
        hash_table_deinit(&tasks.found);
        if (status == PSC_OK)
            status = task_libraries_add(&tasks, &all);
    }
    if (tasks.cut)
        target_warn(
            python->target, "tasks",
            "asyncio's tasks are not complete: a list of them could not be read to its end");
    if (tasks.waits_cut)
        target_warn(python->target, "tasks-waits",
                    "not all of what tasks wait for is shown: a task is waited for by more than "
                    "are looked at");
    struct python_task *items =
        status == PSC_OK ? arena_array(python->arena, all.count ? all.count : 1, sizeof(*items))
                         : NULL;
    if (items && all.count)
        memcpy(items, all.items, all.count * sizeof(*items));
    if (status != PSC_OK || !items)
        return status == PSC_OK ? PSC_ERR_MEMORY : status;
    *ret = items;
    *ret_count = all.count;
    return PSC_OK;
}
