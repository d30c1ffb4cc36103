#include "as_text_private.h"

#include "what_runs.h"

#include <inttypes.h>
#include <string.h>

/* Of the command line on the first line; JSON has all of it. */
#define COMMAND_LINE_LIMIT 400
/* Of several GILs, how many holders are named; JSON has all of them. */
#define HOLDER_LIMIT 4

static const char *const separator = " \u00b7 ";

static void add_argument(struct text *text, const char *argument)
{
    bool quoted = !*argument || strpbrk(argument, " \t\n\"'\\$`|&;<>()*?");
    if (quoted)
        text_add_char(text, '\'');
    text_add_escaped(text, argument);
    if (quoted)
        text_add_char(text, '\'');
}

/* Cuts at a limit without cutting a character in two. */
static void cut_text(struct text *text, size_t limit)
{
    if (text->size <= limit)
        return;
    while (limit && ((unsigned char)text->data[limit] & 0xc0) == 0x80)
        limit--;
    text->size = limit;
    text_add_string(text, "\u2026");
}

static void add_command_line(struct text *text, const struct psc_trace *trace)
{
    if (!trace->argument_count) {
        text_add_escaped(text, trace->executable ? trace->executable : "unknown program");
        return;
    }
    size_t start = text->size;
    for (size_t i = 0; i < trace->argument_count; i++) {
        if (i)
            text_add_char(text, ' ');
        add_argument(text, trace->arguments[i]);
        if (text->size - start > COMMAND_LINE_LIMIT)
            break;
    }
    cut_text(text, start + COMMAND_LINE_LIMIT);
}

static const char *find_thread_name(const struct psc_trace *trace, int32_t tid)
{
    for (size_t i = 0; i < trace->thread_count; i++)
        if (trace->threads[i].tid == tid)
            return trace->threads[i].name;
    return NULL;
}

/* Of who does nothing, whatever its threads wait for. */
static void add_living(struct print_sink *sink, const struct psc_trace *trace,
                       const struct psc_print_options *options)
{
    struct text *text = &sink->buffer;
    const char *stopped_by = trace->running ? trace->running->stopped_by : NULL;
    if (trace->held)
        text_add_string(text, "a living process, held by a debugger");
    else if (trace->paused)
        text_printf(text, "a living process, stopped for %.1f ms", trace->pause);
    else if (trace->threads_only)
        text_add_string(text, "a living process, of which only the names and states of its "
                              "threads can be read");
    else
        text_add_string(text, "a living process, read without stopping it");
    if (stopped_by) {
        text_add_string(text, "; ");
        print_add_style(text, options, PRINT_ALARM);
        text_add_escaped(text, stopped_by);
        text_add_string(text, " had stopped it before: it does nothing until SIGCONT");
        print_add_style(text, options, PRINT_PLAIN);
    }
    text_add_char(text, '\n');
}

