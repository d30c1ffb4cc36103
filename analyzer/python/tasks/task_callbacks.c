/* The functions that are called when a future is done. */
#include "tasks.h"

#define CALLBACK_LIMIT 4096u /* Of one future. */

/* 3.7 puts each in a tuple with its context. */
static psc_addr callback_of(struct python *python, psc_addr entry)
{
    psc_addr items;
    size_t count;
    if (py_read_tuple(python, entry, &count, &items) == PSC_OK &&
        (!count || target_read_u64(python->target, items, &entry) != PSC_OK))
        return 0;
    return entry;
}

void task_each_in_list(struct python *python, psc_addr list, task_callback_visit *visit,
                       void *context)
{
    psc_addr callback;
    psc_addr items;
    uint64_t count;
    if (!list || !py_has_flags(python, list, PY_FLAG_LIST) ||
        py_read_u64(python, list, PY_VAR_SIZE, &count) != PSC_OK ||
        py_read_u64(python, list, PY_LIST_ITEMS, &items) != PSC_OK)
        return;
    bool goes_on = true;
    for (uint64_t i = 0; goes_on && i < count && i < CALLBACK_LIMIT; i++)
        if (target_read_u64(python->target, items + 8 * i, &callback) == PSC_OK &&
            (callback = callback_of(python, callback)))
            goes_on = visit(context, callback);
}

void task_each_callback(struct py_tasks *tasks, psc_addr future, task_callback_visit *visit,
                        void *context)
{
    psc_addr found;
    if (task_read_part(tasks, future, PY_FUTURE_CALLBACK, "", &found) == PSC_OK && found &&
        !visit(context, found))
        return;
    if (task_read_part(tasks, future, PY_FUTURE_CALLBACKS, "_callbacks", &found) == PSC_OK)
        task_each_in_list(tasks->python, found, visit, context);
}
