/* Reading, while a living process stands still, what will have moved when it is merged. */
#include "capture.h"

/* Frames whose place is looked up while the process waits; recursion has few distinct places. */
#define LOCATION_LIMIT ((size_t)100000)

/* Of the C stack above an evaluator that is being entered; the next one's CFrame lies there. */
#define SEARCHED_STACK ((psc_addr)64 * 1024)

static bool read_frame(struct python *python, const struct python_frame *frame, bool locals)
{
    struct python_location location;
    struct python_local *values;
    size_t count;
    if (python_read_location(python, frame, &location) == PSC_ERR_MEMORY)
        return false;
    return !locals || python_read_locals(python, frame, &values, &count) != PSC_ERR_MEMORY;
}

static void read_frames(struct python *python, const struct python_stack *stack, size_t locals)
{
    for (size_t i = 0; i < stack->count && i < LOCATION_LIMIT; i++)
        if (!read_frame(python, &stack->frames[i], i < locals))
            return;
}

static void read_thread(struct python *python, const struct python_thread *thread, size_t locals)
{
    struct python_stack stack = {0}, other = {0};
    struct python_exception *exceptions;
    size_t count;
    if (python_walk(python, thread, &stack) == PSC_OK)
        read_frames(python, &stack, locals);
    // Which of the two is right the native stack will tell.
    if (stack.partial_cframe &&
        python_walk_between(python, thread, stack.partial_cframe + 8,
                            stack.partial_cframe + SEARCHED_STACK, &other) == PSC_OK)
        read_frames(python, &other, locals);
    python_stack_deinit(&other);
    python_stack_deinit(&stack);
    // What was not readable now is not later either: the merge says so.
    if (python_read_exceptions(python, thread, &exceptions, &count) != PSC_OK)
        return;
}

static void read_tasks(struct python *python, const struct python_thread *threads, size_t count)
{
    struct python_task *tasks;
    size_t task_count;
    if (python_read_tasks(python, threads, count, &tasks, &task_count) != PSC_OK)
        return;
    for (size_t i = 0; i < task_count; i++)
        for (size_t k = 0; k < tasks[i].frame_count && k < LOCATION_LIMIT; k++)
            if (!read_frame(python, &tasks[i].frames[k], false))
                return;
    struct python_greenlet *greenlets;
    if (python_read_greenlets(python, threads, count, &greenlets, &task_count) != PSC_OK)
        return;
    for (size_t i = 0; i < task_count; i++)
        for (size_t k = 0; k < greenlets[i].frame_count && k < LOCATION_LIMIT; k++)
            if (!read_frame(python, &greenlets[i].frames[k], false))
                return;
}

void trace_rehearse(struct python *python, size_t locals, bool tasks)
{
    struct python_thread *threads;
    size_t count;
    if (python_list_threads(python, &threads, &count, NULL) != PSC_OK)
        return;
    for (size_t i = 0; i < count; i++)
        read_thread(python, &threads[i], locals);
    if (tasks)
        read_tasks(python, threads, count);
}
