#include "runtime.h"

#include <stdlib.h>

#define INTERPRETER_LIMIT (1u << 16)
#define THREAD_LIMIT      (1u << 20)

struct interpreter {
    psc_addr address;
    int64_t id;
};

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
    const struct interpreter *a = left;
    const struct interpreter *b = right;
    return COMPARE(a->id, b->id);
}

/* Newest first in memory, main (id 0) last; here by id. */
static enum psc_status list_interpreters(struct python *python, struct interpreter **ret,
                                         size_t *ret_count)
{
    struct py_cycle cycle = {0};
    psc_addr address = python->interpreters;
    size_t capacity = 0;
    *ret = NULL;
    *ret_count = 0;
    while (address) {
        struct interpreter interpreter = {.address = address};
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
            interpreter.id = (int64_t)id;
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
                        const struct interpreter *interpreter, struct python_thread *ret,
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
static enum psc_status add_threads(struct python *python, const struct interpreter *interpreter,
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

/* Who has a GIL; 0: nobody. False: not known. */
struct gil {
    bool known;
    bool off; /* A free-threaded build runs without it. */
    psc_addr holder;
};

static struct gil read_gil_at(struct python *python, psc_addr locked_at, psc_addr holder_at)
{
    struct gil gil = {0};
    uint32_t locked;
    psc_addr holder;
    if (target_read_u32(python->target, locked_at, &locked) != PSC_OK ||
        target_read_u64(python->target, holder_at, &holder) != PSC_OK)
        return gil;
    gil.known = true;
    /* last_holder stays when the GIL is released. */
    gil.holder = locked == 1 ? holder : 0;
    return gil;
}

/* CPython 3.13, Include/internal/pycore_gil.h: with Py_GIL_DISABLED it begins with "int enabled".
 */
static bool is_enabled(struct python *python, psc_addr gil)
{
    uint32_t enabled;
    return target_read_u32(python->target, gil, &enabled) == PSC_OK && enabled;
}

static struct gil read_gil(struct python *python, psc_addr interpreter)
{
    struct gil gil = {0};
    const uint32_t *offset = python->layout.offset;
    psc_addr runtime = python->info.runtime;
    psc_addr at;
    switch (python->layout.rules->gil) {
    case PY_GIL_CURRENT:
        if (python->current_thread &&
            target_read_u64(python->target, python->current_thread, &gil.holder) == PSC_OK)
            gil.known = true;
        break;
    case PY_GIL_RUNTIME:
        if (runtime)
            gil = read_gil_at(python, runtime + offset[PY_RUNTIME_GIL_LOCKED],
                              runtime + offset[PY_RUNTIME_GIL_HOLDER]);
        break;
    case PY_GIL_INTERPRETER:
        if (py_read_u64(python, interpreter, PY_INTERP_CEVAL_GIL, &at) != PSC_OK || !at)
            break;
        gil.off = python->info.free_threaded && !is_enabled(python, at);
        if (!gil.off)
            gil = read_gil_at(python, at + (offset[PY_INTERP_GIL_LOCKED] - offset[PY_INTERP_GIL]),
                              at + (offset[PY_INTERP_GIL_HOLDER] - offset[PY_INTERP_GIL]));
        break;
    }
    return gil;
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

static void describe_threads(struct python *python, psc_addr interpreter,
                             struct python_thread *threads, size_t count)
{
    PSC_CLEANUP(cleanup_free) struct py_thread_name *names = NULL;
    size_t name_count = thread_names_read(python, interpreter, &names);
    struct gil gil = read_gil(python, interpreter);
    enum python_truth collecting = read_collecting(python, interpreter);
    psc_addr finalizing = read_finalizing(python);
    for (size_t i = 0; i < count; i++) {
        struct python_thread *thread = &threads[i];
        thread->name = thread_names_find(names, name_count, thread->thread_id);
        thread->finalizing = finalizing && finalizing == thread->tstate;
        thread->without_gil = gil.off;
        if (gil.known)
            thread->holds_gil = gil.holder == thread->tstate ? PYTHON_YES : PYTHON_NO;
        thread->collecting = thread->holds_gil == PYTHON_YES || collecting == PYTHON_NO ? collecting
                             : thread->holds_gil == PYTHON_NO                           ? PYTHON_NO
                                                              : PYTHON_UNKNOWN;
    }
}

enum psc_status python_list_threads(struct python *python, struct python_thread **ret,
                                    size_t *ret_count, struct psc_error *err)
{
    PSC_CLEANUP(cleanup_free) struct interpreter *interpreters = NULL;
    size_t interpreter_count = 0;
    PSC_CLEANUP(thread_list_deinit) struct thread_list list = {0};
    enum psc_status status = list_interpreters(python, &interpreters, &interpreter_count);
    for (size_t i = 0; status == PSC_OK && i < interpreter_count; i++) {
        size_t first = list.count;
        status = add_threads(python, &interpreters[i], &list);
        if (status == PSC_OK && list.count > first)
            describe_threads(python, interpreters[i].address, list.items + first,
                             list.count - first);
    }
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    struct python_thread *threads =
        arena_array(python->arena, list.count ? list.count : 1, sizeof(*threads));
    if (!threads)
        return psc_fail_memory(err);
    if (list.count)
        __builtin_memcpy(threads, list.items, list.count * sizeof(*threads));
    *ret = threads;
    *ret_count = list.count;
    return PSC_OK;
}
