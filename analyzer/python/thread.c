#include "runtime.h"

#include <stdlib.h>

#define INTERPRETER_LIMIT (1u << 16)
#define THREAD_LIMIT      (1u << 20)

bool thread_check_interpreter(struct python *python, psc_addr interpreter)
{
    psc_addr thread;
    psc_addr back;
    if (!py_is_object_address(interpreter) ||
        py_read_u64(python, interpreter, PY_INTERP_THREADS, &thread) != PSC_OK)
        return false;
    /* An interpreter that ended its last thread is still one. */
    if (!thread)
        return true;
    return py_is_object_address(thread) &&
           py_read_u64(python, thread, PY_THREAD_INTERP, &back) == PSC_OK && back == interpreter;
}

/* ---- the lists ---- */

static int compare_interpreters(const void *left, const void *right)
{
    const struct python_interpreter *a = left;
    const struct python_interpreter *b = right;
    return COMPARE(a->id, b->id);
}

/* Newest first in memory, main (id 0) last; here by id. */
static enum psc_status list_interpreters(struct python *python, struct python_interpreter **ret,
                                         size_t *ret_count)
{
    struct py_cycle cycle = {0};
    psc_addr address = python->interpreters;
    size_t capacity = 0;
    *ret = NULL;
    *ret_count = 0;
    while (address) {
        struct python_interpreter interpreter = {.address = address, .id = -1};
        uint64_t id = 0;
        psc_addr next;
        if (*ret_count >= INTERPRETER_LIMIT || py_cycle_met(&cycle, address) ||
            !thread_check_interpreter(python, address) ||
            py_read_u64(python, address, PY_INTERP_NEXT, &next) != PSC_OK) {
            target_warn(python->target, "python-interpreters",
                        "The list of Python interpreters ends at 0x%llx: not readable there",
                        (unsigned long long)address);
            break;
        }
        if (py_read_u64(python, address, PY_INTERP_ID, &id) == PSC_OK)
            interpreter.id = id <= INT64_MAX ? (int64_t)id : -1;
        void *interpreters = *ret;
        if (!array_reserve(&interpreters, &capacity, *ret_count + 1, sizeof(interpreter)))
            return PSC_ERR_MEMORY;
        *ret = interpreters;
        (*ret)[(*ret_count)++] = interpreter;
        address = next;
    }
    /* Up to 3.6 they have no numbers: in the order in which they were made. */
    for (size_t i = 0; python->layout.offset[PY_INTERP_ID] == PY_NO_OFFSET && i < *ret_count; i++)
        (*ret)[i].id = (int64_t)(*ret_count - 1 - i);
    if (*ret_count)
        qsort(*ret, *ret_count, sizeof(**ret), compare_interpreters);
    return PSC_OK;
}

struct thread_list {
    struct python_thread *items;
    size_t count;
    size_t capacity;
};

static void thread_list_deinit(struct thread_list *list)
{
    free(list->items);
}

static void reverse(struct python_thread *threads, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct python_thread thread = threads[i];
        threads[i] = threads[count - 1 - i];
        threads[count - 1 - i] = thread;
    }
}

static bool read_thread(struct python *python, psc_addr tstate,
                        const struct python_interpreter *interpreter, struct python_thread *ret,
                        psc_addr *ret_next)
{
    psc_addr back;
    *ret = (struct python_thread){
        .tstate = tstate, .interpreter = interpreter->address, .interpreter_id = interpreter->id};
    if (!py_is_object_address(tstate) ||
        py_read_u64(python, tstate, PY_THREAD_INTERP, &back) != PSC_OK ||
        back != interpreter->address ||
        py_read_u64(python, tstate, PY_THREAD_NEXT, ret_next) != PSC_OK ||
        py_read_u64(python, tstate, PY_THREAD_ID, &ret->thread_id) != PSC_OK)
        return false;
    if (py_read_u64(python, tstate, PY_THREAD_NATIVE_ID, &ret->native_id) != PSC_OK ||
        ret->native_id > INT32_MAX)
        ret->native_id = 0;
    return true;
}

/* Newest first in memory, the main thread last; here the main thread first. */
static enum psc_status add_threads(struct python *python,
                                   const struct python_interpreter *interpreter,
                                   struct thread_list *list)
{
    struct py_cycle cycle = {0};
    psc_addr address;
    size_t first = list->count;
    bool complete = true;
    if (py_read_u64(python, interpreter->address, PY_INTERP_THREADS, &address) != PSC_OK)
        return PSC_OK;
    while (address) {
        struct python_thread thread;
        psc_addr next;
        if (list->count >= THREAD_LIMIT || py_cycle_met(&cycle, address) ||
            !read_thread(python, address, interpreter, &thread, &next)) {
            target_warn(python->target, "python-threads",
                        "The Python thread list ends at 0x%llx: not readable there",
                        (unsigned long long)address);
            complete = false;
            break;
        }
        void *items = list->items;
        if (!array_reserve(&items, &list->capacity, list->count + 1, sizeof(thread)))
            return PSC_ERR_MEMORY;
        list->items = items;
        list->items[list->count++] = thread;
        address = next;
    }
    if (complete && list->count > first)
        list->items[list->count - 1].main = true;
    reverse(list->items + first, list->count - first);
    return PSC_OK;
}

