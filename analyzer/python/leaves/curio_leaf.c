/*
 * What a task of curio waits for (curio 1.0 to 1.6: curio/kernel.py notes it as a word in the task;
 * curio/task.py, sync.py and queue.py).
 */
#include "leaves.h"

#include <string.h>

#define FILE_PART "/curio/"

struct state {
    const char *name; /* How the word begins. */
    enum python_leaf_kind kind;
};

static const struct state states[] = {
    {"TIME_SLEEP", PYTHON_LEAF_TIMER},       {"READ_WAIT", PYTHON_LEAF_DESCRIPTOR},
    {"WRITE_WAIT", PYTHON_LEAF_DESCRIPTOR},  {"FUTURE_WAIT", PYTHON_LEAF_EXECUTOR},
    {"TASK_JOIN", PYTHON_LEAF_TASKS},        {"TASK_GROUP", PYTHON_LEAF_TASKS},
    {"LOCK_ACQUIRE", PYTHON_LEAF_LOCK},      {"RLOCK_ACQUIRE", PYTHON_LEAF_LOCK},
    {"SEMA_ACQUIRE", PYTHON_LEAF_SEMAPHORE}, {"COND_WAIT", PYTHON_LEAF_CONDITION},
    {"EVENT_WAIT", PYTHON_LEAF_EVENT},       {"QUEUE_", PYTHON_LEAF_QUEUE},
};

static bool find_kind(struct leaf_search *search)
{
    const char *awaits = search->task->awaits;
    search->leaf->known_by = "the state that curio keeps in the task";
    search->leaf->kind = PYTHON_LEAF_FUTURE;
    for (size_t i = 0; awaits && i < PSC_ARRAY_SIZE(states); i++)
        if (!strncmp(awaits, states[i].name, strlen(states[i].name))) {
            search->leaf->kind = states[i].kind;
            return true;
        }
    return awaits != NULL;
}

/* The outermost function of curio, of those that call one another, whose `self` it waits for. */
static psc_addr find_subject(struct leaf_search *search)
{
    struct python *python = search->leaves->python;
    psc_addr found = 0;
    for (size_t i = 0; i < search->task->frame_count; i++) {
        const struct python_frame *frame = &search->task->frames[i];
        const struct py_code *code = code_find_named(python, frame->code);
        if (!code || !strstr(code->file, FILE_PART))
            break;
        psc_addr subject = frame->compiled ? 0 : py_frame_variable(python, frame, "self");
        if (subject)
            found = subject;
    }
    return found;
}

/* The kernel wakes a task at either time; both are of time.monotonic(). */
static void take_deadlines(struct leaf_search *search)
{
    static const char *const names[] = {"sleep", "timeout"};
    double deadline;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (leaf_part_number(search->leaves->python, search->task->address, names[i], &deadline))
            leaf_set_deadline(search->leaf, deadline);
}

bool leaf_of_curio(struct leaf_search *search)
{
    struct python *python = search->leaves->python;
    struct python_leaf *leaf = search->leaf;
    if (!find_kind(search))
        return false;
    take_deadlines(search);
    psc_addr subject = leaf->kind == PYTHON_LEAF_TIMER ? 0 : find_subject(search);
    if (!subject)
        return true;
    leaf->address = subject;
    leaf->object = task_type_name(python, subject);
    psc_addr owner = 0;
    bool has_owner = leaf->kind == PYTHON_LEAF_LOCK && leaf_part(python, subject, "_owner", &owner);
    size_t holder = leaf->kind == PYTHON_LEAF_TASKS ? leaf_find_task(search->leaves, subject)
                    : has_owner                     ? leaf_find_task(search->leaves, owner)
                                                    : SIZE_MAX;
    return holder == SIZE_MAX || leaf_set_holder(search, holder, true);
}
