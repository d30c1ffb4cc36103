/* Many processes as one report: equal stacks stand once, whichever process they are of. */
#include "as_text_private.h"

#include "stack_tree.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_location(const struct trace_location *location)
{
    const char *function = location->function ? location->function : "";
    const char *file = location->file ? location->file : "";
    uint64_t line = hash_u64((uint64_t)location->kind << 32 | location->line);
    return hash_pair(
        line, hash_pair(hash_text(function, strlen(function)), hash_text(file, strlen(file))));
}

static const char *module_path(const struct trace_location *location)
{
    return location->module ? location->module->path : NULL;
}

/* Equal in all that is printed; without a line the address counts. */
static bool locations_equal(const struct trace_location *a, const struct trace_location *b)
{
    return a->kind == b->kind && a->line == b->line && a->column == b->column &&
           a->inlined == b->inlined && a->has_offset == b->has_offset &&
           (a->line || a->offset == b->offset) && print_strings_equal(a->function, b->function) &&
           print_strings_equal(a->file, b->file) &&
           print_strings_equal(module_path(a), module_path(b));
}

/* Items of the table are pointers to locations of which no two are equal. */
static bool location_matches(const void *item, const void *key)
{
    return locations_equal(*(const struct trace_location *const *)item, key);
}

/* The location that stands for its equals; it alone when memory is short, which is not wrong. */
static const struct trace_location *intern(struct hash_table *locations,
                                           const struct trace_location *location)
{
    uint64_t hash = hash_location(location);
    const struct trace_location **found =
        hash_table_find_by(locations, hash, location_matches, location);
    if (!found && (found = hash_table_add_by(locations, hash)))
        *found = location;
    return found ? *found : location;
}

/* Neighbours in a stack are often at the same location: one look-up for both. */
static bool copy_thread(const struct psc_trace *trace, bool has_rank,
                        const struct trace_thread *from, struct hash_table *locations,
                        struct trace_thread *ret)
{
    *ret = *from;
    ret->process = trace->pid;
    ret->has_rank = has_rank;
    ret->rank = has_rank ? trace->running->rank : 0;
    ret->frames = calloc(from->frame_count ? from->frame_count : 1, sizeof(*ret->frames));
    if (!ret->frames)
        return false;
    const struct trace_location *last = NULL;
    for (size_t i = 0; i < from->frame_count; i++) {
        ret->frames[i] = from->frames[i];
        if (i && from->frames[i].location == from->frames[i - 1].location)
            ret->frames[i].location = last;
        else
            ret->frames[i].location = intern(locations, from->frames[i].location);
        last = ret->frames[i].location;
    }
    return true;
}

static bool join_threads(const struct psc_trace *const *traces, size_t count,
                         struct psc_trace *joined)
{
    size_t threads = 0;
    struct hash_table locations = HASH_TABLE_OF(const struct trace_location *);
    for (size_t i = 0; i < count; i++)
        threads += traces[i]->thread_count;
    joined->threads = calloc(threads ? threads : 1, sizeof(*joined->threads));
    bool good = joined->threads;
    for (size_t i = 0; good && i < count; i++) {
        bool has_rank = stack_tree_has_rank(traces, count, i);
        for (size_t j = 0; good && j < traces[i]->thread_count; j++)
            good = copy_thread(traces[i], has_rank, &traces[i]->threads[j], &locations,
                               &joined->threads[joined->thread_count++]);
    }
    hash_table_deinit(&locations);
    return good;
}

enum psc_status print_text_processes(const struct psc_trace *const *traces, size_t count,
                                     const struct psc_print_options *options,
                                     struct print_sink *sink)
{
    struct psc_trace joined = {0};
    enum psc_status status = join_threads(traces, count, &joined) ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        print_text_header(traces[i], true, options, sink);
    if (status == PSC_OK)
        status = print_text_threads(&joined, options, sink);
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        status = print_text_tasks(traces[i], true, options, sink);
    for (size_t i = 0; joined.threads && i < joined.thread_count; i++)
        free(joined.threads[i].frames);
    free(joined.threads);
    return status;
}
