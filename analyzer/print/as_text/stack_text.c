/* The stack of a thread: its frames, and in their places what is left out. */
#include "as_text_private.h"

#include <stdio.h>
#include <stdlib.h>

/* With a comma at each thousand. */
static void add_count(struct text *text, size_t count)
{
    char digits[32];
    size_t size = (size_t)snprintf(digits, sizeof(digits), "%zu", count);
    for (size_t i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            text_add_char(text, ',');
        text_add_char(text, digits[i]);
    }
}

static void add_fold(struct text *text, const struct print_shown_item *item, bool outermost_first)
{
    size_t first = outermost_first ? item->last_number : item->number;
    size_t last = outermost_first ? item->number : item->last_number;
    const char *where = outermost_first ? "below" : "above";
    text_printf(text, "#%zu to #%zu: ", first, last);
    if (item->frames == 1)
        text_printf(text, "the frame %s, ", where);
    else
        text_printf(text, "the %zu frames %s, ", item->frames, where);
    add_count(text, item->times);
    text_printf(text, " time%s more", item->times == 1 ? "" : "s");
}

/* Empties it. */
static void print_remark(struct text *remark, const struct psc_print_options *options,
                         struct print_sink *sink)
{
    sink->buffer.failed |= remark->failed;
    print_add_remark(&sink->buffer, options, remark->data ? remark->data : "");
    text_clear(remark);
}

static void print_rest(size_t rest, const struct psc_print_options *options,
                       struct print_sink *sink)
{
    struct text remark = {0};
    add_count(&remark, rest);
    text_printf(&remark, " more frame%s further out", rest == 1 ? "" : "s");
    print_remark(&remark, options, sink);
    text_deinit(&remark);
}

/* Those from an item on, in the order in which they are printed. */
static void print_too_long(size_t items, const struct psc_print_options *options,
                           struct print_sink *sink)
{
    struct text remark = {0};
    text_add_string(&remark, "gap: ");
    add_count(&remark, items);
    text_printf(&remark, " more line%s: the report would be too long", items == 1 ? "" : "s");
    print_remark(&remark, options, sink);
    text_deinit(&remark);
}

static void print_shown(const struct print_shown *shown, struct text_layout *layout,
                        const struct psc_print_options *options, struct print_sink *sink)
{
    struct text remark = {0};
    if (shown->rest && options->outermost_first)
        print_rest(shown->rest, options, sink);
    for (size_t i = 0; i < shown->count && !sink->stopped; i++) {
        size_t at = options->outermost_first ? shown->count - 1 - i : i;
        const struct print_shown_item *item = &shown->items[at];
        if (!print_sink_takes(sink)) {
            print_too_long(shown->count - i, options, sink);
            break;
        }
        if (item->times) {
            add_fold(&remark, item, options->outermost_first);
            print_remark(&remark, options, sink);
        } else {
            print_text_frame(layout, item);
        }
    }
    if (shown->rest && !options->outermost_first)
        print_rest(shown->rest, options, sink);
    text_deinit(&remark);
}

enum psc_status print_text_frames(const struct trace_thread *thread,
                                  const struct short_names *names,
                                  const struct psc_print_options *options, struct print_sink *sink)
{
    struct print_shown shown;
    if (!print_list_shown(thread, options, &shown))
        return PSC_ERR_MEMORY;
    struct text_layout *layout = print_layout_create(thread, &shown, names, options, sink);
    if (layout && shown.count)
        print_shown(&shown, layout, options, sink);
    else if (layout && thread->frame_count)
        text_printf(&sink->buffer, "  --  only frames that are hidden (%zu; --all shows them)\n",
                    thread->frame_count);
    else if (layout)
        text_add_string(&sink->buffer, "  --  no frames\n");
    print_layout_destroy(layout);
    free(shown.items);
    return layout ? PSC_OK : PSC_ERR_MEMORY;
}
