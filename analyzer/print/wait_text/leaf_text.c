/* What tasks wait for. */
#include "wait_text.h"

#include <inttypes.h>
#include <string.h>

#define HOLDER_LIMIT 4u /* That are named; JSON has all. */

static void add_task(const struct trace_task *task, struct text *text)
{
    text_add_string(text, "task ");
    if (!task->name) {
        text_printf(text, "0x%" PRIx64, task->id);
        return;
    }
    text_add_char(text, '"');
    text_add_escaped(text, task->name);
    text_add_char(text, '"');
}

static void add_holders(const struct trace_tasks *tasks, const struct trace_leaf *leaf,
                        struct text *text)
{
    for (size_t i = 0; i < leaf->holder_count && i < HOLDER_LIMIT; i++) {
        text_add_string(text, i ? ", " : ", held by ");
        add_task(&tasks->items[leaf->holders[i]], text);
    }
    if (leaf->holder_count > HOLDER_LIMIT)
        text_printf(text, ", %zu more", leaf->holder_count - HOLDER_LIMIT);
    if (leaf->holder_count && !leaf->wait.owner_certain)
        text_add_string(text, " (likely)");
}

static void add_tasks(const struct trace_task *task, struct text *text)
{
    size_t count = task->waits_for_count ? task->waits_for_count : task->leaf->holder_count;
    text_printf(text, "waits for %s%zu task%s", task->leaf->any && count > 1 ? "one of " : "",
                count, count == 1 ? "" : "s");
}

static void add_time(const struct trace_wait *wait, bool alone, struct text *text)
{
    if (alone && wait->has_time_left)
        print_add_time_left(wait->time_left, text);
    else if (wait->timed && wait->kind != TRACE_WAIT_SLEEP)
        text_add_string(text, ", with a time limit");
}

static void add_worker(const struct trace_wait *wait, struct text *text)
{
    if (wait->owner_tid)
        text_printf(text, ": thread %d", wait->owner_tid);
    else if (wait->work_queue)
        text_add_string(text, ", which has not begun");
}

bool print_add_leaf(const struct trace_tasks *tasks, const struct trace_task *task, bool alone,
                    struct text *text)
{
    const struct trace_leaf *leaf = task->leaf;
    const struct trace_wait *wait = &leaf->wait;
    if (wait->kind == TRACE_WAIT_TASKS && (task->waits_for_count || leaf->holder_count)) {
        add_tasks(task, text);
        add_time(wait, alone, text);
        return true;
    }
    if (!wait->object || (wait->kind == TRACE_WAIT_FUTURE && wait->address == task->future))
        return false;
    text_add_string(text, "waits for ");
    text_add_escaped(text, wait->object);
    if (wait->has_address && leaf->fd < 0 && wait->kind != TRACE_WAIT_FUTURE &&
        wait->kind != TRACE_WAIT_CHILD)
        text_printf(text, " 0x%" PRIx64, wait->address);
    add_worker(wait, text);
    add_holders(tasks, leaf, text);
    add_time(wait, alone, text);
    return true;
}

static bool texts_equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool print_leaves_equal(const struct trace_leaf *a, const struct trace_leaf *b)
{
    if (!a || !b)
        return a == b;
    const struct trace_wait *x = &a->wait;
    const struct trace_wait *y = &b->wait;
    return x->kind == y->kind && texts_equal(x->object, y->object) &&
           (x->address == y->address || x->kind == TRACE_WAIT_FUTURE) &&
           x->owner_tid == y->owner_tid && x->work_queue == y->work_queue && x->timed == y->timed &&
           a->any == b->any && a->holder_count == b->holder_count &&
           (!a->holder_count ||
            !memcmp(a->holders, b->holders, a->holder_count * sizeof(*a->holders)));
}
