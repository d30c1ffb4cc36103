/* The frames that a task is suspended in, or those of its thread that it runs. */
#include "tasks.h"

#include <stdlib.h>

#define FRAME_LIMIT   100000u
#define RUNNING_LIMIT 64u /* Tasks whose frames are looked for on a thread. */

struct python_task *task_array_next(struct task_array *array)
{
    void *items = array->items;
    if (!array_reserve(&items, &array->capacity, array->count + 1, sizeof(*array->items)))
        return NULL;
    array->items = items;
    return &array->items[array->count];
}

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

const char *task_type_name(struct python *python, psc_addr object)
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

/* Chains of many tasks may have their inner part in common. */
static bool is_full(struct python *python, const struct python_task *task)
{
    return ++python->frame_count > PSC_PYTHON_FRAME_TOTAL &&
           task->frame_count >= PSC_PYTHON_FRAME_LEAST;
}

enum psc_status task_read_chain(struct py_tasks *tasks, struct python_task *task,
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
            is_full(python, task) || !budget_spend(python, 1) ||
            py_generator_read(python, object, &generator) != PSC_OK) {
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
        task->awaits = task_type_name(python, first && !object ? coroutine : object);
    return keep_frames(python, task, true);
}
