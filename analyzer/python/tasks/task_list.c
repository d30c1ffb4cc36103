#include "tasks.h"

#include <stdlib.h>
#include <string.h>

#define SECTION_NAME ".AsyncioDebug"
#define NODE_LIMIT   (2 * (size_t)PSC_PYTHON_TASK_LIMIT)

/* ---- the section ---- */

/* _asyncio is an extension module, or built into the interpreter. */
static bool may_have_section(const struct python *python, const struct module *module)
{
    return module == python->info.module || module->is_executable_file ||
           !strncmp(module->name, "_asyncio", strlen("_asyncio")) ||
           strstr(module->name, "libpython");
}

static void find_section(struct py_tasks *tasks)
{
    struct python *python = tasks->python;
    size_t count = modules_count(python->modules);
    for (size_t i = 0; i < count && !tasks->described; i++) {
        struct module *module = modules_get(python->modules, i);
        uint8_t bytes[PY_ASYNCIO_DEBUG_SIZE];
        psc_addr address;
        uint64_t size;
        tasks->described = may_have_section(python, module) &&
                           module_find_section(module, SECTION_NAME, &address, &size) &&
                           size >= sizeof(bytes) && address &&
                           target_read(python->target, address, bytes, sizeof(bytes)) == PSC_OK &&
                           parse_asyncio_debug(bytes, sizeof(bytes), &tasks->asyncio) == PSC_OK;
    }
}

/* ---- what is a task ---- */

#define BASE_LIMIT 32u

static bool is_based_on(struct python *python, psc_addr type, psc_addr wanted)
{
    for (size_t i = 0; wanted && i < BASE_LIMIT && py_is_object_address(type); i++) {
        if (type == wanted)
            return true;
        if (py_read_u64(python, type, PY_TYPE_BASE, &type) != PSC_OK)
            break;
    }
    return false;
}

static bool is_derived(struct python *python, psc_addr object, psc_addr wanted)
{
    psc_addr type;
    uint64_t flags;
    return py_read_type(python, object, &type, &flags) == PSC_OK &&
           is_based_on(python, type, wanted);
}

bool task_is_task(struct py_tasks *tasks, psc_addr object)
{
    psc_addr found;
    return is_derived(tasks->python, object, tasks->types.task) ||
           (py_attribute_find(tasks->python, object, "_coro", &found) == PSC_OK &&
            py_attribute_find(tasks->python, object, "_fut_waiter", &found) == PSC_OK);
}

bool task_is_future(struct py_tasks *tasks, psc_addr object)
{
    psc_addr found;
    return is_derived(tasks->python, object, tasks->types.future) ||
           (py_attribute_find(tasks->python, object, "_loop", &found) == PSC_OK &&
            py_attribute_find(tasks->python, object, "_callbacks", &found) == PSC_OK);
}

enum psc_status task_read_part(struct py_tasks *tasks, psc_addr object, enum py_field field,
                               const char *attribute, psc_addr *ret)
{
    struct python *python = tasks->python;
    uint32_t described = !tasks->described       ? 0
                         : field == PY_TASK_CORO ? tasks->asyncio.task_coro
                         : field == PY_TASK_NAME ? tasks->asyncio.task_name
                                                 : 0;
    psc_addr base = field >= PY_TASK_WAITER ? tasks->types.task : tasks->types.future;
    if (is_derived(python, object, base))
        return described ? target_read_u64(python->target, object + described, ret)
                         : py_read_u64(python, object, field, ret);
    return py_attribute_find(tasks->python, object, attribute, ret);
}

psc_addr task_read_awaited_by(struct py_tasks *tasks, psc_addr future)
{
    struct python *python = tasks->python;
    psc_addr by;
    enum psc_status status;
    if (!is_derived(python, future, tasks->types.future) &&
        !is_derived(python, future, tasks->types.task))
        status = py_attribute_find(python, future, "_Future__asyncio_awaited_by", &by);
    else if (tasks->described)
        status = target_read_u64(python->target, future + tasks->asyncio.task_awaited_by, &by);
    else
        status = py_read_u64(python, future, PY_FUTURE_AWAITED_BY, &by);
    return status == PSC_OK ? by : 0;
}

