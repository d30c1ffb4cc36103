/*
 * Who stands inside of what: `async with` keeps the bound __aexit__ of the object on the value
 * stack of the coroutine, from 3.14 on the function and behind it the object (Python/bytecodes.c,
 * BEFORE_ASYNC_WITH and LOAD_SPECIAL).
 */
#include "leaves.h"

#include <stdlib.h>
#include <string.h>

#define STACK_LIMIT 256u /* Values of one frame. */

/* An object that others wait to enter. */
struct wanted {
    psc_addr object; /* First: the key of the hash table. */
    size_t *tasks;   /* malloc'd: those that are inside. */
    size_t count;
    size_t capacity;
};

struct entered {
    struct leaves *leaves;
    struct python_leaf **found;
    struct hash_table wanted;
    size_t task; /* At hand. */
    bool failed;
};

static void entered_deinit(struct entered *entered)
{
    for (size_t i = 0; i < entered->wanted.count; i++)
        free(((struct wanted *)hash_table_at(&entered->wanted, i))->tasks);
    hash_table_deinit(&entered->wanted);
}

static bool is_held(const struct python_leaf *leaf)
{
    return leaf && leaf->address && !leaf->holder_count &&
           (leaf->kind == PYTHON_LEAF_LOCK || leaf->kind == PYTHON_LEAF_SEMAPHORE);
}

/* ---- what was entered ---- */

static void add_inside(struct entered *entered, psc_addr object)
{
    struct wanted *wanted = hash_table_find(&entered->wanted, object);
    if (!wanted)
        return;
    void *tasks = wanted->tasks;
    if (!array_reserve(&tasks, &wanted->capacity, wanted->count + 1, sizeof(size_t))) {
        entered->failed = true;
        return;
    }
    wanted->tasks = tasks;
    wanted->tasks[wanted->count++] = entered->task;
}

/* asyncio/timeouts.py, and the package async_timeout: when they end what stands inside of them. */
static void take_timeout(struct entered *entered, psc_addr object, const struct py_type *type)
{
    static const char *const names[] = {"_when", "_deadline"};
    struct python_leaf *leaf = entered->found[entered->task];
    double deadline;
    if (!leaf || strcmp(py_type_short_name(type), "Timeout") != 0 || !type->module ||
        (strcmp(type->module, "asyncio.timeouts") != 0 &&
         strncmp(type->module, "async_timeout", strlen("async_timeout")) != 0))
        return;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (leaf_part_number(entered->leaves->python, object, names[i], &deadline))
            leaf_set_deadline(leaf, deadline);
    leaf->cancels |= leaf->timed;
}

static void take_object(struct entered *entered, psc_addr object)
{
    struct python *python = entered->leaves->python;
    const struct py_type *type;
    psc_addr lock;
    if (py_type_of(python, object, &type) != PSC_OK)
        return;
    add_inside(entered, object);
    /* Condition has a lock of its own or of others. */
    if (leaf_part(python, object, "_lock", &lock))
        add_inside(entered, lock);
    take_timeout(entered, object, type);
}

/* By its own name, since functools.wraps() gives a decorated one that of what it wraps: trio before
 * 0.30 wraps all methods of its semaphores (trio/_core/_ki.py). */
static bool is_exit(struct python *python, psc_addr function)
{
    psc_addr name;
    return py_read_u64(python, function, PY_FUNC_NAME, &name) == PSC_OK &&
           (py_string_equals(python, name, "__aexit__") ||
            py_string_equals(python, name, "__exit__"));
}

static void take_frame(struct entered *entered, const struct python_frame *frame)
{
    struct python *python = entered->leaves->python;
    psc_addr at;
    psc_addr top;
    psc_addr value;
    bool follows = false; /* What comes is the object of a function. */
    if (frame->compiled || !py_value_stack_find(python, frame->address, &at, &top))
        return;
    for (size_t i = 0; at < top && i < STACK_LIMIT && budget_spend(python, 4); i++, at += 8) {
        const struct py_type *type;
        psc_addr function;
        if (target_read_u64(python->target, at, &value) != PSC_OK)
            return;
        value = py_untag(python, value);
        if (!py_is_object_address(value) || py_type_of(python, value, &type) != PSC_OK) {
            follows = false;
            continue;
        }
        if (follows)
            take_object(entered, value);
        follows = type->kind == PY_KIND_FUNCTION && is_exit(python, value);
        if (type->kind == PY_KIND_METHOD &&
            py_read_u64(python, value, PY_METHOD_FUNC, &function) == PSC_OK &&
            is_exit(python, function) &&
            py_read_u64(python, value, PY_METHOD_SELF, &value) == PSC_OK)
            take_object(entered, value);
    }
}

