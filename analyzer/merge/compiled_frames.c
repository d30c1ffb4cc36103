/*
 * Python frames of functions that Nuitka compiled: no evaluator runs them, the machine code of the
 * function does. Its linker's name has the function's: where a program keeps those, each frame
 * stands at its function. Most are stripped; then all that is known is the module, and in which
 * order the frames stand, and that is said.
 */
#include "segments.h"

#include <stdlib.h>
#include <string.h>

/* ---- a segment for each ---- */

static bool has_compiled(const struct merged_stack *merged)
{
    for (size_t i = 0; i < merged->interpreter_count; i++) {
        const struct python_stack *stack = &merged->interpreters[i].stack;
        for (size_t frame = 0; frame < stack->count; frame++)
            if (stack->frames[frame].compiled)
                return true;
    }
    return false;
}

static bool is_compiled(const struct merged_stack *merged, const struct segment *segment,
                        size_t index)
{
    return merged->interpreters[segment->interpreter].stack.frames[segment->first + index].compiled;
}

static bool add_part(struct segments *segments, const struct segment *of, size_t first,
                     size_t count, bool compiled)
{
    if (!array_reserve(&segments->items, &segments->capacity, segments->count + 1,
                       sizeof(*segments->items)))
        return false;
    struct segment part = *of;
    part.first = of->first + first;
    part.count = count;
    part.order = segments->count;
    part.compiled = compiled;
    if (compiled) {
        part.native = SIZE_MAX;
        part.address = 0;
    }
    segments->items[segments->count++] = part;
    return true;
}

static bool has_code(const struct merged_stack *merged, const struct segment *segment, size_t from,
                     size_t to)
{
    const struct python_stack *stack = &merged->interpreters[segment->interpreter].stack;
    for (size_t i = from; i < to; i++)
        if (stack->frames[segment->first + i].kind != PYTHON_FRAME_SHIM)
            return true;
    return false;
}

static bool add_parts(struct segments *segments, const struct merged_stack *merged,
                      const struct segment *segment)
{
    size_t plain = 0;
    for (size_t i = 0; i < segment->count; i++) {
        if (!is_compiled(merged, segment, i))
            continue;
        // The shim of the evaluator further in stands ahead of what called that.
        if (has_code(merged, segment, plain, i) &&
            !add_part(segments, segment, plain, i - plain, false))
            return false;
        if (!add_part(segments, segment, i, 1, true))
            return false;
        plain = i + 1;
    }
    return (segment->count && plain == segment->count) ||
           add_part(segments, segment, plain, segment->count - plain, false);
}

enum psc_status compiled_frames_split(struct segments *segments, const struct merged_stack *merged)
{
    struct segments parts = {0};
    if (!has_compiled(merged))
        return PSC_OK;
    for (size_t i = 0; i < segments->count; i++)
        if (!add_parts(&parts, merged, &segments->items[i])) {
            free(parts.items);
            return PSC_ERR_MEMORY;
        }
    free(segments->items);
    *segments = parts;
    return PSC_OK;
}

/* ---- where they stand ---- */

static const struct python_frame *frame_of(const struct segment_places *places, size_t index)
{
    const struct segment *segment = &places->segments->items[index];
    return &places->merged->interpreters[segment->interpreter].stack.frames[segment->first];
}

/* Whether a native frame is the code of the function that a Python frame runs, by their names. */
static bool runs(const struct segment_places *places, size_t native,
                 const struct python_frame *frame)
{
    const struct address_info *info = places->merged->native_info[native];
    if (!info->symbol.name)
        return false;
    const struct trace_location *location = symbolizer_python(places->symbolizer, frame);
    return location && location->name && python_is_compiled_name(info->symbol.name, location->name);
}

/* The functions of the frames [first, end) in native frames from `from` on. False: not all. */
static bool find_functions(const struct segment_places *places, size_t first, size_t end,
                           size_t from, size_t to, size_t *ret)
{
    size_t native = from;
    for (size_t i = first; i < end; i++, native++) {
        while (native < to && !runs(places, native, frame_of(places, i)))
            native++;
        if (native == to)
            return false;
        ret[i - first] = native;
    }
    return true;
}

static void say_unplaced(const struct segment_places *places, const struct module *module)
{
    target_warn(places->target, "compiled-frames",
                "%s: Python functions that Nuitka compiled stand together before its machine code, "
                "which holds theirs: it has no names to tell which is whose (a program built with "
                "nuitka's --unstripped has)",
                module->path);
}

bool compiled_frames_place(const struct segment_places *places, size_t first, size_t end,
                           size_t from, size_t to)
{
    struct segment *items = places->segments->items;
    const struct merged_stack *merged = places->merged;
    size_t *natives PSC_CLEANUP(cleanup_free) = calloc(end - first, sizeof(*natives));
    if (!natives)
        return false;
    if (find_functions(places, first, end, from, to, natives)) {
        for (size_t i = first; i < end; i++)
            items[i].native = natives[i - first];
        return true;
    }
    size_t at = from;
    for (size_t i = first; i < end; i++) {
        const struct module *module =
            python_find_compiled_module(places->python, frame_of(places, i));
        size_t next = at;
        while (module && next < to && merged->native_info[next]->module != module)
            next++;
        if (module && next < to) {
            at = next;
            say_unplaced(places, module);
        } else if (module) {
            // Its code is on the stack, and what was unwound does not show it.
            at = to;
            items[i].compiled = false;
        }
        items[i].before = at;
    }
    return true;
}
