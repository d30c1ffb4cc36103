/* One frame: its line, that of its source, its values. */
#include "as_text_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
    const struct trace_thread *thread;
    struct print_sink *sink;
    const struct psc_print_options *options;
    const struct short_names *names;
    int number_width;        /* Of "#123". */
    size_t function_width;   /* Of the function column. */
    bool names_interpreters; /* The frames are of several. */
    int64_t interpreter;     /* That of the last frame, where it was named. */
    bool run_begins;         /* The next frame is the first one of another interpreter. */
    struct rendered rendered[RENDERED_COUNT];
};

static void add_spaces(struct text *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_add_char(text, ' ');
}

static const char *get_function(const struct text_layout *layout,
                                const struct trace_location *location)
{
    return location->function ? short_names_get(layout->names, location->function) : "??";
}

/* The function, and for which class a method of another one runs. */
static void add_function(struct text *text, const struct text_layout *layout,
                         const struct trace_frame *frame)
{
    text_add_escaped(text, get_function(layout, frame->location));
    if (!frame->self_class)
        return;
    text_add_string(text, " (");
    text_add_escaped(text, frame->self_class);
    text_add_char(text, ')');
}

static void widen_column(struct text_layout *layout, size_t width)
{
    if (width <= PRINT_FUNCTION_WIDTH && width > layout->function_width)
        layout->function_width = width;
}

/* The widest function that fits the limit makes the column. */
static void measure_functions(struct text_layout *layout, const struct print_shown *shown)
{
    const struct trace_location *measured[RENDERED_COUNT] = {NULL};
    struct text scratch = {0};
    for (size_t i = 0; i < shown->count; i++) {
        if (shown->items[i].times)
            continue;
        const struct trace_frame *frame = &layout->thread->frames[shown->items[i].index];
        const struct trace_location *location = frame->location;
        const struct trace_location **slot =
            &measured[hash_u64((uintptr_t)location) % RENDERED_COUNT];
        if (location->kind == TRACE_GAP || location == *slot)
            continue;
        *slot = location;
        text_clear(&scratch);
        add_function(&scratch, layout, frame);
        widen_column(layout, print_measure_text(scratch.data, scratch.size));
        if (!frame->self_class)
            continue;
        text_clear(&scratch);
        text_add_escaped(&scratch, get_function(layout, location));
        widen_column(layout, print_measure_text(scratch.data, scratch.size));
    }
    text_deinit(&scratch);
}

struct text_layout *print_layout_create(const struct trace_thread *thread,
                                        const struct print_shown *shown,
                                        const struct short_names *names,
                                        const struct psc_print_options *options,
                                        struct print_sink *sink)
{
    struct text_layout *layout = calloc(1, sizeof(*layout));
    if (!layout)
        return NULL;
    layout->thread = thread;
    layout->sink = sink;
    layout->options = options;
    layout->names = names;
    layout->interpreter = -1;
    layout->names_interpreters = print_find_interpreter(thread) < 0;
    layout->number_width = snprintf(NULL, 0, "#%zu", shown->numbered ? shown->numbered - 1 : 0);
    measure_functions(layout, shown);
    return layout;
}

void print_layout_destroy(struct text_layout *layout)
{
    for (size_t i = 0; layout && i < RENDERED_COUNT; i++)
        text_deinit(&layout->rendered[i].text);
    free(layout);
}

