/* What each task is doing: its name, its event loop's thread, the frames that it is suspended in.
 */
#include "tasks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_LIMIT   100000u
#define NAME_LIMIT    256u
#define RUNNING_LIMIT 64u /* Tasks whose frames are looked for on a thread. */

/* ---- frames ---- */

static bool add_frame(struct python_task *task, size_t *capacity, const struct python_frame *frame)
{
    void *frames = task->frames;
    if (!array_reserve(&frames, capacity, task->frame_count + 1, sizeof(*frame)))
        return false;
    task->frames = frames;
    task->frames[task->frame_count++] = *frame;
    return true;
}

/* The malloc'd frames, given to the arena; the innermost first. */
static enum psc_status keep_frames(struct python *python, struct python_task *task, bool reverse)
{
    struct python_frame *found = task->frames;
    size_t count = task->frame_count;
    task->frames = arena_array(python->arena, count ? count : 1, sizeof(*found));
    for (size_t i = 0; task->frames && i < count; i++)
        task->frames[i] = found[reverse ? count - 1 - i : i];
    free(found);
    if (!task->frames)
        task->frame_count = 0;
    return task->frames ? PSC_OK : PSC_ERR_MEMORY;
}

static const char *type_name(struct python *python, psc_addr object)
{
    const struct py_type *type;
    struct text text = {0};
    if (py_type_of(python, object, &type) != PSC_OK)
        return NULL;
    py_type_add_name(type, &text);
    const char *name = text.failed ? NULL : arena_strndup(python->arena, text.data, text.size);
    text_deinit(&text);
    return name;
}

/* The frames of a thread from its newest to that of the task's coroutine. */
static enum psc_status take_running_frames(struct py_tasks *tasks, struct python_task *task,
                                           const struct python_thread *thread, psc_addr coroutine,
                                           bool *ret_found)
{
    struct python_stack stack = {0};
    size_t capacity = 0;
    *ret_found = false;
    enum psc_status status = python_walk(tasks->python, thread, &stack);
    size_t at = 0;
    while (status == PSC_OK && at < stack.count && stack.frames[at].address != coroutine)
        at++;
    if (status == PSC_OK && at < stack.count) {
        *ret_found = true;
        task->thread_id = thread->thread_id;
        for (size_t i = 0; status == PSC_OK && i <= at; i++)
            if (stack.frames[i].kind == PYTHON_FRAME_CODE &&
                !add_frame(task, &capacity, &stack.frames[i]))
                status = PSC_ERR_MEMORY;
    }
    python_stack_deinit(&stack);
    return status;
}

static enum psc_status read_running(struct py_tasks *tasks, struct python_task *task,
                                    const struct py_generator *coroutine)
{
    enum psc_status status = PSC_OK;
    bool found = false;
    size_t capacity = 0;
    task->work = PYTHON_WORK_RUNNING;
    for (size_t i = 0; status == PSC_OK && !found && i < tasks->thread_count; i++) {
        const struct python_thread *thread = &tasks->threads[i];
        if (thread->interpreter != tasks->interpreter ||
            (task->thread_id && thread->thread_id != task->thread_id) ||
            tasks->running >= RUNNING_LIMIT)
            continue;
        tasks->running++;
        status = take_running_frames(tasks, task, thread, coroutine->frame.address, &found);
    }
    if (status == PSC_OK && !found) {
        task->frames_cut = true;
        status = add_frame(task, &capacity, &coroutine->frame) ? PSC_OK : PSC_ERR_MEMORY;
    }
    enum psc_status kept = keep_frames(tasks->python, task, false);
    return status == PSC_OK ? kept : status;
}

static enum python_work work_of(enum py_generator_state state)
{
    switch (state) {
    case PY_GENERATOR_CREATED:
        return PYTHON_WORK_CREATED;
    case PY_GENERATOR_UNKNOWN:
        return PYTHON_WORK_UNKNOWN;
    case PY_GENERATOR_SUSPENDED:
    case PY_GENERATOR_AWAITING:
    case PY_GENERATOR_RUNNING:
    case PY_GENERATOR_ENDED:
        break;
    }
    return PYTHON_WORK_WAITING;
}

