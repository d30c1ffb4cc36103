/* What a death is: its cause, then native functions, then those of the application. */
#include "signature_private.h"

#include <stdlib.h>
#include <string.h>

#define TITLE_LIMIT 255u
/* Modules that stand for a stack without any name. */
#define MODULE_PARTS 3u
/* Threads of which each waits for the next. */
#define HOLDER_LIMIT 64u

/* ---- whose stack it is ---- */

/* A snapshot is of a process that went on. */
static bool died(const struct psc_trace *trace)
{
    return trace->crash && trace->crash->cause != TRACE_CAUSE_SNAPSHOT;
}

/* Of a process that hangs; one that ends by itself after a while is none. */
static const struct trace_deadlock *find_deadlock(const struct psc_trace *trace)
{
    if (died(trace) || !trace->deadlock_count || trace->deadlocks[0].verdict == TRACE_VERDICT_STALL)
        return NULL;
    return &trace->deadlocks[0];
}

static const struct trace_thread *find_thread(const struct psc_trace *trace, uint32_t state)
{
    for (size_t i = 0; i < trace->thread_count; i++)
        if (trace->threads[i].state & state)
            return &trace->threads[i];
    return NULL;
}

/* The thread of this process that has to do something before that one goes on; NULL: none. */
static const struct trace_thread *find_owner(const struct psc_trace *trace,
                                             const struct trace_thread *thread)
{
    const struct trace_wait *wait = thread->waits_for;
    if (!wait || (wait->owner_pid && wait->owner_pid != trace->pid))
        return NULL;
    int32_t tid = wait->owner_tid ? wait->owner_tid : wait->loop_tid;
    for (size_t i = 0; tid && i < trace->thread_count; i++)
        if (trace->threads[i].tid == tid)
            return &trace->threads[i];
    return NULL;
}

/* Who has what it waits for, and what that one waits for, to the last; in a circle there is none.
 */
static const struct trace_thread *find_holder(const struct psc_trace *trace,
                                              const struct trace_thread *thread)
{
    const struct trace_thread *holder = thread;
    for (size_t i = 0; i < HOLDER_LIMIT; i++) {
        const struct trace_thread *next = find_owner(trace, holder);
        if (!next)
            return holder;
        holder = next;
    }
    return thread;
}

static const struct trace_thread *choose_thread(const struct psc_trace *trace)
{
    const struct trace_thread *thread = find_thread(trace, TRACE_STATE_CRASHED);
    if (!thread && !died(trace)) {
        thread = find_thread(trace, TRACE_STATE_HOLDS_GIL);
        if (!thread)
            thread = find_thread(trace, TRACE_STATE_MAIN);
        if (thread)
            thread = find_holder(trace, thread);
    }
    return thread || !trace->thread_count ? thread : &trace->threads[0];
}

/* ---- the cause ---- */

/* What a wild pointer hits is by chance. */
static const char *name_cause(enum trace_cause cause)
{
    switch (cause) {
    case TRACE_CAUSE_UNKNOWN:
    case TRACE_CAUSE_OTHER:
        return NULL;
    case TRACE_CAUSE_WILD_POINTER:
    case TRACE_CAUSE_FREED_MEMORY:
    case TRACE_CAUSE_READ_ONLY:
    case TRACE_CAUSE_NO_EXECUTE:
        return "bad-pointer";
    case TRACE_CAUSE_NULL_POINTER:
    case TRACE_CAUSE_STACK_OVERFLOW:
    case TRACE_CAUSE_FILE_TRUNCATED:
    case TRACE_CAUSE_ASSERTION:
    case TRACE_CAUSE_HEAP_CORRUPTION:
    case TRACE_CAUSE_FATAL_ERROR:
    case TRACE_CAUSE_TERMINATE:
    case TRACE_CAUSE_PANIC:
    case TRACE_CAUSE_STACK_SMASHING:
    case TRACE_CAUSE_FORTIFY:
    case TRACE_CAUSE_DIVISION:
    case TRACE_CAUSE_ILLEGAL_INSTRUCTION:
    case TRACE_CAUSE_SECCOMP:
    case TRACE_CAUSE_SENT:
    case TRACE_CAUSE_SNAPSHOT:
    case TRACE_CAUSE_OUT_OF_MEMORY:
        return trace_cause_name(cause);
    }
    return NULL;
}

static void describe_cause(const struct psc_trace *trace, const struct trace_thread *thread,
                           struct text *ret)
{
    const struct trace_crash *crash = trace->crash;
    if (trace->exit && !crash) {
        text_printf(ret, "exit %d", trace->exit->status);
        return;
    }
    if (!died(trace)) {
        text_add_string(ret, find_deadlock(trace) ? "deadlock" : "hang");
        if (find_deadlock(trace))
            return;
        if (thread && thread->waits_for)
            text_printf(ret, " %s", trace_wait_name(thread->waits_for->kind));
        return;
    }
    const char *cause = name_cause(crash->cause);
    text_add_string(ret, crash->signal ? crash->signal : "signal");
    if (cause)
        text_printf(ret, " %s", cause);
    if (crash->message) {
        text_add_string(ret, ": ");
        signature_mask_message(crash->message, ret);
    }
}

/* ---- the parts ---- */

/* Of a stack without a name: never nothing. */
static void add_modules(struct part_list *parts, const struct trace_thread *thread)
{
    const struct trace_module *last = NULL;
    size_t before = parts->count;
    for (size_t i = 0; thread && i < thread->frame_count && !parts->failed; i++) {
        const struct trace_module *module = thread->frames[i].location->module;
        if (!module || module == last)
            continue;
        struct text part = {0};
        signature_name_module(module->name, &part);
        text_add_char(&part, '!');
        if (part.failed)
            parts->failed = true;
        else
            parts_add(parts, part.data);
        text_deinit(&part);
        last = module;
        if (parts->count - before >= MODULE_PARTS)
            return;
    }
    if (parts->count == before)
        parts_add(parts, "no stack");
}