bool task_is_pending(struct py_tasks *tasks, psc_addr future)
{
    struct python *python = tasks->python;
    psc_addr state;
    int32_t number;
    if (is_derived(python, future, tasks->types.future))
        return py_read_i32(python, future, PY_FUTURE_STATE, &number) == PSC_OK &&
               number == PY_FUTURE_PENDING;
    /* CPython, Lib/asyncio/futures.py: the class has the state of those that are pending. */
    return py_attribute_find(python, future, "_callbacks", &state) == PSC_OK &&
           (py_attribute_find(python, future, "_state", &state) != PSC_OK ||
            py_string_equals(python, state, "PENDING"));
}

/* ---- the lists ---- */

static enum psc_status add_task(struct py_tasks *tasks, psc_addr task)
{
    if (tasks->found.count >= PSC_PYTHON_TASK_LIMIT) {
        tasks->cut = true;
        return PSC_OK;
    }
    if (!budget_spend(tasks->python, 8) || !task_is_task(tasks, task))
        return PSC_OK;
    return hash_table_find(&tasks->found, task) || hash_table_add(&tasks->found, task)
               ? PSC_OK
               : PSC_ERR_MEMORY;
}

/* A set of tasks; with `weak` of weak references to them. */
static enum psc_status add_set(struct py_tasks *tasks, psc_addr set, bool weak)
{
    struct python *python = tasks->python;
    struct py_set_items items;
    psc_addr item;
    if (py_set_open(python, set, &items) != PSC_OK)
        return PSC_OK;
    enum psc_status status = PSC_OK;
    while (status == PSC_OK && budget_spend(python, 1) &&
           py_set_next(python, &items, &item) == PSC_OK) {
        if (!weak || py_read_u64(python, item, PY_WEAKREF_OBJECT, &item) == PSC_OK)
            status = add_task(tasks, item);
    }
    return status;
}

static bool is_weak_set(struct python *python, psc_addr object, psc_addr *ret_data)
{
    const struct py_type *type;
    return py_type_of(python, object, &type) == PSC_OK && !strcmp(type->name, "WeakSet") &&
           py_attribute_find(python, object, "data", ret_data) == PSC_OK;
}

static enum psc_status add_from_module(struct py_tasks *tasks)
{
    static const char *const names[] = {"_all_tasks", "_scheduled_tasks", "_eager_tasks"};
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < PSC_ARRAY_SIZE(names); i++) {
        psc_addr set;
        psc_addr data;
        if (py_module_find(tasks->python, tasks->interpreter, "asyncio.tasks", names[i], &set) !=
            PSC_OK)
            continue;
        status = is_weak_set(tasks->python, set, &data) ? add_set(tasks, data, true)
                                                        : add_set(tasks, set, false);
    }
    return status;
}

/* 3.6: static variables of _asyncio that point to a WeakSet, and Task._all_tasks in Python. */
struct static_search {
    struct py_tasks *tasks;
    enum psc_status status;
};

static bool visit_static(void *context, psc_addr address, const uint8_t *bytes, size_t size)
{
    struct static_search *search = context;
    psc_addr data;
    (void)address;
    for (size_t at = 0; search->status == PSC_OK && at + 8 <= size; at += 8)
        if (py_is_object_address(load_u64(bytes + at)) && budget_spend(search->tasks->python, 1) &&
            is_weak_set(search->tasks->python, load_u64(bytes + at), &data))
            search->status = add_set(search->tasks, data, true);
    return search->status == PSC_OK;
}

static enum psc_status add_from_statics(struct py_tasks *tasks)
{
    struct python *python = tasks->python;
    struct static_search search = {.tasks = tasks};
    size_t count = modules_count(python->modules);
    for (size_t i = 0; i < count; i++) {
        struct module *module = modules_get(python->modules, i);
        if (!strncmp(module->name, "_asyncio", strlen("_asyncio")))
            scan_writable(python, module, visit_static, &search);
    }
    psc_addr class;
    psc_addr dict;
    psc_addr set;
    psc_addr data;
    struct py_items items;
    if (search.status == PSC_OK &&
        py_module_find(python, tasks->interpreter, "asyncio.tasks", "_PyTask", &class) == PSC_OK &&
        py_read_u64(python, class, PY_TYPE_DICT, &dict) == PSC_OK &&
        py_dict_open(python, dict, &items) == PSC_OK &&
        py_items_find(python, &items, "_all_tasks", PY_SET_LIMIT, &set) == PSC_OK &&
        is_weak_set(python, set, &data))
        search.status = add_set(tasks, data, true);
    return search.status;
}