/* ---- what they are doing ---- */

static void read_gil_at(struct python *python, psc_addr locked_at, psc_addr holder_at,
                        struct python_interpreter *ret)
{
    uint32_t locked;
    psc_addr holder;
    if (target_read_u32(python->target, locked_at, &locked) != PSC_OK ||
        target_read_u64(python->target, holder_at, &holder) != PSC_OK)
        return;
    ret->gil_known = true;
    ret->gil_waits_start = holder_at + PY_GIL_WAITS_BEHIND_HOLDER;
    ret->gil_waits_end = ret->gil_waits_start + PY_GIL_WAITS_SIZE;
    /* last_holder stays when the GIL is released. */
    ret->holder = locked == 1 ? holder : 0;
}

/* CPython 3.13, Include/internal/pycore_gil.h: with Py_GIL_DISABLED it begins with "int enabled".
 */
static bool is_enabled(struct python *python, psc_addr gil)
{
    uint32_t enabled;
    return target_read_u32(python->target, gil, &enabled) == PSC_OK && enabled;
}

static void read_gil(struct python *python, struct python_interpreter *ret)
{
    const uint32_t *offset = python->layout.offset;
    psc_addr runtime = python->info.runtime;
    psc_addr at;
    switch (python->layout.rules->gil) {
    case PY_GIL_CURRENT:
        ret->gil = python->current_thread;
        if (ret->gil && target_read_u64(python->target, ret->gil, &ret->holder) == PSC_OK)
            ret->gil_known = true;
        break;
    case PY_GIL_RUNTIME:
        if (!runtime)
            break;
        ret->gil = runtime + offset[PY_RUNTIME_GIL_LOCKED];
        read_gil_at(python, ret->gil, runtime + offset[PY_RUNTIME_GIL_HOLDER], ret);
        break;
    case PY_GIL_INTERPRETER:
        if (py_read_u64(python, ret->address, PY_INTERP_CEVAL_GIL, &at) != PSC_OK || !at)
            break;
        ret->gil = at;
        ret->without_gil = python->info.free_threaded && !is_enabled(python, at);
        if (!ret->without_gil)
            read_gil_at(python, at + (offset[PY_INTERP_GIL_LOCKED] - offset[PY_INTERP_GIL]),
                        at + (offset[PY_INTERP_GIL_HOLDER] - offset[PY_INTERP_GIL]), ret);
        break;
    }
}

static enum python_truth read_collecting(struct python *python, psc_addr interpreter)
{
    int32_t collecting = 0;
    psc_addr gc;
    struct module_symbol symbol;
    enum psc_status status = PSC_ERR_UNSUPPORTED;
    switch (python->layout.rules->collecting) {
    case PY_COLLECTING_HIDDEN:
        /* CPython 3.6, Modules/gcmodule.c: a static int, where symbols of that kind are kept. */
        if (python->info.module &&
            module_find_symbol_named(python->info.module, "collecting", &symbol) &&
            symbol.size == sizeof(collecting)) {
            uint32_t word = 0;
            status = target_read_u32(python->target, symbol.address, &word);
            collecting = word != 0;
        }
        break;
    case PY_COLLECTING_RUNTIME:
        if (python->info.runtime)
            status = py_read_i32(python, python->info.runtime, PY_RUNTIME_COLLECTING, &collecting);
        break;
    case PY_COLLECTING_INTERPRETER:
        gc = py_field_address(python, interpreter, PY_INTERP_GC);
        if (gc)
            status = py_read_i32(python, gc, PY_GC_COLLECTING, &collecting);
        break;
    }
    return status != PSC_OK ? PYTHON_UNKNOWN : collecting ? PYTHON_YES : PYTHON_NO;
}

/* The thread state that ends the interpreter; 0: none, or not known. */
static psc_addr read_finalizing(struct python *python)
{
    struct module_symbol symbol;
    psc_addr thread;
    if (python->info.runtime)
        return py_read_u64(python, python->info.runtime, PY_RUNTIME_FINALIZING, &thread) == PSC_OK
                   ? thread
                   : 0;
    /* CPython 3.6, Python/pylifecycle.c. */
    return python->info.module &&
                   module_find_symbol_named(python->info.module, "_Py_Finalizing", &symbol) &&
                   target_read_u64(python->target, symbol.address, &thread) == PSC_OK
               ? thread
               : 0;
}