/* A test of a parametrized function is that function. */
static void add_exit(struct part_list *parts, const struct psc_trace *trace)
{
    PSC_CLEANUP(text_deinit) struct text part = {0};
    const char *test = trace->running ? trace->running->test : NULL;
    if (test) {
        text_add(&part, test, strcspn(test, "["));
        // Another may have begun and ended it since.
        text_add_string(&part, trace->running->has_test_age ? " (last seen)" : "");
    } else if (trace->executable) {
        signature_name_module(strrchr(trace->executable, '/') ? strrchr(trace->executable, '/') + 1
                                                              : trace->executable,
                              &part);
    }
    if (part.failed)
        parts->failed = true;
    else
        parts_add(parts, part.size ? part.data : "a program");
}

static bool overflowed(const struct psc_trace *trace)
{
    return trace->crash && trace->crash->cause == TRACE_CAUSE_STACK_OVERFLOW;
}

static void add_frames(struct part_list *parts, const struct psc_trace *trace,
                       const struct trace_thread *thread, size_t *ret_native)
{
    size_t native = 0, python = 0;
    *ret_native = 0;
    if (trace->exit) {
        add_exit(parts, trace);
        return;
    }
    const struct trace_deadlock *deadlock = find_deadlock(trace);
    if (deadlock && add_deadlock_parts(parts, trace, deadlock))
        return;
    if (thread && overflowed(trace) && add_recursion_parts(parts, thread))
        return;
    bool recursed = thread && overflowed(trace) && thread->recursion_count;
    if (recursed) {
        native = add_native_recursion_parts(parts, thread);
        python = add_python_parts(parts, thread, !native);
    } else if (thread) {
        // A thread that waits is where its Python code is; how it waits is in the cause.
        native = died(trace) ? add_native_parts(parts, thread) : 0;
        python = add_python_parts(parts, thread, !native);
    }
    if (!native && !python)
        add_modules(parts, thread);
    *ret_native = native;
}

/* "SIGSEGV null-pointer in string_at · a:parse_header" */
static const char *make_title(struct arena *arena, const struct part_list *parts, size_t native)
{
    struct text title = {0};
    for (size_t i = 0; i < parts->count; i++) {
        const char *before = i == 0 ? "" : i == 1 ? " in " : i <= native ? " ← " : " · ";
        text_add_string(&title, before);
        text_add_string(&title, parts->items[i]);
    }
    if (title.size > TITLE_LIMIT) {
        size_t size = TITLE_LIMIT - 3;
        while (size && utf8_continues(title.data[size]))
            size--;
        title.size = size;
        text_add_string(&title, "…");
    }
    const char *text = title.failed ? NULL : arena_strndup(arena, title.data, title.size);
    text_deinit(&title);
    return text;
}

static void add_cause(struct part_list *parts, const struct psc_trace *trace,
                      const struct trace_thread *thread)
{
    struct text cause = {0};
    describe_cause(trace, thread, &cause);
    if (cause.failed)
        parts->failed = true;
    else
        parts_add(parts, cause.data);
    text_deinit(&cause);
}

/* All that is known of it, as a person reads it. */
static void explain(struct psc_trace *trace, struct trace_signature *signature,
                    const struct text *frames)
{
    PSC_CLEANUP(text_deinit) struct text text = {0};
    text_add_escaped(&text, signature->title ? signature->title : "");
    text_printf(&text, "\n  hash  %s, version %u\n  exact %s\n", signature->hash,
                signature->version, signature->exact);
    for (size_t i = 0; i < signature->part_count; i++) {
        text_printf(&text, "  part  ");
        text_add_escaped(&text, signature->parts[i]);
        text_add_char(&text, '\n');
    }
    text_add(&text, frames->size ? frames->data : "", frames->size);
    if (!text.failed)
        signature->explanation = arena_strndup(trace->arena, text.data, text.size);
}

static enum psc_status finish(struct psc_trace *trace, const struct part_list *parts, size_t native)
{
    struct arena *arena = trace->arena;
    struct trace_signature *signature = arena_alloc(arena, sizeof(*signature));
    const char **items = arena_array(arena, parts->count + 1, sizeof(*items));
    const struct trace_thread *thread = choose_thread(trace);
    if (parts->failed || parts->explain->failed || !signature || !items)
        return PSC_ERR_MEMORY;
    memcpy(items, parts->items, parts->count * sizeof(*items));
    *signature = (struct trace_signature){
        .version = SIGNATURE_VERSION,
        .hash = digest_strings(arena, parts->items, parts->count),
        .exact = trace->exit ? digest_strings(arena, parts->items, parts->count)
                             : make_exact_key(arena, thread, died(trace) ? trace->crash : NULL),
        .title = make_title(arena, parts, native),
        .parts = items,
        .part_count = parts->count,
    };
    if (!arena_is_exhausted(arena))
        explain(trace, signature, parts->explain);
    trace->signature = signature;
    return signature->explanation ? PSC_OK : PSC_ERR_MEMORY;
}

enum psc_status signature_make(const struct signature_rules *rules, struct psc_trace *trace)
{
    const struct trace_thread *thread = choose_thread(trace);
    PSC_CLEANUP(text_deinit) struct text explain = {0};
    PSC_CLEANUP(part_list_deinit)
    struct part_list parts = {.rules = rules, .arena = trace->arena, .explain = &explain};
    size_t native;
    add_cause(&parts, trace, thread);
    add_frames(&parts, trace, thread, &native);
    return finish(trace, &parts, native);
}