static void add_cause(struct print_sink *sink, const struct psc_trace *trace,
                      const struct psc_print_options *options)
{
    struct text *text = &sink->buffer;
    const struct trace_crash *crash = trace->crash;
    text_add_string(text, "  ");
    if (trace->exit && !crash) {
        text_printf(text, "exited with status %d, without a core file\n", trace->exit->status);
        return;
    }
    if (!crash || crash->cause == TRACE_CAUSE_SNAPSHOT) {
        if (trace->path)
            text_add_string(text, "a snapshot, taken from a running process\n");
        else
            add_living(sink, trace, options);
        return;
    }
    print_add_style(&sink->buffer, options, PRINT_ALARM);
    bool is_dead = !trace->kind || strcmp(trace->kind, "process") != 0;
    text_add_string(text, is_dead ? "died of " : "stopped by ");
    text_add_escaped(text, crash->signal);
    if (crash->tid)
        text_printf(text, " in thread %d", crash->tid);
    const char *name = crash->tid ? find_thread_name(trace, crash->tid) : NULL;
    if (name) {
        text_add_string(text, " \"");
        text_add_escaped(text, name);
        text_add_char(text, '"');
    }
    if (crash->summary) {
        text_add_string(text, ": ");
        text_add_escaped(text, crash->summary);
    }
    print_text_instruction(crash, text);
    if (crash->raised_again)
        text_add_string(text, "; raised again by a signal handler");
    if (crash->handler_fault) {
        text_add_string(text, "; then its handler died of ");
        text_add_escaped(text, crash->handler_fault);
    }
    print_add_style(&sink->buffer, options, PRINT_PLAIN);
    text_add_char(text, '\n');
    if (crash->during) {
        text_add_string(text, "  ");
        text_add_escaped(text, crash->during);
        text_add_char(text, '\n');
    }
    if (crash->object) {
        text_add_string(text, "  ");
        text_add_escaped(text, crash->object);
        text_add_char(text, '\n');
    }
    if (crash->damage) {
        text_add_string(text, "  damaged: ");
        text_add_escaped(text, crash->damage);
        text_add_char(text, '\n');
    }
    if (crash->message) {
        text_add_string(text, "  message: ");
        text_add_escaped(text, crash->message);
        text_add_char(text, '\n');
    }
}

static void add_python(struct text *text, const struct psc_trace *trace)
{
    const struct trace_python *python = trace->python;
    if (!python) {
        text_add_escaped(text, trace->python_problem ? trace->python_problem
                                                     : "no Python interpreter found");
        return;
    }
    bool is_cpython = !python->implementation || !strcmp(python->implementation, "CPython");
    text_add_escaped(text, is_cpython ? "Python" : python->implementation);
    text_add_char(text, ' ');
    text_add_escaped(text, python->version ? python->version : "of unknown version");
    if (python->debug)
        text_add_string(text, " debug build");
    if (python->free_threaded)
        text_add_string(text, " free-threaded");
}

/* Several: who holds each of them. */
static void add_holders(struct text *text, const struct trace_python *python)
{
    size_t shown = 0, left = 0;
    bool known = true;
    for (size_t i = 0; i < python->interpreter_count; i++) {
        const struct trace_interpreter *interpreter = &python->interpreters[i];
        known = known && (interpreter->gil_known || interpreter->without_gil);
        if (!interpreter->gil_holder_tid || interpreter->gil_id != interpreter->id)
            continue;
        if (shown == HOLDER_LIMIT) {
            left++;
            continue;
        }
        text_add_string(text, shown++ ? ", " : separator);
        text_printf(text, "%s%d (interpreter %" PRId64 ")", shown == 1 ? "GILs held by " : "",
                    interpreter->gil_holder_tid, interpreter->id);
    }
    if (left)
        text_printf(text, ", %zu more", left);
    if (!shown && known) {
        text_add_string(text, separator);
        text_add_string(text, "GILs free");
    }
}

static void add_gils(struct text *text, const struct trace_python *python)
{
    if (python->interpreter_count > 1) {
        text_add_string(text, separator);
        text_printf(text, "%zu interpreters", python->interpreter_count);
    }
    if (print_has_several_gils(python)) {
        add_holders(text, python);
    } else if (python->gil_known && python->gil_holder_tid) {
        text_add_string(text, separator);
        text_printf(text, "GIL held by %d", python->gil_holder_tid);
    } else if (python->without_gil) {
        text_add_string(text, separator);
        text_add_string(text, "no GIL");
    } else if (python->gil_known) {
        text_add_string(text, separator);
        text_add_string(text, "GIL free");
    }
}

