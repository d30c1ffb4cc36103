/* The threads of a trace: what each is doing, its exceptions, its frames. */
#include "as_text_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_state(struct print_sink *sink, const struct psc_print_options *options,
                      enum print_style style, const char *words)
{
    text_add_string(&sink->buffer, " \u00b7 ");
    print_add_style(&sink->buffer, options, style);
    text_add_string(&sink->buffer, words);
    print_add_style(&sink->buffer, options, PRINT_PLAIN);
}

bool print_has_several_gils(const struct trace_python *python)
{
    for (size_t i = 1; python && i < python->interpreter_count; i++)
        if (python->interpreters[i].gil_id >= 0 && !python->interpreters[i].without_gil &&
            python->interpreters[i].gil_id != python->interpreters[0].gil_id)
            return true;
    return false;
}

/* Of threads that wait alike. */
static struct print_wait_common find_common(const struct psc_trace *trace, size_t first,
                                            const struct print_group_link *links)
{
    const struct trace_wait *wait = trace->threads[first].waits_for;
    struct print_wait_common common = {.address = true,
                                       .time = links[first].next == PRINT_NO_THREAD};
    for (size_t i = first; wait && i != PRINT_NO_THREAD; i = links[i].next)
        common.address &= trace->threads[i].waits_for->address == wait->address;
    return common;
}

static void add_states(struct print_sink *sink, const struct psc_trace *trace, size_t first,
                       const struct print_group_link *links,
                       const struct psc_print_options *options)
{
    const struct trace_thread *thread = &trace->threads[first];
    const struct print_wait_common common = find_common(trace, first, links);
    char words[64];
    static const struct {
        uint32_t bit;
        enum print_style style;
        const char *words;
    } states[] = {
        {TRACE_STATE_CRASHED, PRINT_ALARM, "crashed"},
        {TRACE_STATE_MAIN, PRINT_PLAIN, "main thread"},
        {TRACE_STATE_HOLDS_GIL, PRINT_NOTICE, "holds the GIL"},
        {TRACE_STATE_WAITS_FOR_GIL, PRINT_PLAIN, "waiting for the GIL"},
        {TRACE_STATE_COLLECTING, PRINT_PLAIN, "collecting garbage"},
        {TRACE_STATE_FINALIZING, PRINT_PLAIN, "finalizing"},
        {TRACE_STATE_IDLE, PRINT_PLAIN, "idle"},
        {TRACE_STATE_TERMINATED, PRINT_PLAIN, "terminated"},
        {TRACE_STATE_NO_PYTHON, PRINT_PLAIN, "no Python state"},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(states); i++) {
        if (!(thread->state & states[i].bit))
            continue;
        if (states[i].bit == TRACE_STATE_MAIN && thread->name &&
            !strcmp(thread->name, "MainThread"))
            continue;
        snprintf(words, sizeof(words), "%s", states[i].words);
        if (states[i].bit == TRACE_STATE_HOLDS_GIL && print_has_several_gils(trace->python))
            snprintf(words, sizeof(words), "holds the GIL of interpreter %" PRId64,
                     thread->gil_interpreter_id);
        add_state(sink, options, states[i].style, words);
    }
    PSC_CLEANUP(text_deinit) struct text wait = {0};
    if (print_add_wait(trace, thread->waits_for, &common, &wait))
        add_state(sink, options, PRINT_PLAIN, wait.data);
    sink->buffer.failed |= wait.failed;
    // Where frames are of several, each run of them tells.
    int64_t interpreter = thread->has_python ? print_find_interpreter(thread) : -1;
    if (interpreter > 0) {
        snprintf(words, sizeof(words), "interpreter %" PRId64, interpreter);
        add_state(sink, options, PRINT_PLAIN, words);
    }
}