/*
 * A step of an async generator that has not begun goes on where the generator stands; unless that
 * is in another step now.
 */
static enum psc_status read_new_step(struct py_tasks *tasks, struct python_task *task,
                                     psc_addr object)
{
    struct py_generator generator;
    size_t capacity = 0;
    task->work = PYTHON_WORK_CREATED;
    if (py_generator_read(tasks->python, object, &generator) != PSC_OK)
        task->frames_cut = true;
    else if ((generator.state == PY_GENERATOR_CREATED ||
              generator.state == PY_GENERATOR_SUSPENDED) &&
             !add_frame(task, &capacity, &generator.frame))
        return PSC_ERR_MEMORY;
    return keep_frames(tasks->python, task, false);
}

/* From the task's own coroutine along what each awaits. */
static enum psc_status read_chain(struct py_tasks *tasks, struct python_task *task,
                                  psc_addr coroutine)
{
    struct python *python = tasks->python;
    struct py_cycle cycle = {0};
    struct py_generator generator;
    size_t capacity = 0;
    bool begun;
    psc_addr object = py_awaited_begun(python, coroutine, &begun);
    bool first = true;
    if (!begun && py_is_generator(python, object))
        return read_new_step(tasks, task, object);
    while (object && py_is_generator(python, object)) {
        if (py_cycle_met(&cycle, object) || task->frame_count == FRAME_LIMIT ||
            !budget_spend(python, 1) || py_generator_read(python, object, &generator) != PSC_OK) {
            task->frames_cut = true;
            break;
        }
        if (first && generator.state == PY_GENERATOR_RUNNING)
            return read_running(tasks, task, &generator);
        if (first)
            task->work = work_of(generator.state);
        first = false;
        if (generator.state == PY_GENERATOR_ENDED)
            break;
        if (!add_frame(task, &capacity, &generator.frame)) {
            enum psc_status kept = keep_frames(python, task, true);
            return kept == PSC_OK ? PSC_ERR_MEMORY : kept;
        }
        object = generator.awaited ? py_awaited_target(python, generator.awaited) : 0;
    }
    /* A coroutine of another kind, as those of Cython, has its state elsewhere. */
    if (first || (object && !task->frames_cut && !task->awaits))
        task->awaits = type_name(python, first && !object ? coroutine : object);
    return keep_frames(python, task, true);
}

/* ---- the other facts ---- */

static const char *read_name(struct py_tasks *tasks, psc_addr task)
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
    if (!future || !task_is_future(tasks, future) || !task_is_pending(tasks, future)) {
        task->work = PYTHON_WORK_READY;
        task->awaits = NULL;
        return;
    }
    task->future = future;
    task->awaits = type_name(tasks->python, future);
}

static enum psc_status read_task(struct py_tasks *tasks, psc_addr address, struct python_task *ret)
{
    psc_addr coroutine;
    *ret = (struct python_task){.address = address, .interpreter_id = tasks->interpreter_id};
    ret->name = read_name(tasks, address);
    ret->thread_id = read_thread(tasks, address);
    if (task_read_part(tasks, address, PY_TASK_CORO, "_coro", &coroutine) != PSC_OK) {
        ret->frames_cut = true;
        return PSC_OK;
    }
    enum psc_status status = read_chain(tasks, ret, coroutine);
    if (status == PSC_OK)
        read_future(tasks, ret);
    return status;
}

/* ---- order ---- */

/* "Task-9" before "Task-10". */
static int compare_names(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
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

struct task_array {
    struct python_task *items;
    size_t count;
    size_t capacity;
};

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
        void *items = all->items;
        if (!task_is_pending(tasks, task))
            continue;
        if (!array_reserve(&items, &all->capacity, all->count + 1, sizeof(*all->items)))
            return PSC_ERR_MEMORY;
        all->items = items;
        status = read_task(tasks, task, &all->items[all->count]);
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
    }
    if (tasks.cut)
        target_warn(
            python->target, "tasks",
            "asyncio's tasks are not complete: a list of them could not be read to its end");
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
