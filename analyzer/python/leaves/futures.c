/*
 * Futures of concurrent.futures, which threads wait for and work on: concurrent/futures/_base.py
 * and thread.py, asyncio/futures.py and tasks.py; of each the local variables of functions, and the
 * variables of their closures.
 */
#include "leaves.h"

#include <string.h>

#define FRAME_LIMIT 100000u /* Of one stack; recursions have few distinct ones. */
#define READY_LIMIT 100000u /* Handles of one event loop. */

/* ---- what a thread does ---- */

static bool add_address(psc_addr *list, size_t *count, psc_addr address)
{
    if (!address || *count >= PYTHON_WORK_LIMIT)
        return false;
    list[(*count)++] = address;
    return true;
}

/* The result of a future that is done is taken at once; a wait has a further frame below. */
static bool take_result(struct python *python, const struct python_frame *frame,
                        struct python_thread_work *work)
{
    psc_addr timeout;
    psc_addr future = work->result ? 0 : py_frame_variable(python, frame, "self");
    if (!future)
        return false;
    work->result = future;
    timeout = py_frame_variable(python, frame, "timeout");
    work->timed = timeout && !leaf_is_none(python, timeout);
    return true;
}

static bool take_work_item(struct python *python, const struct python_frame *frame,
                           struct python_thread_work *work)
{
    psc_addr future;
    psc_addr item = py_frame_variable(python, frame, "self");
    return item && py_part_find(python, item, "future", &future) &&
           add_address(work->submitted, &work->submitted_count, future);
}

static bool take_loop(struct python *python, const struct python_frame *frame,
                      struct python_thread_work *work)
{
    return add_address(work->loops, &work->loop_count, py_frame_variable(python, frame, "self"));
}

static bool take_worker(struct python *python, const struct python_frame *frame,
                        struct python_thread_work *work)
{
    work->work_queue = py_frame_variable(python, frame, "work_queue");
    return work->work_queue != 0;
}

struct call {
    const char *file;
    const char *name;
    bool (*take)(struct python *, const struct python_frame *, struct python_thread_work *);
};

static const struct call calls[] = {
    {"concurrent/futures/_base.py", "result", take_result},
    {"concurrent/futures/_base.py", "exception", take_result},
    {"concurrent/futures/thread.py", "run", take_work_item},
    {"concurrent/futures/thread.py", "_worker", take_worker},
    {"asyncio/base_events.py", "run_forever", take_loop},
};

/* Of py_code.future_call: one of these, from 1; or none. */
enum { CALL_NONE = PSC_ARRAY_SIZE(calls) + 1 };

static const struct call *find_call(struct python *python, struct py_code *code)
{
    const struct py_code *named = NULL;
    if (!code->future_call)
        named = code_find_named(python, code->address);
    for (size_t k = 0; named && !code->future_call && k < PSC_ARRAY_SIZE(calls); k++)
        if (code_is(named, calls[k].file, calls[k].name))
            code->future_call = (uint8_t)(k + 1);
    if (!code->future_call)
        code->future_call = CALL_NONE;
    return code->future_call == CALL_NONE ? NULL : &calls[code->future_call - 1];
}

/* What a thread waits for is of its innermost frames: threading's alone may be below. */
static bool is_waiting_frame(struct python *python, psc_addr address)
{
    const struct py_code *code = code_find_named(python, address);
    if (!code)
        return false;
    return code_is(code, "threading.py", "wait") || code_is(code, "threading.py", "acquire");
}

bool python_find_work(struct python *python, const struct python_thread *thread,
                      const struct python_stack *stack, struct python_thread_work *ret)
{
    bool found = false;
    bool waits = true;
    psc_addr last = 0;
    *ret = (struct python_thread_work){.thread = thread};
    for (size_t i = 0; i < stack->count && i < FRAME_LIMIT; i++) {
        const struct python_frame *frame = &stack->frames[i];
        if (frame->kind != PYTHON_FRAME_CODE || frame->compiled || frame->code == last)
            continue;
        last = frame->code;
        struct py_code *code = frame->code ? code_find(python, frame->code) : NULL;
        const struct call *call = code ? find_call(python, code) : NULL;
        if (call && (call->take != take_result || (waits && i)))
            found |= call->take(python, frame, ret);
        waits = waits && is_waiting_frame(python, frame->code);
    }
    return found;
}

/* ---- who completes a future ---- */

struct chain_search {
    struct python *python;
    psc_addr found;
};

/* asyncio.futures._chain_future(): of the one that is completed, `source` completes it. */
static bool visit_callback(void *context, psc_addr callback)
{
    struct chain_search *search = context;
    psc_addr source;
    if (!search->found &&
        leaf_is_function(search->python, callback, "asyncio/futures.py", "_call_check_cancel") &&
        leaf_closure(search->python, callback, "source", &source))
        search->found = source;
    return !search->found;
}