/* `Thread 1 "a"`, `Threads 2, 3 "b" … · 2 threads`, and the states they share. */
static void add_thread_heading(struct print_sink *sink, const struct psc_trace *trace, size_t first,
                               const struct print_group_link *links,
                               const struct psc_print_options *options)
{
    struct text *text = &sink->buffer;
    const struct trace_thread *thread = &trace->threads[first];
    size_t count = 0;
    bool same_names = true;
    text_add_char(text, '\n');
    print_add_style(&sink->buffer, options, PRINT_BOLD);
    text_add_string(text, links[first].next == PRINT_NO_THREAD ? "Thread" : "Threads");
    for (size_t i = first; i != PRINT_NO_THREAD; i = links[i].next) {
        const struct trace_thread *member = &trace->threads[i];
        text_add_string(text, count++ ? ", " : " ");
        if (member->has_rank)
            text_printf(text, "rank %" PRIu64 "/", member->rank);
        else if (member->process && member->process != member->tid)
            text_printf(text, "%d/", member->process);
        if (member->tid)
            text_printf(text, "%d", member->tid);
        else
            text_printf(text, "with Python id 0x%" PRIx64, member->python_thread_id);
        same_names = same_names && print_strings_equal(member->name, thread->name);
    }
    if (thread->name) {
        text_add_string(text, " \"");
        text_add_escaped(text, thread->name);
        text_add_char(text, '"');
    }
    if (!same_names)
        text_add_string(text, " \u2026");
    print_add_style(&sink->buffer, options, PRINT_PLAIN);
    if (count > 1)
        text_printf(text, " \u00b7 %zu threads", count);
    if (!thread->tid && thread->state & TRACE_STATE_TERMINATED)
        text_add_string(text, " \u00b7 no native thread");
    add_states(sink, trace, first, links, options);
    text_add_char(text, '\n');
}

/* ---- names ---- */

/* Of C++ and Rust, where they are long. */
static bool add_long_names(struct short_names *names, const struct trace_thread *thread)
{
    const struct trace_location *last = NULL;
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct trace_location *location = thread->frames[i].location;
        if (location == last || thread->frames[i].hidden || location->kind != TRACE_NATIVE)
            continue;
        last = location;
        if (location->function && strlen(location->function) > SHORT_NAME_LIMIT &&
            !short_names_add(names, location->function))
            return false;
    }
    return true;
}

/* The long names of all threads, so that a function has the same name in each; with `all` none. */
static struct short_names *shorten_names(const struct psc_trace *trace,
                                         const struct psc_print_options *options)
{
    struct short_names *names = short_names_create();
    bool fine = names != NULL;
    for (size_t i = 0; fine && !options->all && i < trace->thread_count; i++)
        fine = add_long_names(names, &trace->threads[i]);
    if (fine && short_names_settle(names))
        return names;
    short_names_destroy(names);
    return NULL;
}

/* "SIGSEGV comes again and again: reading from 0x0 ..." */
static void add_fault(struct print_sink *sink, const struct trace_crash *fault,
                      const struct psc_print_options *options)
{
    struct text *text = &sink->buffer;
    if (!fault)
        return;
    text_add_string(text, "  ");
    print_add_style(text, options, PRINT_ALARM);
    text_add_string(text, fault->raised_again ? "in the handler of " : "faults with ");
    text_add_escaped(text, fault->signal);
    if (fault->summary) {
        text_add_string(text, ": ");
        text_add_escaped(text, fault->summary);
    }
    print_text_instruction(fault, text);
    text_add_string(text, fault->raised_again
                              ? "; it comes again when the handler returns, as Python's own do"
                              : "; again and again, while its handler only returns, as Python's "
                                "own do");
    print_add_style(text, options, PRINT_PLAIN);
    text_add_char(text, '\n');
}

static enum psc_status print_threads(const struct psc_trace *trace,
                                     const struct print_group_link *links,
                                     const struct short_names *names,
                                     const struct psc_print_options *options,
                                     struct print_sink *sink)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < trace->thread_count && !sink->stopped; i++) {
        if (links[i].follower || !print_sink_takes(sink))
            continue;
        add_thread_heading(sink, trace, i, links, options);
        add_fault(sink, trace->threads[i].fault, options);
        print_text_exceptions(&trace->threads[i], options, sink);
        status = print_text_frames(&trace->threads[i], names, options, sink);
    }
    return status;
}

enum psc_status print_text_threads(const struct psc_trace *trace,
                                   const struct psc_print_options *options, struct print_sink *sink)
{
    PSC_CLEANUP(cleanup_free) struct print_group_link *links = print_group_threads(trace, options);
    struct short_names *names = shorten_names(trace, options);
    enum psc_status status =
        links && names ? print_threads(trace, links, names, options, sink) : PSC_ERR_MEMORY;
    short_names_destroy(names);
    return status;
}
