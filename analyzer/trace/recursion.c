/* Recursion: frames that come again and again in the same order. */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

/*
 * A cycle that stands here so often is a recursion, and so many frames of it come again: a shorter
 * one is sooner read than explained.
 */
#define TIMES_AT_LEAST    3
#define REPEATED_AT_LEAST 10
/* Frames of one cycle at most; the time that is spent is so many steps for each frame. */
#define CYCLE_LIMIT 64

/* Neighbours in a stack are at few locations: looked up once. */
#define REMEMBERED_COUNT 64

/* The shown frames of a thread, each as a number that frames alike have in common. */
struct numbered_stack {
    uint32_t *numbers;
    size_t *indices; /* Into trace_thread.frames. */
    size_t count;
    struct hash_table kinds; /* Of const struct trace_frame *: the first of each number. */
    size_t unknown;          /* Frames that are like no other since the table is full. */
};

/* The longest row of cycles that begins at a frame; frames 0: none. */
struct row {
    uint32_t length; /* Of all cycles, and what follows of a cut one. */
    uint32_t frames; /* Of one cycle. */
};

/* ---- which frames are alike ---- */

static bool strings_equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static uint64_t hash_string(const char *string)
{
    return string ? hash_text(string, strlen(string)) : 0;
}

/* Without a line the address says where in a function it is. */
static bool has_line(const struct trace_location *location)
{
    return location->file && location->line;
}

static bool is_guessed(const struct trace_frame *frame)
{
    return frame->trust > TRACE_TRUST_CFI;
}

static uint64_t hash_frame(const struct trace_frame *frame)
{
    const struct trace_location *location = frame->location;
    uint64_t place = has_line(location) ? location->line : location->offset;
    return hash_pair(hash_u64((uint64_t)location->kind << 60 ^ place),
                     hash_pair(hash_string(location->function), hash_string(location->file)));
}

static bool locations_alike(const struct trace_location *a, const struct trace_location *b)
{
    return a->kind == b->kind && a->line == b->line && a->inlined == b->inlined &&
           a->module == b->module &&
           (a->line_source == TRACE_LINE_ESTIMATE) == (b->line_source == TRACE_LINE_ESTIMATE) &&
           (has_line(a) || (a->has_offset == b->has_offset && a->offset == b->offset)) &&
           strings_equal(a->function, b->function) && strings_equal(a->file, b->file);
}

/* The same function, file and line, of the same kind: what of two frames is printed alike. */
static bool frames_alike(const void *item, const void *key)
{
    const struct trace_frame *a = *(const struct trace_frame *const *)item;
    const struct trace_frame *b = key;
    bool same_location = a->location == b->location || locations_alike(a->location, b->location);
    bool has_place = a->location->file || a->location->module;
    return same_location && a->interpreter_id == b->interpreter_id &&
           strings_equal(a->self_class, b->self_class) && is_guessed(a) == is_guessed(b) &&
           (has_place || a->pc == b->pc);
}

static uint32_t number_frame(struct numbered_stack *stack, const struct trace_frame *frame)
{
    uint64_t hash = hash_frame(frame);
    const struct trace_frame **found = hash_table_find_by(&stack->kinds, hash, frames_alike, frame);
    if (!found) {
        found = hash_table_add_by(&stack->kinds, hash);
        if (!found)
            return UINT32_MAX - (uint32_t)stack->unknown++;
        *found = frame;
    }
    return (uint32_t)(found - (const struct trace_frame **)stack->kinds.items);
}

static bool number_frames(struct numbered_stack *stack, const struct trace_thread *thread)
{
    struct {
        const struct trace_frame *frame;
        uint32_t number;
    } remembered[REMEMBERED_COUNT] = {0};
    stack->numbers = calloc(thread->frame_count, sizeof(*stack->numbers));
    stack->indices = calloc(thread->frame_count, sizeof(*stack->indices));
    for (size_t i = 0; stack->numbers && stack->indices && i < thread->frame_count; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        if (frame->hidden)
            continue;
        size_t slot = hash_u64((uintptr_t)frame->location) % REMEMBERED_COUNT;
        const struct trace_frame *last = remembered[slot].frame;
        if (!last || last->location != frame->location || last->pc != frame->pc ||
            last->trust != frame->trust || last->interpreter_id != frame->interpreter_id ||
            last->self_class != frame->self_class) {
            remembered[slot].frame = frame;
            remembered[slot].number = number_frame(stack, frame);
        }
        stack->indices[stack->count] = i;
        stack->numbers[stack->count++] = remembered[slot].number;
    }
    return stack->numbers && stack->indices;
}

/* ---- cycles ---- */

static bool is_recursion(size_t length, size_t frames)
{
    size_t times = length / frames;
    return times >= TIMES_AT_LEAST && (times - 1) * frames >= REPEATED_AT_LEAST;
}

/* Of rows of one length the one with the shortest cycle. */
static void find_rows(const struct numbered_stack *stack, struct row *rows)
{
    for (size_t frames = 1; frames <= CYCLE_LIMIT && frames < stack->count; frames++) {
        size_t same = 0;
        for (size_t i = stack->count - frames; i-- > 0;) {
            same = stack->numbers[i] == stack->numbers[i + frames] ? same + 1 : 0;
            if (same && same + frames > rows[i].length && is_recursion(same + frames, frames))
                rows[i] = (struct row){(uint32_t)(same + frames), (uint32_t)frames};
        }
    }
}

static size_t row_size(const struct row *row)
{
    return row->frames ? row->length / row->frames * row->frames : 0;
}

static size_t count_recursions(const struct row *rows, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i += rows[i].frames ? row_size(&rows[i]) : 1)
        found += rows[i].frames != 0;
    return found;
}

static enum psc_status take_rows(const struct numbered_stack *stack, const struct row *rows,
                                 struct arena *arena, struct trace_thread *thread)
{
    size_t count = count_recursions(rows, stack->count);
    size_t taken = 0;
    if (!count)
        return PSC_OK;
    struct trace_recursion *recursions = arena_array(arena, count, sizeof(*recursions));
    if (!recursions)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < stack->count;) {
        size_t size = row_size(&rows[i]);
        if (size)
            recursions[taken++] = (struct trace_recursion){
                .first = stack->indices[i],
                .last = stack->indices[i + size - 1],
                .frames = rows[i].frames,
                .times = size / rows[i].frames,
            };
        i += size ? size : 1;
    }
    thread->recursions = recursions;
    thread->recursion_count = count;
    return PSC_OK;
}

enum psc_status trace_find_recursions(struct arena *arena, struct trace_thread *thread)
{
    struct numbered_stack stack = {.kinds = HASH_TABLE_OF(const struct trace_frame *)};
    thread->recursions = NULL;
    thread->recursion_count = 0;
    if (thread->frame_count <= REPEATED_AT_LEAST || thread->frame_count > UINT32_MAX / 2)
        return PSC_OK;
    enum psc_status status = number_frames(&stack, thread) ? PSC_OK : PSC_ERR_MEMORY;
    // Where fewer frames come again than a recursion has there is nothing to look for.
    if (status == PSC_OK && stack.count >= stack.kinds.count + REPEATED_AT_LEAST) {
        struct row *rows = calloc(stack.count, sizeof(*rows));
        if (rows)
            find_rows(&stack, rows);
        status = rows ? take_rows(&stack, rows, arena, thread) : PSC_ERR_MEMORY;
        free(rows);
    }
    hash_table_deinit(&stack.kinds);
    free(stack.numbers);
    free(stack.indices);
    return status;
}
