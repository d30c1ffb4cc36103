#include "as_text_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANGUAGE_WIDTH 6

/* Frames of a recursion are at few places: their text is kept. */
#define RENDERED_COUNT 64

/* What follows the number of a frame. */
struct rendered {
    const struct trace_location *location;
    uint32_t marks; /* What else the text depends on. */
    struct text text;
};

/* What stays the same for all frames of one thread. */
struct text_layout {
    int number_width;      /* Of "#123". */
    size_t function_width; /* Of the function column. */
    struct rendered rendered[RENDERED_COUNT];
};

static void add_spaces(struct text *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_add_char(text, ' ');
}

static const char *get_function(const struct trace_location *location)
{
    return location->function ? location->function : "??";
}

/* The widest function that fits the limit makes the column. */
static void layout_init(struct text_layout *layout, const struct trace_thread *thread,
                        const struct psc_print_options *options, size_t *ret_numbered)
{
    const struct trace_location *measured[RENDERED_COUNT] = {NULL};
    struct text scratch = {0};
    size_t numbered = 0;
    *layout = (struct text_layout){0};
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct trace_location *location = thread->frames[i].location;
        if (!print_shows_frame(options, &thread->frames[i]) || location->kind == TRACE_GAP)
            continue;
        numbered++;
        const struct trace_location **slot =
            &measured[hash_u64((uintptr_t)location) % RENDERED_COUNT];
        if (location == *slot)
            continue;
        *slot = location;
        text_clear(&scratch);
        text_add_escaped(&scratch, get_function(location));
        size_t width = print_measure_text(scratch.data, scratch.size);
        if (width <= PRINT_FUNCTION_WIDTH && width > layout->function_width)
            layout->function_width = width;
    }
    text_deinit(&scratch);
    layout->number_width = snprintf(NULL, 0, "#%zu", numbered ? numbered - 1 : 0);
    *ret_numbered = numbered;
}

static void layout_deinit(struct text_layout *layout)
{
    for (size_t i = 0; i < RENDERED_COUNT; i++)
        text_deinit(&layout->rendered[i].text);
}

static void add_place(struct text *text, const struct trace_frame *frame)
{
    const struct trace_location *location = frame->location;
    bool is_native = location->kind == TRACE_NATIVE;
    if (location->file && (location->line || !is_native || !location->module)) {
        text_add_escaped(text, location->file);
        if (location->line)
            text_printf(text,
                        location->line_source == TRACE_LINE_ESTIMATE ? ":~%" PRIu32 : ":%" PRIu32,
                        location->line);
    } else if (location->module) {
        text_add_escaped(text, location->module->name);
        if (location->has_offset)
            text_printf(text, "+0x%" PRIx64, location->offset);
    } else if (frame->has_pc) {
        text_printf(text, "0x%" PRIx64, frame->pc);
    } else {
        text_add_string(text, "??");
    }
}

static const char *describe_trust(const struct trace_frame *frame)
{
    switch ((enum trace_trust)frame->trust) {
    case TRACE_TRUST_FRAME_POINTER:
        return " (guessed: frame pointer)";
    case TRACE_TRUST_SCAN:
        return " (guessed: stack scan)";
    case TRACE_TRUST_ANCHOR:
        return " (guessed: Python anchor)";
    case TRACE_TRUST_CONTEXT:
    case TRACE_TRUST_CFI:
        break;
    }
    return "";
}

/* The body of a Cython function that the compiler put into its own wrapper is the function. */
static bool frame_is_wrapped(const struct trace_frame *frame, const struct trace_frame *outward)
{
    return outward && outward->role == TRACE_ROLE_FOLDED && outward->hidden &&
           outward->pc == frame->pc;
}

/* `outward`: the next frame, hidden or not; NULL at the end. */
static void add_marks(struct text *text, const struct trace_frame *frame,
                      const struct trace_frame *outward)
{
    const struct trace_location *location = frame->location;
    if (location->inlined && !frame_is_wrapped(frame, outward))
        text_add_string(text, " (inlined)");
    if (location->kind != TRACE_PYTHON)
        text_add_string(text, describe_trust(frame));
    if (frame->hidden)
        text_add_string(text, " (hidden)");
}

static enum print_style choose_style(const struct trace_frame *frame)
{
    if (frame->hidden)
        return PRINT_DIM;
    switch (frame->location->kind) {
    case TRACE_PYTHON:
        return PRINT_PYTHON;
    case TRACE_CYTHON:
        return PRINT_CYTHON;
    case TRACE_GAP:
        return PRINT_NOTICE;
    case TRACE_NATIVE:
        break;
    }
    return PRINT_PLAIN;
}

static void add_gap(struct print_sink *sink, const struct trace_frame *frame,
                    const struct psc_print_options *options)
{
    text_add_string(&sink->buffer, "  ");
    print_add_style(&sink->buffer, options, PRINT_NOTICE);
    text_add_string(&sink->buffer, "--  gap: ");
    text_add_escaped(&sink->buffer,
                     frame->location->function ? frame->location->function : "no reason is known");
    print_add_style(&sink->buffer, options, PRINT_PLAIN);
    text_add_char(&sink->buffer, '\n');
}

static size_t source_column(const struct text_layout *layout)
{
    return 2 + (size_t)layout->number_width + 2 + LANGUAGE_WIDTH + 2 + 4;
}