/* Who holds the GIL, and who collects. */
static void describe_gil(const struct python_interpreter *interpreter, struct python_thread *thread)
{
    enum python_truth collecting = interpreter->collecting;
    thread->without_gil = interpreter->without_gil;
    thread->holds_gil = !interpreter->gil_known                 ? PYTHON_UNKNOWN
                        : interpreter->holder == thread->tstate ? PYTHON_YES
                                                                : PYTHON_NO;
    thread->collecting = thread->holds_gil == PYTHON_YES || collecting == PYTHON_NO ? collecting
                         : thread->holds_gil == PYTHON_NO                           ? PYTHON_NO
                                                          : PYTHON_UNKNOWN;
}

/* Names of threads that were listed before, in the same order; false: not all are known. */
static bool take_names(const struct python_thread_list *before, struct python_thread *threads,
                       size_t count)
{
    bool all = true;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = next;
        while (at < before->count && (before->items[at].tstate != threads[i].tstate ||
                                      before->items[at].thread_id != threads[i].thread_id))
            at++;
        if (at < before->count) {
            threads[i].name = before->items[at].name;
            next = at + 1;
        }
        all = all && threads[i].name;
    }
    return all;
}

static void describe_threads(struct python *python, const struct python_thread_list *before,
                             struct python_interpreter *interpreters, size_t index,
                             struct python_thread *threads, size_t count)
{
    struct python_interpreter *interpreter = &interpreters[index];
    PSC_CLEANUP(cleanup_free) struct py_thread_name *names = NULL;
    bool named = take_names(before, threads, count);
    size_t name_count =
        named ? 0 : thread_names_read(python, interpreter->address, threads, count, &names);
    psc_addr finalizing = read_finalizing(python);
    interpreter->collecting = read_collecting(python, interpreter->address);
    for (size_t i = 0; i < count; i++) {
        struct python_thread *thread = &threads[i];
        thread->interpreter_index = index;
        if (!thread->name)
            thread->name = thread_names_find(names, name_count, thread->thread_id);
        thread->finalizing = finalizing && finalizing == thread->tstate;
        describe_gil(interpreter, thread);
    }
}

void python_read_gil(struct python *python, struct python_thread_list *list)
{
    for (size_t i = 0; i < list->interpreter_count; i++) {
        struct python_interpreter *interpreter = &list->interpreters[i];
        interpreter->gil_known = false;
        interpreter->holder = 0;
        read_gil(python, interpreter);
        interpreter->collecting = read_collecting(python, interpreter->address);
    }
    for (size_t i = 0; i < list->count; i++)
        describe_gil(&list->interpreters[list->items[i].interpreter_index], &list->items[i]);
}

/* To *ret, where there is room for *room items; threads come and go. */
static enum psc_status copy_items(struct arena *arena, const void *items, size_t count, size_t size,
                                  void **ret, size_t *room)
{
    if (!*ret || count > *room) {
        *room = count + count / 2 + 1;
        *ret = arena_alloc(arena, *room * size);
    }
    if (*ret && count)
        __builtin_memcpy(*ret, items, count * size);
    return *ret ? PSC_OK : PSC_ERR_MEMORY;
}

enum psc_status python_list_threads(struct python *python, struct python_thread_list *ret,
                                    struct psc_error *err)
{
    PSC_CLEANUP(cleanup_free) struct python_interpreter *interpreters = NULL;
    size_t interpreter_count = 0;
    PSC_CLEANUP(thread_list_deinit) struct thread_list list = {0};
    void *kept_threads = ret->items, *kept_interpreters = ret->interpreters;
    size_t room = ret->room, interpreter_room = ret->interpreter_room;
    enum psc_status status = list_interpreters(python, &interpreters, &interpreter_count);
    for (size_t i = 0; status == PSC_OK && i < interpreter_count; i++) {
        size_t first = list.count;
        read_gil(python, &interpreters[i]);
        status = add_threads(python, &interpreters[i], &list);
        if (status == PSC_OK && list.count > first)
            describe_threads(python, ret, interpreters, i, list.items + first, list.count - first);
    }
    if (status == PSC_OK)
        status = copy_items(python->arena, list.items, list.count, sizeof(*list.items),
                            &kept_threads, &room);
    if (status == PSC_OK)
        status = copy_items(python->arena, interpreters, interpreter_count, sizeof(*interpreters),
                            &kept_interpreters, &interpreter_room);
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    *ret = (struct python_thread_list){.interpreters = kept_interpreters,
                                       .interpreter_count = interpreter_count,
                                       .items = kept_threads,
                                       .count = list.count,
                                       .interpreter_room = interpreter_room,
                                       .room = room};
    return PSC_OK;
}
