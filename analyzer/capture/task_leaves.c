/* What tasks wait for, and the futures that threads wait for: from python/'s words to the trace's.
 */
#include "capture_private.h"

int32_t find_tid_of_python(const struct psc_trace *trace, uint64_t thread_id)
{
    for (size_t i = 0; thread_id && i < trace->thread_count; i++)
        if (trace->threads[i].has_python && trace->threads[i].python_thread_id == thread_id)
            return trace->threads[i].tid;
    return 0;
}

/* ---- tasks ---- */

static enum trace_wait_kind kind_of(enum python_leaf_kind kind)
{
    switch (kind) {
    case PYTHON_LEAF_TIMER:
        return TRACE_WAIT_SLEEP;
    case PYTHON_LEAF_LOCK:
        return TRACE_WAIT_LOCK;
    case PYTHON_LEAF_SEMAPHORE:
        return TRACE_WAIT_SEMAPHORE;
    case PYTHON_LEAF_CONDITION:
        return TRACE_WAIT_CONDITION;
    case PYTHON_LEAF_EVENT:
        return TRACE_WAIT_EVENT;
    case PYTHON_LEAF_BARRIER:
        return TRACE_WAIT_BARRIER;
    case PYTHON_LEAF_QUEUE:
        return TRACE_WAIT_QUEUE;
    case PYTHON_LEAF_SOCKET:
        return TRACE_WAIT_SOCKET;
    case PYTHON_LEAF_DESCRIPTOR:
        return TRACE_WAIT_POLL;
    case PYTHON_LEAF_STREAM:
        return TRACE_WAIT_STREAM;
    case PYTHON_LEAF_CHILD:
        return TRACE_WAIT_CHILD;
    case PYTHON_LEAF_TASKS:
        return TRACE_WAIT_TASKS;
    case PYTHON_LEAF_EXECUTOR:
    case PYTHON_LEAF_FUTURE:
        break;
    }
    return TRACE_WAIT_FUTURE;
}

/* "asyncio.queues.Queue.get()", "socket.socket, descriptor 7", "process 12" */
static const char *name_object(struct arena *arena, const struct python_leaf *leaf)
{
    struct text text = {0};
    if (leaf->kind == PYTHON_LEAF_TIMER)
        text_add_string(&text, "a timer");
    else if (leaf->kind == PYTHON_LEAF_CHILD && leaf->pid)
        text_printf(&text, "process %d", leaf->pid);
    else if (leaf->kind == PYTHON_LEAF_EXECUTOR)
        text_add_string(&text, "what another thread works on");
    else if (leaf->object)
        text_add_string(&text, leaf->object);
    if (leaf->object && leaf->action)
        text_printf(&text, ".%s()", leaf->action);
    if (leaf->fd >= 0)
        text_printf(&text, "%sdescriptor %d", text.size ? ", " : "", leaf->fd);
    const char *name =
        text.size && !text.failed ? arena_strndup(arena, text.data, text.size) : NULL;
    text_deinit(&text);
    return name;
}

static bool records_owner(const struct python_leaf *leaf)
{
    return leaf->certain && (leaf->holder_count || leaf->thread_id);
}

const struct trace_leaf *copy_leaf(struct capture *capture, const struct python_leaf *leaf)
{
    struct arena *arena = capture->trace->arena;
    struct trace_leaf *copy = leaf ? arena_alloc(arena, sizeof(*copy)) : NULL;
    if (!copy)
        return NULL;
    bool now = capture->has_moment && leaf->has_deadline;
    double left = now ? leaf->deadline - capture->moment : 0;
    *copy = (struct trace_leaf){
        .wait = {.kind = kind_of(leaf->kind),
                 .object = name_object(arena, leaf),
                 .has_address = leaf->address != 0,
                 .address = leaf->address,
                 .owner_tid = find_tid_of_python(capture->trace, leaf->thread_id),
                 .owner_pid = leaf->pid,
                 .owner_certain = records_owner(leaf),
                 .known_by = leaf->known_by,
                 .timed = leaf->timed,
                 .has_time_left = now,
                 .time_left = left > 0 ? left : 0,
                 .work_queue = leaf->work_queue},
        .fd = leaf->fd,
        .holders = leaf->holders,
        .holder_count = leaf->holder_count,
        .any = leaf->any,
    };
    return copy;
}

/* ---- threads ---- */

static struct trace_thread *find_thread(struct psc_trace *trace, int32_t tid)
{
    for (size_t i = 0; tid && i < trace->thread_count; i++)
        if (trace->threads[i].tid == tid)
            return &trace->threads[i];
    return NULL;
}

static enum psc_status add_result(struct psc_trace *trace, struct trace_thread *thread,
                                  const struct python_thread_work *work)
{
    struct trace_wait *wait = arena_alloc(trace->arena, sizeof(*wait));
    if (!wait)
        return PSC_ERR_MEMORY;
    *wait = (struct trace_wait){
        .kind = TRACE_WAIT_FUTURE,
        .object = work->object ? work->object : "a future",
        .has_address = true,
        .address = work->result,
        .owner_tid = find_tid_of_python(trace, work->by_thread),
        .owner_certain = work->known_by != NULL,
        .known_by = work->known_by ? work->known_by : "the local variables of Future.result()",
        .timed = work->timed,
        .owner_task = work->by_task,
        .owner_task_name = work->by_name,
        .loop_tid = find_tid_of_python(trace, work->by_loop_thread),
        .work_queue = work->by_queue};
    thread->result = wait;
    return PSC_OK;
}

enum psc_status fill_futures(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    size_t count = capture->work_count;
    if (!count)
        return PSC_OK;
    struct trace_worker *workers = arena_array(trace->arena, count, sizeof(*workers));
    enum psc_status status = workers ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < count; i++) {
        const struct python_thread_work *work = &capture->works[i];
        int32_t tid = find_tid_of_python(trace, work->thread->thread_id);
        struct trace_thread *thread = find_thread(trace, tid);
        if (tid && work->work_queue)
            workers[trace->worker_count++] = (struct trace_worker){tid, work->work_queue};
        if (thread && work->result)
            status = add_result(trace, thread, work);
    }
    trace->workers = workers;
    return status;
}
