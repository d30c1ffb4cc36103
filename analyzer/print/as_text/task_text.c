/* One task, or equal ones: a heading, then the frames. */
#include "task_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void task_add_name(struct text *text, const struct trace_task *task)
{
    if (!task->name) {
        text_printf(text, "0x%" PRIx64, task->id);
        return;
    }
    text_add_char(text, '"');
    text_add_escaped(text, task->name);
    text_add_char(text, '"');
}

/* Of equal ones the first speaks for all, but for the time that it has left. */
static void add_wait(struct text *text, const struct task_writer *writer,
                     const struct trace_task *task, size_t count)
{
    if (task->leaf && print_add_leaf(writer->tasks, task, count == 1, text))
        return;
    if (task->waits_for_count)
        text_printf(text, "waits for %zu task%s", task->waits_for_count,
                    task->waits_for_count == 1 ? "" : "s");
    else
        text_add_string(text,
                        task->library == TRACE_TASK_ASYNCIO ? "waits for a future" : "waiting");
}

static void add_work(struct text *text, const struct task_writer *writer,
                     const struct trace_task *task, size_t count)
{
    text_add_string(text, " \u00b7 ");
    switch (task->work) {
    case TRACE_WORK_CREATED:
        text_add_string(text, "not started");
        break;
    case TRACE_WORK_READY:
        text_add_string(text, "ready to go on");
        break;
    case TRACE_WORK_RUNNING:
        text_add_string(text, "running");
        break;
    case TRACE_WORK_UNKNOWN:
        text_add_string(text, "state not known");
        break;
    case TRACE_WORK_SUSPENDED:
        text_add_string(text, "suspended");
        break;
    case TRACE_WORK_WAITING:
        add_wait(text, writer, task, count);
        break;
    }
    bool usual = !task->awaits || !strcmp(task->awaits, "greenlet.greenlet") ||
                 !strcmp(task->awaits, "_asyncio.Future") ||
                 !strcmp(task->awaits, "_asyncio.Task") ||
                 !strcmp(task->awaits, "asyncio.tasks._GatheringFuture");
    if (!usual) {
        text_add_string(text, ": ");
        text_add_escaped(text, task->awaits);
    }
    if (task->children_count)
        text_printf(text,
                    task->library == TRACE_TASK_TRIO ? " \u00b7 %zu task%s in its nurseries"
                                                     : " \u00b7 spawned %zu task%s",
                    task->children_count, task->children_count == 1 ? "" : "s");
    if (task->tid && (writer->many_threads || task->work == TRACE_WORK_RUNNING))
        text_printf(text, " \u00b7 thread %d", task->tid);
    if (task->interpreter_id > 0)
        text_printf(text, " \u00b7 interpreter %" PRId64, task->interpreter_id);
}

static size_t function_width(const struct trace_task *task)
{
    size_t widest = 0;
    struct text scratch = {0};
    for (size_t i = 0; i < task->frame_count; i++) {
        text_clear(&scratch);
        text_add_escaped(&scratch, task->frames[i]->function ? task->frames[i]->function : "??");
        size_t width =
            scratch.failed ? 0 : print_measure_text(scratch.data ? scratch.data : "", scratch.size);
        if (width <= PRINT_FUNCTION_WIDTH && width > widest)
            widest = width;
    }
    text_deinit(&scratch);
    return widest;
}

static void add_frame(struct task_writer *writer, const struct trace_location *location,
                      size_t number, int number_width, size_t widest)
{
    struct text *text = &writer->sink->buffer;
    const struct psc_print_options *options = writer->options;
    char label[24];
    snprintf(label, sizeof(label), "#%zu", number);
    text_printf(text, "%s  %-*s  ", writer->prefix.data ? writer->prefix.data : "", number_width,
                label);
    print_add_style(text, options, location->kind == TRACE_GAP ? PRINT_NOTICE : PRINT_PYTHON);
    size_t start = text->size;
    text_add_escaped(text, location->function ? location->function : "??");
    size_t width = text->failed ? 0 : print_measure_text(text->data + start, text->size - start);
    print_add_style(text, options, PRINT_PLAIN);
    if (location->file) {
        text_printf(text, "%*s  ", (int)(width < widest ? widest - width : 0), "");
        text_add_escaped(text, location->file);
        print_text_line(text, location);
    }
    text_add_char(text, '\n');
    if (!location->source || !*location->source)
        return;
    text_printf(text, "%s  %*s", writer->prefix.data ? writer->prefix.data : "", number_width + 6,
                "");
    print_add_style(text, options, PRINT_DIM);
    print_text_source(text, location);
    print_add_style(text, options, PRINT_PLAIN);
    text_add_char(text, '\n');
}

void task_add_frames(struct task_writer *writer, const struct trace_task *task)
{
    size_t count = task->frame_count;
    int width = snprintf(NULL, 0, "#%zu", count ? count - 1 : 0);
    size_t widest = function_width(task);
    size_t i = 0;
    for (; i < count && print_sink_takes(writer->sink); i++) {
        size_t at = writer->options->outermost_first ? count - 1 - i : i;
        add_frame(writer, task->frames[at], at, width, widest);
    }
    if (i < count)
        text_printf(&writer->sink->buffer,
                    "%s  --  gap: %zu more frames: the report would be too long\n",
                    writer->prefix.data ? writer->prefix.data : "", count - i);
    else if (task->frames_cut)
        text_printf(&writer->sink->buffer, "%s  --  gap: further frames could not be read\n",
                    writer->prefix.data ? writer->prefix.data : "");
}

void task_add_heading(struct task_writer *writer, const struct trace_task **tasks, size_t count,
                      const char *remark)
{
    struct text *text = &writer->sink->buffer;
    print_add_style(text, writer->options, PRINT_BOLD);
    text_add_string(text, writer->noun->title);
    text_add_string(text, count > 1 ? "s " : " ");
    for (size_t i = 0; i < count && i < TASK_NAME_COUNT; i++) {
        text_add_string(text, i ? ", " : "");
        task_add_name(text, tasks[i]);
    }
    if (count > TASK_NAME_COUNT)
        text_add_string(text, " \u2026");
    print_add_style(text, writer->options, PRINT_PLAIN);
    if (count > 1)
        text_printf(text, " \u00b7 %zu %ss", count, writer->noun->name);
    add_work(text, writer, tasks[0], count);
    if (remark) {
        text_add_string(text, " \u00b7 ");
        print_add_style(text, writer->options, PRINT_NOTICE);
        text_add_string(text, remark);
        print_add_style(text, writer->options, PRINT_PLAIN);
    }
    text_add_char(text, '\n');
}
