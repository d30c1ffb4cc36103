#include "as_text_private.h"

#include <stdlib.h>
#include <string.h>

struct group_key {
    uint64_t hash;
    size_t thread;
};

/* The next frame from `index` on that is shown; frame_count at the end. */
static size_t skip_hidden(const struct trace_thread *thread,
                          const struct psc_print_options *options, size_t index)
{
    while (index < thread->frame_count && !print_shows_frame(options, &thread->frames[index]))
        index++;
    return index;
}

static uint64_t hash_stack(const struct trace_thread *thread,
                           const struct psc_print_options *options)
{
    uint64_t hash = hash_u64(thread->state);
    size_t i = skip_hidden(thread, options, 0);
    for (; i < thread->frame_count; i = skip_hidden(thread, options, i + 1))
        hash = hash_u64(hash ^ (uintptr_t)thread->frames[i].location);
    return hash;
}

static bool exceptions_equal(const struct trace_thread *a, const struct trace_thread *b)
{
    if (a->exception_count != b->exception_count)
        return false;
    for (size_t i = 0; i < a->exception_count; i++) {
        const struct trace_exception *x = &a->exceptions[i];
        const struct trace_exception *y = &b->exceptions[i];
        if (strcmp(x->type, y->type) != 0 || !print_strings_equal(x->message, y->message) ||
            x->raised != y->raised || x->link != y->link)
            return false;
    }
    return true;
}

/* Equal in all that is printed; stacks with values of names never are. */
static bool stacks_equal(const struct trace_thread *a, const struct trace_thread *b,
                         const struct psc_print_options *options)
{
    if (a->state != b->state || a->has_python != b->has_python ||
        a->interpreter_id != b->interpreter_id || a->gil_interpreter_id != b->gil_interpreter_id ||
        !a->tid != !b->tid || a->locals || b->locals || !exceptions_equal(a, b) ||
        !print_waits_equal(a->waits_for, b->waits_for))
        return false;
    size_t i = skip_hidden(a, options, 0);
    size_t j = skip_hidden(b, options, 0);
    while (i < a->frame_count && j < b->frame_count) {
        const struct trace_frame *x = &a->frames[i];
        const struct trace_frame *y = &b->frames[j];
        if (x->location != y->location || x->trust != y->trust || x->hidden != y->hidden ||
            x->interpreter_id != y->interpreter_id ||
            !print_strings_equal(x->self_class, y->self_class))
            return false;
        i = skip_hidden(a, options, i + 1);
        j = skip_hidden(b, options, j + 1);
    }
    return i == a->frame_count && j == b->frame_count;
}

static int compare_keys(const void *left, const void *right)
{
    const struct group_key *a = left;
    const struct group_key *b = right;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

struct print_group_link *print_group_threads(const struct psc_trace *trace,
                                             const struct psc_print_options *options)
{
    size_t count = trace->thread_count;
    struct print_group_link *links = calloc(count ? count : 1, sizeof(*links));
    PSC_CLEANUP(cleanup_free) struct group_key *keys = calloc(count ? count : 1, sizeof(*keys));
    if (!links || !keys) {
        free(links);
        return NULL;
    }
    size_t key_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct trace_thread *thread = &trace->threads[i];
        links[i].next = PRINT_NO_THREAD;
        if (!options->no_group && !(thread->state & TRACE_STATE_CRASHED))
            keys[key_count++] = (struct group_key){hash_stack(thread, options), i};
    }
    qsort(keys, key_count, sizeof(*keys), compare_keys);

    size_t first = PRINT_NO_THREAD;
    size_t last = PRINT_NO_THREAD;
    for (size_t i = 0; i < key_count; i++) {
        size_t thread = keys[i].thread;
        if (i && keys[i].hash == keys[i - 1].hash &&
            stacks_equal(&trace->threads[first], &trace->threads[thread], options)) {
            links[last].next = thread;
            links[thread].follower = true;
        } else {
            first = thread;
        }
        last = thread;
    }
    return links;
}