/* CPython 3.14, Include/internal/pycore_llist.h: next, then prev; the head is one of them. */
static enum psc_status add_linked(struct py_tasks *tasks, psc_addr head)
{
    struct py_cycle cycle = {0};
    psc_addr node;
    if (target_read_u64(tasks->python->target, head, &node) != PSC_OK)
        return PSC_OK;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && node && node != head; i++) {
        if (i == NODE_LIMIT || !py_is_object_address(node) || py_cycle_met(&cycle, node)) {
            tasks->cut = true;
            break;
        }
        status = add_task(tasks, node - tasks->asyncio.task_node);
        if (target_read_u64(tasks->python->target, node, &node) != PSC_OK) {
            tasks->cut = true;
            break;
        }
    }
    return status;
}

struct object_search {
    struct py_tasks *tasks;
    enum psc_status status;
};

static bool visit_object(void *context, psc_addr object)
{
    struct object_search *search = context;
    if (is_derived(search->tasks->python, object, search->tasks->types.task))
        search->status = add_task(search->tasks, object);
    return search->status == PSC_OK;
}

/* Without the section, as where the file of _asyncio is missing: among all objects. */
static enum psc_status add_from_objects(struct py_tasks *tasks)
{
    struct object_search search = {.tasks = tasks};
    if (py_each_object(tasks->python, tasks->interpreter, visit_object, &search) != PSC_OK)
        target_warn(tasks->python->target, "tasks",
                    "asyncio's tasks are not complete: neither the section " SECTION_NAME
                    " of the interpreter or of _asyncio nor all objects could be read");
    return search.status;
}

static enum psc_status add_all_linked(struct py_tasks *tasks)
{
    /* Without _asyncio the tasks are made in Python. */
    if (!tasks->types.task)
        return PSC_OK;
    if (!tasks->described)
        find_section(tasks);
    if (!tasks->described)
        return add_from_objects(tasks);
    enum psc_status status =
        add_linked(tasks, tasks->interpreter + tasks->asyncio.interpreter_tasks);
    for (size_t i = 0; status == PSC_OK && i < tasks->thread_count; i++)
        if (tasks->threads[i].interpreter == tasks->interpreter)
            status = add_linked(tasks, tasks->threads[i].tstate + tasks->asyncio.thread_tasks);
    return status;
}

static psc_addr find_type(struct py_tasks *tasks, const char *module, const char *name)
{
    psc_addr type;
    if (py_module_find(tasks->python, tasks->interpreter, module, name, &type) != PSC_OK ||
        !py_has_flags(tasks->python, type, PY_FLAG_TYPE))
        return 0;
    return type;
}

void task_find_types(struct py_tasks *tasks)
{
    tasks->types = (struct py_asyncio_types){.future = find_type(tasks, "_asyncio", "Future"),
                                             .task = find_type(tasks, "_asyncio", "Task"),
                                             .partial = find_type(tasks, "functools", "partial")};
}

enum psc_status task_list_find(struct py_tasks *tasks)
{
    struct py_items items;
    if (py_module_open(tasks->python, tasks->interpreter, "asyncio.tasks", &items) != PSC_OK)
        return PSC_OK;
    task_find_types(tasks);
    switch (tasks->python->layout.rules->tasks) {
    case PY_TASKS_STATIC:
        return add_from_statics(tasks);
    case PY_TASKS_SETS:
        break;
    case PY_TASKS_LINKED: {
        enum psc_status status = add_all_linked(tasks);
        if (status != PSC_OK)
            return status;
        break;
    }
    }
    return add_from_module(tasks);
}
