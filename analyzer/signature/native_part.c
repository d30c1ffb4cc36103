/* The native functions at the end of the stack. */
#include "signature_private.h"

#include <stdlib.h>
#include <string.h>

#define NATIVE_LIMIT 4u /* With prefixes. */
/* Frames in which a sentinel is looked for. */
#define SENTINEL_DEPTH 200u

static bool is_native(const struct trace_frame *frame)
{
    return frame->location->kind == TRACE_NATIVE;
}

/* Frames that the report hides say nothing; inlined ones are there with debug information only. */
static bool is_looked_at(const struct trace_frame *frame)
{
    return is_native(frame) && !frame->hidden && !frame->location->inlined;
}

/* Module and function of a frame as the rules see them; "" for what is not known. */
struct frame_names {
    struct text module;
    struct text function;
    const char *path; /* Of the module; or NULL. */
};

static void frame_names_deinit(struct frame_names *names)
{
    text_deinit(&names->module);
    text_deinit(&names->function);
}

static void name_frame(struct part_list *parts, const struct trace_frame *frame,
                       struct frame_names *ret)
{
    const struct trace_location *location = frame->location;
    text_add_string(&ret->module, "");
    text_add_string(&ret->function, "");
    ret->path = location->module ? location->module->path : NULL;
    if (location->module)
        signature_name_module(location->module->name, &ret->module);
    if (location->function)
        signature_name_function(location->function, &ret->function);
    if (ret->module.failed || ret->function.failed) {
        parts->failed = true;
        return;
    }
    const struct rule *rule = rules_find(parts->rules, 1u << RULE_RENAME, NULL, ret->function.data);
    if (rule) {
        text_clear(&ret->function);
        text_add_string(&ret->function, rule->new_name);
        parts_explain(parts, frame, "renamed", rule);
    }
}

static const struct rule *find_rule(const struct part_list *parts, unsigned actions,
                                    const struct frame_names *names)
{
    const struct rule_module module = {.name = names->module.data, .path = names->path};
    return rules_find(parts->rules, actions, &module, names->function.data);
}

/* The first frame that is not below a sentinel: what only reports is left out. */
static size_t find_start(struct part_list *parts, const struct trace_thread *thread)
{
    size_t start = 0;
    for (size_t i = 0; i < thread->frame_count && i < SENTINEL_DEPTH && !parts->failed; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        PSC_CLEANUP(frame_names_deinit) struct frame_names names = {0};
        if (frame->location->kind == TRACE_PYTHON || frame->location->kind == TRACE_CYTHON)
            break;
        if (!is_native(frame))
            continue;
        name_frame(parts, frame, &names);
        const struct rule *rule = parts->failed || !names.function.size
                                      ? NULL
                                      : find_rule(parts, 1u << RULE_SENTINEL, &names);
        if (!rule)
            continue;
        parts_explain(parts, frame, "it and what it called only report", rule);
        start = i + 1;
    }
    return start;
}

static void add_native(struct part_list *parts, const struct frame_names *names)
{
    struct text part = {0};
    // Offsets differ from build to build.
    text_add_string(&part, names->function.size ? names->function.data : names->module.data);
    if (!names->function.size)
        text_add_string(&part, names->module.size ? "!" : "?");
    if (part.failed)
        parts->failed = true;
    else if (!parts->count || strcmp(parts->items[parts->count - 1], part.data) != 0)
        parts_add(parts, part.data);
    text_deinit(&part);
}

/* Whether the next frame outward is wanted, too; *ret_passed where this one said nothing. */
static bool take_frame(struct part_list *parts, const struct trace_frame *frame, bool *ret_passed)
{
    const unsigned actions = 1u << RULE_SKIP | 1u << RULE_PREFIX | 1u << RULE_KEEP;
    PSC_CLEANUP(frame_names_deinit) struct frame_names names = {0};
    name_frame(parts, frame, &names);
    if (parts->failed)
        return false;
    const struct rule *rule = find_rule(parts, actions, &names);
    if (rule && rule->action == RULE_SKIP) {
        parts_explain(parts, frame, "left out", rule);
        *ret_passed = true;
        return true;
    }
    bool prefix = rule && rule->action == RULE_PREFIX;
    if (prefix && !names.function.size) {
        parts_explain(parts, frame, "has no name that could be told", rule);
        *ret_passed = true;
        return true;
    }
    parts_explain(parts, frame, prefix ? "named, and its caller" : "named", rule);
    add_native(parts, &names);
    return prefix;
}

/* A location that says nothing: in a recursion it comes again and again. */
struct passed_location {
    uint64_t address;
};

static bool take_further(struct part_list *parts, const struct trace_frame *frame,
                         struct hash_table *passed)
{
    bool is_passed = false;
    bool more = take_frame(parts, frame, &is_passed);
    if (is_passed && !hash_table_add(passed, (uintptr_t)frame->location))
        parts->failed = true;
    return more;
}

size_t add_native_parts(struct part_list *parts, const struct trace_thread *thread)
{
    size_t before = parts->count;
    bool more = true;
    struct hash_table passed = HASH_TABLE_OF(struct passed_location);
    for (size_t i = find_start(parts, thread); more && i < thread->frame_count; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        if (frame->location->kind == TRACE_PYTHON || frame->location->kind == TRACE_CYTHON)
            break;
        if (is_looked_at(frame) && !hash_table_find(&passed, (uintptr_t)frame->location))
            more = take_further(parts, frame, &passed);
        if (parts->failed || parts->count - before >= NATIVE_LIMIT)
            break;
    }
    hash_table_deinit(&passed);
    return parts->count - before;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What of the parts from `first` on is there once, in the order of the names. */
static void sort_from(struct part_list *parts, size_t first)
{
    size_t kept = first;
    if (parts->count > first)
        qsort(parts->items + first, parts->count - first, sizeof(*parts->items), compare_names);
    for (size_t i = first; i < parts->count; i++)
        if (kept == first || strcmp(parts->items[i], parts->items[kept - 1]) != 0)
            parts->items[kept++] = parts->items[i];
    parts->count = kept;
    if (parts->count - first > NATIVE_LIMIT)
        parts->count = first + NATIVE_LIMIT;
}

size_t add_native_recursion_parts(struct part_list *parts, const struct trace_thread *thread)
{
    const struct trace_recursion *recursion = &thread->recursions[0];
    size_t before = parts->count, shown = 0;
    for (size_t i = recursion->first;
         i <= recursion->last && shown < recursion->frames && !parts->failed; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        bool is_passed = false;
        shown += !frame->hidden;
        if (is_looked_at(frame))
            (void)take_frame(parts, frame, &is_passed);
    }
    sort_from(parts, before);
    return parts->count - before;
}
