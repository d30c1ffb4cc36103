/* What nodes are called. */
#include "holders.h"

#include <string.h>

const char *holders_type_name(const struct holders *holders, uint32_t node)
{
    const struct holder *holder = holders_get(holders, node);
    if (!holder)
        return holders->heap->types[holders->heap->objects[node].type].name;
    switch (holder->kind) {
    case HOLDER_THREAD:
        return "thread";
    case HOLDER_FRAME:
        return "frame";
    case HOLDER_STACK:
        return "C stack";
    case HOLDER_DATA:
        return "C data";
    case HOLDER_MEMORY:
        break;
    }
    return "C memory";
}

bool holders_is_module(const struct holders *holders, uint32_t node)
{
    return holders_is_object(holders, node) &&
           holders->heap->objects[node].type == holders->module_type;
}

bool holders_is_class(const struct holders *holders, uint32_t node)
{
    return holders_is_object(holders, node) &&
           heap_find_type(holders->heap, holders->heap->objects[node].address) != HEAP_NONE;
}

const struct holder *holders_find_frame(const struct holders *holders, uint32_t node)
{
    const struct holder *holder = holders_get(holders, node);
    if (holder)
        return holder->kind == HOLDER_FRAME ? holder : NULL;
    if (!holders->items || holders->heap->objects[node].type != holders->frame_type)
        return NULL;
    for (uint32_t i = 0; i < holders->count; i++)
        if (holders->items[i].kind == HOLDER_FRAME && holders->items[i].object == node)
            return &holders->items[i];
    return NULL;
}

/* "app" of "<module 'app' from '/srv/app.py'>". */
static void add_module_name(struct holders *holders, uint32_t node, struct text *text)
{
    struct text shown = {0};
    const psc_addr address = holders->heap->objects[node].address;
    python_add_value(holders->heap->python, address, &shown);
    const char *start = shown.data ? strchr(shown.data, '\'') : NULL;
    const char *end = start ? strchr(start + 1, '\'') : NULL;
    if (end) {
        text_add_string(text, "module ");
        text_add(text, start + 1, (size_t)(end - start - 1));
    } else {
        text_printf(text, "module at 0x%llx", (unsigned long long)address);
    }
    text_deinit(&shown);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void add_frame_name(const struct holder *frame, struct text *text)
{
    text_printf(text, "frame %s", frame->function ? frame->function : "??");
    if (frame->file && frame->line)
        text_printf(text, " (%s:%u)", last_part(frame->file), frame->line);
    if (frame->tid)
        text_printf(text, " in thread %d", frame->tid);
}

static void add_holder_name(const struct holder *holder, struct text *text)
{
    switch (holder->kind) {
    case HOLDER_THREAD:
        text_printf(text, "thread %d", holder->tid);
        if (holder->function)
            text_printf(text, " \"%s\"", holder->function);
        return;
    case HOLDER_FRAME:
        add_frame_name(holder, text);
        return;
    case HOLDER_STACK:
        text_printf(text, "C stack of thread %d", holder->tid);
        return;
    case HOLDER_DATA:
        text_printf(text, "C code of %s", last_part(holder->file));
        return;
    case HOLDER_MEMORY:
        text_add_string(text, "C memory of no known owner");
        return;
    }
}

void holders_add_name(struct holders *holders, uint32_t node, struct text *text)
{
    const struct holder *holder = holders_get(holders, node);
    if (!holder)
        holder = holders_find_frame(holders, node);
    if (holder)
        add_holder_name(holder, text);
    else if (holders_is_module(holders, node))
        add_module_name(holders, node, text);
    else if (holders_is_class(holders, node))
        text_printf(text, "class %s",
                    holders->heap
                        ->types[heap_find_type(holders->heap, holders->heap->objects[node].address)]
                        .name);
}
