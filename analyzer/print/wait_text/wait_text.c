#include "wait_text.h"

#include <inttypes.h>
#include <string.h>

static const char *find_thread_name(const struct psc_trace *trace, int32_t tid)
{
    for (size_t i = 0; i < trace->thread_count; i++)
        if (trace->threads[i].tid == tid)
            return trace->threads[i].name;
    return NULL;
}

static const char *what_owner_does(const struct trace_wait *wait)
{
    if (wait->kind == TRACE_WAIT_FUTURE)
        return "worked on";
    return wait->kind == TRACE_WAIT_STOP_THE_WORLD ? "held up" : "held";
}

static void add_owner(const struct psc_trace *trace, const struct trace_wait *wait,
                      struct text *text)
{
    if (wait->owner_text) {
        text_add_string(text, ", ");
        text_add_escaped(text, wait->owner_text);
    } else if (wait->owner_tid && wait->kind != TRACE_WAIT_JOIN) {
        const char *name = find_thread_name(trace, wait->owner_tid);
        text_printf(text, ", %s by thread %d", what_owner_does(wait), wait->owner_tid);
        if (name) {
            text_add_string(text, " \"");
            text_add_escaped(text, name);
            text_add_char(text, '"');
        }
        if (wait->owner_pid && wait->owner_pid != trace->pid)
            text_printf(text, " of process %d", wait->owner_pid);
        if (!wait->owner_certain)
            text_add_string(text, " (likely)");
    }
}

void print_add_time_left(double seconds, struct text *text)
{
    text_printf(text, ", %.*f s left", seconds < 10 ? 1 : 0, seconds);
}

static void add_time(const struct trace_wait *wait, bool left, struct text *text)
{
    if (wait->has_time_left && left)
        print_add_time_left(wait->time_left, text);
    else if (wait->timed && wait->kind != TRACE_WAIT_SLEEP && wait->kind != TRACE_WAIT_POLL)
        text_add_string(text, ", with a time limit");
}

/* Of a future: the task that completes it, or why nobody works on it. */
static void add_task(const struct trace_wait *wait, struct text *text)
{
    if (wait->owner_task && wait->owner_task_name) {
        text_add_string(text, ", completed by task \"");
        text_add_escaped(text, wait->owner_task_name);
        text_add_char(text, '"');
    } else if (wait->owner_task) {
        text_printf(text, ", completed by task 0x%" PRIx64, wait->owner_task);
    } else if (wait->work_queue) {
        text_add_string(text, ", with which its executor has not begun");
    } else if (wait->loop_tid) {
        text_printf(text, ", with which the event loop of thread %d has not begun", wait->loop_tid);
    }
}

bool print_add_wait(const struct psc_trace *trace, const struct trace_wait *wait,
                    const struct print_wait_common *common, struct text *text)
{
    if (!wait || wait->kind == TRACE_WAIT_GIL || !wait->object)
        return false;
    if (wait->kind == TRACE_WAIT_SLEEP) {
        text_add_string(text, "sleeps");
    } else {
        text_add_string(text, "waits for ");
        text_add_escaped(text, wait->object);
    }
    if (wait->has_address && common->address && wait->kind != TRACE_WAIT_JOIN)
        text_printf(text, " 0x%" PRIx64, wait->address);
    add_owner(trace, wait, text);
    add_task(wait, text);
    add_time(wait, common->time, text);
    return true;
}

static bool strings_equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool print_waits_equal(const struct trace_wait *a, const struct trace_wait *b)
{
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && strings_equal(a->object, b->object) &&
           a->owner_tid == b->owner_tid && a->owner_pid == b->owner_pid &&
           a->owner_certain == b->owner_certain && a->owner_task == b->owner_task &&
           a->work_queue == b->work_queue && a->loop_tid == b->loop_tid &&
           strings_equal(a->owner_text, b->owner_text) && a->timed == b->timed;
}