/* ---- all tasks ---- */

static bool has_waiters(const struct entered *entered)
{
    for (size_t i = 0; i < entered->leaves->count; i++)
        if (entered->found[i])
            return true;
    return false;
}

static enum psc_status want(struct entered *entered)
{
    for (size_t i = 0; i < entered->leaves->count; i++) {
        const struct python_leaf *leaf = entered->found[i];
        if (is_held(leaf) && !hash_table_find(&entered->wanted, leaf->address) &&
            !hash_table_add(&entered->wanted, leaf->address))
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

static void look_at_tasks(struct entered *entered)
{
    const struct leaves *leaves = entered->leaves;
    for (size_t i = 0; i < leaves->count; i++) {
        const struct python_task *task = &leaves->items[i];
        entered->task = i;
        for (size_t k = 0; k < task->frame_count && budget_spend(leaves->python, 8); k++)
            take_frame(entered, &task->frames[k]);
    }
}

/*
 * One that is still entering has the object on its stack, too: its way leads through __aenter__, or
 * through Condition.wait(), which gives the lock back and then acquires it again.
 */
static bool is_entering(const struct leaves *leaves, size_t index)
{
    const struct python_task *task = &leaves->items[index];
    for (size_t i = 0; i < task->frame_count; i++) {
        const struct py_code *code = code_find_named(leaves->python, task->frames[i].code);
        if (!code)
            return false;
        if (!strcmp(code->name, "__aenter__") || code_is(code, "asyncio/locks.py", "wait"))
            return true;
        // Within acquire() of trio and curio their queues and traps follow.
        if (strcmp(code->name, "acquire") != 0 && !strstr(code->file, "/curio/") &&
            !strstr(code->file, "/trio/"))
            return false;
    }
    return false;
}

/* A task that waits to enter, or for the condition whose lock it has given back. */
static bool is_outside(const struct leaves *leaves, size_t task, const struct python_leaf *leaf,
                       psc_addr object)
{
    psc_addr lock;
    if (!leaf)
        return false;
    if (leaf->kind == PYTHON_LEAF_CONDITION)
        return leaf_part(leaves->python, leaf->address, "_lock", &lock) && lock == object;
    return leaf->address == object && is_entering(leaves, task);
}

/* The tasks inside, each once and rising, without one entry of those that wait to enter. */
static enum psc_status give_holders(struct entered *entered, const struct wanted *wanted,
                                    struct python_leaf *leaf)
{
    const struct leaves *leaves = entered->leaves;
    size_t *holders = arena_array(leaves->python->arena, wanted->count + 1, sizeof(*holders));
    size_t count = 0;
    if (!holders)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < wanted->count;) {
        size_t task = wanted->tasks[i];
        size_t times = 0;
        for (; i < wanted->count && wanted->tasks[i] == task; i++)
            times++;
        if (times > is_outside(leaves, task, entered->found[task], wanted->object))
            holders[count++] = task;
    }
    leaf->holders = holders;
    leaf->holder_count = count;
    if (count)
        leaf->known_by = "the tasks that stand inside of `async with` of it";
    return PSC_OK;
}

static enum psc_status give_all(struct entered *entered)
{
    for (size_t i = 0; i < entered->leaves->count; i++) {
        struct python_leaf *leaf = entered->found[i];
        const struct wanted *wanted =
            is_held(leaf) ? hash_table_find(&entered->wanted, leaf->address) : NULL;
        if (!wanted)
            continue;
        enum psc_status status = give_holders(entered, wanted, leaf);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}

enum psc_status leaf_find_entered(struct leaves *leaves, struct python_leaf **found)
{
    PSC_CLEANUP(entered_deinit)
    struct entered entered = {
        .leaves = leaves, .found = found, .wanted = HASH_TABLE_OF(struct wanted)};
    if (!has_waiters(&entered))
        return PSC_OK;
    enum psc_status status = want(&entered);
    if (status != PSC_OK)
        return status;
    look_at_tasks(&entered);
    return entered.failed ? PSC_ERR_MEMORY : give_all(&entered);
}
