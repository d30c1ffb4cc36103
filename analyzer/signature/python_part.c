/* The Python and Cython functions of the application that are nearest to the end of the stack. */
#include "signature_private.h"

#include <stdlib.h>
#include <string.h>

#define PYTHON_LIMIT 3u
/* Functions that are looked at until repetitions among them are gone. */
#define COLLECTED_LIMIT 64u
#define CYCLE_LIMIT     10u

static bool is_python(const struct trace_frame *frame)
{
    return frame->location->kind == TRACE_PYTHON || frame->location->kind == TRACE_CYTHON;
}

/* Cython's files are named as they were compiled: where the module lies says whose it is. */
static const char *path_of(const struct trace_location *location)
{
    if (location->kind == TRACE_CYTHON && location->module)
        return location->module->path;
    return location->file ? location->file : "";
}

static const char *name_python(struct part_list *parts, const struct trace_frame *frame)
{
    const struct trace_location *location = frame->location;
    struct text part = {0};
    if (location->file)
        signature_name_file(location->file, &part);
    else if (location->module)
        signature_name_module(location->module->name, &part);
    text_printf(&part, ":%s", location->function ? location->function : "?");
    const char *name = part.failed ? NULL : arena_strdup(parts->arena, part.data);
    if (!name)
        parts->failed = true;
    text_deinit(&part);
    return name;
}

/* Of calls that come again only the first is kept: "a b a b c" is "a b c". */
static size_t without_cycle(const char *const *names, size_t count)
{
    for (size_t cycle = 1; cycle <= CYCLE_LIMIT && 2 * cycle <= count; cycle++) {
        size_t same = 0;
        while (same < cycle && !strcmp(names[count - 1 - same], names[count - 1 - same - cycle]))
            same++;
        if (same == cycle)
            return count - cycle;
    }
    return count;
}

/* The frame after those that repeat the one at `at`, or `at` itself. */
static size_t skip_recursion(const struct trace_thread *thread, size_t at)
{
    for (size_t i = 0; i < thread->recursion_count; i++) {
        const struct trace_recursion *recursion = &thread->recursions[i];
        if (at <= recursion->first || at > recursion->last)
            continue;
        // The first cycle is looked at; hidden frames are within it, so it is measured by shown
        // ones.
        size_t shown = 0;
        for (size_t j = recursion->first; j < at; j++)
            shown += !thread->frames[j].hidden;
        if (shown >= recursion->frames)
            return recursion->last + 1;
    }
    return at;
}

static bool is_in_app(struct part_list *parts, const struct trace_frame *frame)
{
    const unsigned actions = 1u << RULE_IN_APP | 1u << RULE_NOT_IN_APP;
    const struct rule *rule = rules_find(parts->rules, actions, NULL, path_of(frame->location));
    bool in_app = !rule || rule->action == RULE_IN_APP;
    parts_explain(parts, frame, in_app ? "of the application" : "of a library", rule);
    return in_app;
}

/* The names of Python frames, the nearest first; all of them, or those of the application. */
static size_t collect(struct part_list *parts, const struct trace_thread *thread, bool all,
                      const char **names)
{
    size_t count = 0, i = 0;
    while (i < thread->frame_count && count < COLLECTED_LIMIT && !parts->failed) {
        size_t next = skip_recursion(thread, i);
        if (next != i) {
            i = next;
            continue;
        }
        const struct trace_frame *frame = &thread->frames[i++];
        if (!is_python(frame) || frame->hidden || (!all && !is_in_app(parts, frame)))
            continue;
        names[count] = name_python(parts, frame);
        if (names[count])
            count = without_cycle(names, count + 1);
        if (count > PYTHON_LIMIT + CYCLE_LIMIT)
            break;
    }
    return count;
}

size_t add_python_parts(struct part_list *parts, const struct trace_thread *thread,
                        bool without_native)
{
    const char *names[COLLECTED_LIMIT], *nearest[COLLECTED_LIMIT];
    size_t before = parts->count;
    size_t count = collect(parts, thread, false, names);
    // Where nothing native tells what went wrong, the library's function that was called does.
    if (without_native || !count) {
        struct text *explain = parts->explain;
        parts->explain = NULL;
        size_t all = collect(parts, thread, true, nearest);
        parts->explain = explain;
        if (all && (!count || strcmp(nearest[0], names[0]) != 0))
            parts_add(parts, nearest[0]);
    }
    for (size_t i = 0; i < count && i < PYTHON_LIMIT; i++)
        parts_add(parts, names[i]);
    return parts->count - before;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each once, in the order of their names. */
static void add_sorted(struct part_list *parts, const char **names, size_t count)
{
    if (count)
        qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; i++)
        if (!i || strcmp(names[i], names[i - 1]) != 0)
            parts_add(parts, names[i]);
}

/* Where in the cycle the stack ended is by chance: its functions in the order of their names. */
size_t add_recursion_parts(struct part_list *parts, const struct trace_thread *thread)
{
    const char *names[COLLECTED_LIMIT];
    size_t before = parts->count, count = 0;
    if (!thread->recursion_count)
        return 0;
    const struct trace_recursion *recursion = &thread->recursions[0];
    size_t shown = 0;
    for (size_t i = recursion->first;
         i <= recursion->last && shown < recursion->frames && count < COLLECTED_LIMIT; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        shown += !frame->hidden;
        if (is_python(frame) && !frame->hidden && (names[count] = name_python(parts, frame)))
            count++;
    }
    add_sorted(parts, names, count);
    return parts->count - before;
}

static const struct trace_thread *find_thread(const struct psc_trace *trace, int32_t tid)
{
    for (size_t i = 0; tid && i < trace->thread_count; i++)
        if (trace->threads[i].tid == tid)
            return &trace->threads[i];
    return NULL;
}

/* Which of them came first is by chance. */
size_t add_deadlock_parts(struct part_list *parts, const struct psc_trace *trace,
                          const struct trace_deadlock *deadlock)
{
    const char *nearest[COLLECTED_LIMIT], *names[COLLECTED_LIMIT];
    size_t before = parts->count, count = 0;
    for (size_t i = 0; i < deadlock->count && count < COLLECTED_LIMIT; i++) {
        const struct trace_thread *thread = find_thread(trace, deadlock->members[i].tid);
        bool some = thread && (collect(parts, thread, false, nearest) ||
                               collect(parts, thread, true, nearest));
        if (some)
            names[count++] = nearest[0];
    }
    add_sorted(parts, names, count);
    return parts->count - before;
}
