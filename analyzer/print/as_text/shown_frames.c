/* Which lines the stack of a thread has: frames, and what stands for those that are left out. */
#include "as_text_private.h"

#include <stdlib.h>

/* What is known while the frames are taken, the innermost first. */
struct listing {
    const struct trace_thread *thread;
    const struct psc_print_options *options;
    struct print_shown *shown;
    size_t position;  /* Of the next frame among those that the options let be seen. */
    size_t recursion; /* The next one. */
    size_t cycle_end; /* Positions: of the first cycle's end, ... */
    size_t fold_end;  /* ... and of where frames are shown again; equal when nothing is folded. */
};

static struct print_shown_item *add_item(struct listing *listing)
{
    return &listing->shown->items[listing->shown->count++];
}

static bool has_values(const struct trace_thread *thread, const struct trace_recursion *recursion)
{
    for (size_t i = recursion->first; thread->locals && i <= recursion->last; i++)
        if (thread->locals[i] && thread->locals[i]->count)
            return true;
    return false;
}

/* With values the outermost cycle is shown as well: its arguments tell how it began. */
static void begin_recursion(struct listing *listing, const struct trace_recursion *recursion)
{
    size_t kept = has_values(listing->thread, recursion) ? recursion->frames : 0;
    listing->cycle_end = listing->position + recursion->frames;
    listing->fold_end = listing->position + recursion->frames * recursion->times - kept;
    listing->recursion++;
}

/* The frames up to fold_end, of which this is the first. */
static void add_fold(struct listing *listing, const struct trace_recursion *recursion)
{
    size_t left_out = listing->fold_end - listing->cycle_end;
    *add_item(listing) = (struct print_shown_item){
        .number = listing->shown->numbered,
        .frames = recursion->frames,
        .times = left_out / recursion->frames,
    };
}

/* False, and nothing is taken, when there may be no more frames. */
static bool take_frame(struct listing *listing, size_t index)
{
    const struct trace_thread *thread = listing->thread;
    const struct psc_print_options *options = listing->options;
    struct print_shown *shown = listing->shown;
    if (!options->all && !options->no_fold && listing->recursion < thread->recursion_count &&
        thread->recursions[listing->recursion].first == index)
        begin_recursion(listing, &thread->recursions[listing->recursion]);
    if (listing->position >= listing->cycle_end && listing->position < listing->fold_end) {
        if (listing->position == listing->cycle_end)
            add_fold(listing, &thread->recursions[listing->recursion - 1]);
        shown->items[shown->count - 1].last_number = shown->numbered;
    } else if (options->max_frames && shown->frames == options->max_frames) {
        return false;
    } else {
        *add_item(listing) =
            (struct print_shown_item){.index = index, .number = shown->numbered, .frames = 1};
        shown->frames++;
    }
    listing->position++;
    shown->numbered += thread->frames[index].location->kind != TRACE_GAP;
    return true;
}

bool print_list_shown(const struct trace_thread *thread, const struct psc_print_options *options,
                      struct print_shown *ret)
{
    struct listing listing = {.thread = thread, .options = options, .shown = ret};
    size_t count = 0;
    *ret = (struct print_shown){0};
    for (size_t i = 0; i < thread->frame_count; i++)
        count += print_shows_frame(options, &thread->frames[i]);
    ret->items = calloc(count + 1, sizeof(*ret->items));
    if (!ret->items)
        return false;
    for (size_t i = 0; i < thread->frame_count; i++)
        if (print_shows_frame(options, &thread->frames[i]) && !take_frame(&listing, i))
            break;
    ret->rest = count - listing.position;
    return true;
}

int64_t print_find_interpreter(const struct trace_thread *thread)
{
    for (size_t i = 0; i < thread->frame_count; i++)
        if (thread->frames[i].interpreter_id >= 0 &&
            thread->frames[i].interpreter_id != thread->interpreter_id)
            return -1;
    return thread->interpreter_id;
}
