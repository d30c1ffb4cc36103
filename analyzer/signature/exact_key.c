/* The key that needs no symbols: which instructions of which builds the stack went through. */
#include "signature_private.h"

#include <inttypes.h>
#include <stdlib.h>

#define EXACT_FRAMES 16u

/* Python's names are in the memory of the target; native frames are known by their build. */
static void describe(const struct trace_frame *frame, struct text *ret)
{
    const struct trace_location *location = frame->location;
    if (location->kind == TRACE_PYTHON) {
        if (location->file)
            signature_name_file(location->file, ret);
        text_printf(ret, ":%s:%u", location->name ? location->name : "", location->line);
    } else if (location->module && location->has_offset) {
        text_printf(ret, "%s+%" PRIx64,
                    location->module->build_id ? location->module->build_id
                                               : location->module->name,
                    location->offset);
    } else {
        text_add_string(ret, "?");
    }
}

/* Inlined frames stand at the address of the one that they are inlined into. */
static bool is_counted(const struct trace_frame *frame)
{
    return !frame->hidden && frame->location->kind != TRACE_GAP && !frame->location->inlined;
}

const char *make_exact_key(struct arena *arena, const struct trace_thread *thread,
                           const struct trace_crash *crash)
{
    const char *items[EXACT_FRAMES + 1] = {crash && crash->signal ? crash->signal : "alive"};
    size_t count = 1;
    for (size_t i = 0; thread && i < thread->frame_count && count <= EXACT_FRAMES; i++) {
        struct text text = {0};
        if (!is_counted(&thread->frames[i]))
            continue;
        describe(&thread->frames[i], &text);
        const char *item = text.failed ? NULL : arena_strndup(arena, text.data, text.size);
        text_deinit(&text);
        if (!item)
            return NULL;
        items[count++] = item;
    }
    return digest_strings(arena, items, count);
}