static void add_interpreter_line(struct text *text, const struct psc_trace *trace)
{
    text_add_string(text, "  ");
    add_python(text, trace);
    if (trace->architecture) {
        text_add_string(text, separator);
        text_add_escaped(text, trace->architecture);
    }
    text_add_string(text, separator);
    size_t all = trace->thread_count + trace->unwanted_threads;
    if (trace->unwanted_threads)
        text_printf(text, "%zu of ", trace->thread_count);
    text_printf(text, "%zu thread%s", all, all == 1 ? "" : "s");
    if (trace->python)
        add_gils(text, trace->python);
    if (trace->thread_count && trace->threads[0].state & TRACE_STATE_CRASHED &&
        trace->threads[0].exception_count) {
        text_add_string(text, separator);
        print_text_exception_summary(&trace->threads[0].exceptions[0], text);
    }
    text_add_char(text, '\n');
}

/* Line by line, so that a newline stays one and all else is escaped. */
static void add_explanation(struct print_sink *sink, const struct psc_trace *trace,
                            const struct psc_print_options *options)
{
    const char *line = trace->explain.data;
    if (!options->explain || !trace->explain.size)
        return;
    struct text copy = {0};
    text_add_char(&sink->buffer, '\n');
    print_add_style(&sink->buffer, options, PRINT_DIM);
    while (*line) {
        size_t size = strcspn(line, "\n");
        text_clear(&copy);
        text_add(&copy, line, size);
        text_add_string(&sink->buffer, "  ");
        if (!copy.failed)
            text_add_escaped(&sink->buffer, copy.data);
        text_add_char(&sink->buffer, '\n');
        line += size + (line[size] == '\n');
    }
    print_add_style(&sink->buffer, options, PRINT_PLAIN);
    text_deinit(&copy);
}

void print_text_name(const struct psc_trace *trace, const struct psc_print_options *options,
                     struct print_sink *sink)
{
    struct text *text = &sink->buffer;
    print_add_style(&sink->buffer, options, PRINT_BOLD);
    if (trace->path)
        text_add_escaped(text, trace->path);
    else
        text_printf(text, "process %d", trace->pid);
    print_add_style(&sink->buffer, options, PRINT_PLAIN);
    what_runs_add_rank(text, trace->running);
    text_add_string(text, ": ");
    add_command_line(text, trace);
    text_add_char(text, '\n');
}

/* Each stands in the head of one of its processes. */
static void add_deadlocks(struct print_sink *sink, const struct psc_trace *trace, bool one_of_many,
                          const struct psc_print_options *options)
{
    for (size_t i = 0; i < trace->deadlock_count; i++) {
        const struct trace_deadlock *deadlock = &trace->deadlocks[i];
        if (one_of_many && deadlock->members[0].pid != trace->pid)
            continue;
        if (!print_sink_takes(sink))
            break;
        text_add_string(&sink->buffer, "  ");
        print_add_style(&sink->buffer, options,
                        deadlock->verdict == TRACE_VERDICT_DEADLOCK ? PRINT_ALARM : PRINT_NOTICE);
        print_add_deadlock(deadlock, &sink->buffer);
        print_add_style(&sink->buffer, options, PRINT_PLAIN);
        text_add_string(&sink->buffer, ":\n");
        for (size_t k = 0; k < deadlock->count;) {
            text_add_string(&sink->buffer, "    ");
            k = print_add_deadlock_member(deadlock, k, &sink->buffer);
            text_add_char(&sink->buffer, '\n');
        }
    }
}

void print_text_header(const struct psc_trace *trace, bool one_of_many,
                       const struct psc_print_options *options, struct print_sink *sink)
{
    print_text_name(trace, options, sink);
    add_cause(sink, trace, options);
    if (trace->exit && trace->exit->without_core) {
        text_add_string(&sink->buffer, "  no core file: ");
        text_add_escaped(&sink->buffer, trace->exit->without_core);
        text_add_char(&sink->buffer, '\n');
    }
    if (!trace->exit)
        add_interpreter_line(&sink->buffer, trace);
    add_deadlocks(sink, trace, one_of_many, options);
    what_runs_add_lines(&sink->buffer, trace->running, options->running);
    add_explanation(sink, trace, options);
}