/* All of a frame's text but its number. */
static void render_frame(struct text *text, const struct trace_frame *frame,
                         const struct trace_frame *outward, const struct text_layout *layout,
                         const struct psc_print_options *options)
{
    const struct trace_location *location = frame->location;
    text_printf(text, "  %-*s  ", LANGUAGE_WIDTH,
                location->language ? location->language : "native");
    if (!frame->hidden)
        print_add_style(text, options, choose_style(frame));
    size_t start = text->size;
    text_add_escaped(text, get_function(location));
    size_t width = text->failed ? 0 : print_measure_text(text->data + start, text->size - start);
    if (!frame->hidden)
        print_add_style(text, options, PRINT_PLAIN);
    if (width < layout->function_width)
        add_spaces(text, layout->function_width - width);
    text_add_string(text, "  ");
    add_place(text, frame);
    add_marks(text, frame, outward);
    if (frame->hidden)
        print_add_style(text, options, PRINT_PLAIN);
    text_add_char(text, '\n');

    if (location->source && *location->source) {
        add_spaces(text, source_column(layout));
        print_add_style(text, options, PRINT_DIM);
        text_add_escaped(text, location->source);
        print_add_style(text, options, PRINT_PLAIN);
        text_add_char(text, '\n');
    }
}

static void add_frame(struct print_sink *sink, const struct trace_frame *frame,
                      const struct trace_frame *outward, size_t number, struct text_layout *layout,
                      const struct psc_print_options *options)
{
    const struct trace_location *location = frame->location;
    struct text *text = &sink->buffer;
    char label[24];
    int length = snprintf(label, sizeof(label), "#%zu", number);
    text_add_string(text, "  ");
    if (frame->hidden)
        print_add_style(text, options, PRINT_DIM);
    text_add_string(text, label);
    if (length < layout->number_width)
        add_spaces(text, (size_t)(layout->number_width - length));

    // Without file and module the address stands in the text: nothing to keep.
    if (!location->file && !location->module) {
        render_frame(text, frame, outward, layout, options);
        return;
    }
    uint32_t marks = frame->trust | (uint32_t)frame->hidden << 8 |
                     (uint32_t)frame_is_wrapped(frame, outward) << 9;
    struct rendered *kept = &layout->rendered[hash_u64((uintptr_t)location) % RENDERED_COUNT];
    if (kept->location != location || kept->marks != marks) {
        text_clear(&kept->text);
        render_frame(&kept->text, frame, outward, layout, options);
        kept->location = location;
        kept->marks = marks;
    }
    text_add(text, kept->text.data ? kept->text.data : "", kept->text.size);
    text->failed |= kept->text.failed;
}

static void add_state(struct print_sink *sink, const struct psc_print_options *options,
                      enum print_style style, const char *words)
{
    text_add_string(&sink->buffer, " \u00b7 ");
    print_add_style(&sink->buffer, options, style);
    text_add_string(&sink->buffer, words);
    print_add_style(&sink->buffer, options, PRINT_PLAIN);
}

static void add_states(struct print_sink *sink, const struct trace_thread *thread,
                       const struct psc_print_options *options)
{
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
        add_state(sink, options, states[i].style, states[i].words);
    }
    if (thread->has_python && thread->interpreter_id > 0) {
        char words[48];
        snprintf(words, sizeof(words), "interpreter %" PRId64, thread->interpreter_id);
        add_state(sink, options, PRINT_PLAIN, words);
    }
}

static bool names_equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
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
        if (member->process && member->process != member->tid)
            text_printf(text, "%d/", member->process);
        if (member->tid)
            text_printf(text, "%d", member->tid);
        else
            text_printf(text, "with Python id 0x%" PRIx64, member->python_thread_id);
        same_names = same_names && names_equal(member->name, thread->name);
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
    if (!thread->tid)
        text_add_string(text, " \u00b7 no native thread");
    add_states(sink, thread, options);
    text_add_char(text, '\n');
}

static void add_frames(struct print_sink *sink, const struct trace_thread *thread,
                       const struct psc_print_options *options)
{
    size_t numbered;
    size_t shown = 0;
    struct text_layout layout;
    layout_init(&layout, thread, options, &numbered);
    size_t number = options->outermost_first ? numbered : 0;
    for (size_t i = 0; i < thread->frame_count && !sink->stopped; i++) {
        size_t index = options->outermost_first ? thread->frame_count - 1 - i : i;
        const struct trace_frame *frame = &thread->frames[index];
        const struct trace_frame *outward = index + 1 < thread->frame_count ? frame + 1 : NULL;
        if (!print_shows_frame(options, frame))
            continue;
        shown++;
        if (frame->location->kind == TRACE_GAP)
            add_gap(sink, frame, options);
        else if (options->outermost_first)
            add_frame(sink, frame, outward, --number, &layout, options);
        else
            add_frame(sink, frame, outward, number++, &layout, options);
        if (thread->locals && thread->locals[index])
            print_text_locals(thread->locals[index], source_column(&layout), options, sink);
        print_sink_flush(sink, false);
    }
    layout_deinit(&layout);
    if (!shown && thread->frame_count)
        text_printf(&sink->buffer, "  --  only frames that are hidden (%zu; --all shows them)\n",
                    thread->frame_count);
    else if (!shown)
        text_add_string(&sink->buffer, "  --  no frames\n");
}

enum psc_status print_text_threads(const struct psc_trace *trace,
                                   const struct psc_print_options *options, struct print_sink *sink)
{
    PSC_CLEANUP(cleanup_free) struct print_group_link *links = print_group_threads(trace, options);
    if (!links)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < trace->thread_count && !sink->stopped; i++) {
        if (links[i].follower)
            continue;
        add_thread_heading(sink, trace, i, links, options);
        print_text_exceptions(&trace->threads[i], options, sink);
        add_frames(sink, &trace->threads[i], options);
        print_sink_flush(sink, false);
    }
    return PSC_OK;
}

enum psc_status print_text(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink)
{
    print_text_header(trace, options, sink);
    enum psc_status status = print_text_threads(trace, options, sink);
    return status == PSC_OK ? print_text_tasks(trace, false, options, sink) : status;
}