psc_addr future_find_chained(struct py_tasks *tasks, psc_addr future)
{
    struct chain_search search = {.python = tasks->python};
    task_each_callback(tasks, future, visit_callback, &search);
    return search.found;
}

static psc_addr find_source_task(struct python *python, psc_addr future)
{
    struct chain_search search = {.python = python};
    psc_addr list;
    if (leaf_part(python, future, "_done_callbacks", &list))
        task_each_in_list(python, list, visit_callback, &search);
    return search.found;
}

static bool find_worker(const struct python_thread_work *works, size_t count, psc_addr future,
                        struct future_source *ret)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < works[i].submitted_count; k++)
            if (works[i].submitted[k] == future) {
                ret->thread_id = works[i].thread->thread_id;
                ret->known_by = "the work item that the thread runs";
                return true;
            }
    return false;
}

static bool find_queue(struct python *python, const struct python_thread_work *works, size_t count,
                       psc_addr future, struct future_source *ret)
{
    for (size_t i = 0; i < count; i++) {
        psc_addr queue = works[i].work_queue;
        if (!queue || !simple_queue_has_future(python, queue, future))
            continue;
        ret->work_queue = queue;
        ret->known_by = "the executor's queue, where its work item waits for a thread";
        return true;
    }
    return false;
}

/* asyncio.run_coroutine_threadsafe() has asked the loop for a task, which it has not made yet. */
static bool is_asked_for(struct python *python, psc_addr loop, psc_addr future)
{
    psc_addr ready;
    psc_addr handle;
    psc_addr callback;
    psc_addr asked;
    struct py_deque_items items;
    if (!leaf_part(python, loop, "_ready", &ready) ||
        py_deque_open(python, ready, &items) != PSC_OK)
        return false;
    for (size_t i = 0; i < READY_LIMIT && budget_spend(python, 8) &&
                       py_deque_next(python, &items, &handle) == PSC_OK;
         i++)
        if (leaf_part(python, handle, "_callback", &callback) &&
            leaf_is_function(python, callback, "asyncio/tasks.py", "callback") &&
            leaf_closure(python, callback, "future", &asked) && asked == future)
            return true;
    return false;
}

static bool find_loop(struct python *python, const struct python_thread_work *works, size_t count,
                      psc_addr future, struct future_source *ret)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < works[i].loop_count; k++)
            if (is_asked_for(python, works[i].loops[k], future)) {
                ret->loop = works[i].loops[k];
                ret->known_by = "the event loop's list of what it has yet to call";
                return true;
            }
    return false;
}

bool future_find_source(struct python *python, const struct python_thread_work *works, size_t count,
                        psc_addr future, struct future_source *ret)
{
    *ret = (struct future_source){.task = find_source_task(python, future)};
    if (ret->task) {
        ret->known_by = "the callback that asyncio has put into the future";
        return true;
    }
    return find_worker(works, count, future, ret) ||
           find_queue(python, works, count, future, ret) ||
           find_loop(python, works, count, future, ret);
}

/* ---- the futures that threads wait for ---- */

static uint64_t thread_of_loop(const struct python_thread_work *works, size_t count, psc_addr loop)
{
    for (size_t i = 0; loop && i < count; i++)
        for (size_t k = 0; k < works[i].loop_count; k++)
            if (works[i].loops[k] == loop)
                return works[i].thread->thread_id;
    return 0;
}

/* Of a task of asyncio: its name, and the thread of its event loop. */
static void describe_task(struct python *python, const struct python_thread_work *works,
                          size_t count, struct python_thread_work *work)
{
    struct py_tasks tasks = {.python = python,
                             .interpreter = work->thread->interpreter,
                             .interpreter_id = work->thread->interpreter_id};
    psc_addr loop;
    task_find_types(&tasks);
    work->by_name = task_read_name(&tasks, work->by_task);
    if (task_read_part(&tasks, work->by_task, PY_FUTURE_LOOP, "_loop", &loop) == PSC_OK)
        work->by_loop_thread = thread_of_loop(works, count, loop);
}

enum psc_status python_read_futures(struct python *python, struct python_thread_work *works,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct python_thread_work *work = &works[i];
        struct future_source source;
        if (!work->result)
            continue;
        work->object = task_type_name(python, work->result);
        if (!future_find_source(python, works, count, work->result, &source))
            continue;
        work->by_task = source.task;
        work->by_thread = source.thread_id;
        work->by_queue = source.work_queue;
        work->known_by = source.known_by;
        if (source.task)
            describe_task(python, works, count, work);
        else
            work->by_loop_thread = thread_of_loop(works, count, source.loop);
    }
    return arena_is_exhausted(python->arena) ? PSC_ERR_MEMORY : PSC_OK;
}