static void add_location(struct text *text, const struct trace_frame *frame)
{
    const struct trace_location *location = frame->location;
    bool is_native = location->kind == TRACE_NATIVE;
    if (location->file && (location->line || !is_native || !location->module)) {
        text_add_escaped(text, location->file);
        print_text_line(text, location);
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
                      const struct trace_frame *outward, const struct text_layout *layout)
{
    const struct trace_location *location = frame->location;
    if (layout->run_begins)
        text_printf(text, " (interpreter %" PRId64 ")", frame->interpreter_id);
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

void print_add_remark(struct text *text, const struct psc_print_options *options,
                      const char *remark)
{
    text_add_string(text, "  ");
    print_add_style(text, options, PRINT_NOTICE);
    text_add_string(text, "--  ");
    text_add_string(text, remark);
    print_add_style(text, options, PRINT_PLAIN);
    text_add_char(text, '\n');
}

static void add_gap(const struct text_layout *layout, const struct trace_frame *frame)
{
    struct text remark = {0};
    text_add_string(&remark, "gap: ");
    text_add_escaped(&remark,
                     frame->location->function ? frame->location->function : "no reason is known");
    print_add_remark(&layout->sink->buffer, layout->options, remark.failed ? "gap" : remark.data);
    layout->sink->buffer.failed |= remark.failed;
    text_deinit(&remark);
}

static size_t source_column(const struct text_layout *layout)
{
    return 2 + (size_t)layout->number_width + 2 + LANGUAGE_WIDTH + 2 + 4;
}

/* All of a frame's text but its number. */
static void render_frame(struct text *text, const struct trace_frame *frame,
                         const struct trace_frame *outward, const struct text_layout *layout)
{
    const struct psc_print_options *options = layout->options;
    const struct trace_location *location = frame->location;
    text_printf(text, "  %-*s  ", LANGUAGE_WIDTH,
                location->language ? location->language : "native");
    if (!frame->hidden)
        print_add_style(text, options, choose_style(frame));
    size_t start = text->size;
    add_function(text, layout, frame);
    size_t width = text->failed ? 0 : print_measure_text(text->data + start, text->size - start);
    if (!frame->hidden)
        print_add_style(text, options, PRINT_PLAIN);
    if (width < layout->function_width)
        add_spaces(text, layout->function_width - width);
    text_add_string(text, "  ");
    add_location(text, frame);
    add_marks(text, frame, outward, layout);
    if (frame->hidden)
        print_add_style(text, options, PRINT_PLAIN);
    text_add_char(text, '\n');

    if (location->source && *location->source) {
        add_spaces(text, source_column(layout));
        print_add_style(text, options, PRINT_DIM);
        print_text_source(text, location);
        print_add_style(text, options, PRINT_PLAIN);
        text_add_char(text, '\n');
    }
}

static void add_frame(struct text_layout *layout, const struct trace_frame *frame,
                      const struct trace_frame *outward, size_t number)
{
    const struct trace_location *location = frame->location;
    struct text *text = &layout->sink->buffer;
    text_add_string(text, "  ");
    if (frame->hidden)
        print_add_style(text, layout->options, PRINT_DIM);
    size_t start = text->size;
    text_add_char(text, '#');
    text_add_number(text, number);
    while (!text->failed && text->size - start < (size_t)layout->number_width)
        text_add_char(text, ' ');

    // Without file and module the address stands in the text: nothing to keep.
    if (layout->run_begins || frame->self_class || (!location->file && !location->module)) {
        render_frame(text, frame, outward, layout);
        return;
    }
    uint32_t marks = frame->trust | (uint32_t)frame->hidden << 8 |
                     (uint32_t)frame_is_wrapped(frame, outward) << 9;
    struct rendered *kept = &layout->rendered[hash_u64((uintptr_t)location) % RENDERED_COUNT];
    if (kept->location != location || kept->marks != marks) {
        text_clear(&kept->text);
        render_frame(&kept->text, frame, outward, layout);
        kept->location = location;
        kept->marks = marks;
    }
    text_add(text, kept->text.data ? kept->text.data : "", kept->text.size);
    text->failed |= kept->text.failed;
}

/* Frames of one interpreter that stand together are named by their first one. */
static void begin_run(struct text_layout *layout, const struct trace_frame *frame)
{
    layout->run_begins = layout->names_interpreters && frame->interpreter_id >= 0 &&
                         frame->interpreter_id != layout->interpreter;
    if (layout->run_begins)
        layout->interpreter = frame->interpreter_id;
}

void print_text_frame(struct text_layout *layout, const struct print_shown_item *item)
{
    const struct trace_thread *thread = layout->thread;
    const struct trace_frame *frame = &thread->frames[item->index];
    const struct trace_frame *outward = item->index + 1 < thread->frame_count ? frame + 1 : NULL;
    begin_run(layout, frame);
    if (frame->location->kind == TRACE_GAP)
        add_gap(layout, frame);
    else
        add_frame(layout, frame, outward, item->number);
    if (thread->locals && thread->locals[item->index])
        print_text_locals(thread->locals[item->index], source_column(layout), layout->options,
                          layout->sink);
}
