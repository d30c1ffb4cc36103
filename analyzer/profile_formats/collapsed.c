/*
 * Collapsed stacks, what flamegraph.pl and its successors read: "outermost;...;innermost COUNT".
 * Stacks that read alike are one line.
 */
#include "profile_formats_private.h"

#include <stdlib.h>

/** A line's text and what it counts; in the order in which they were first seen. */
struct collapsed_line {
    char *text; /**< In the arena. */
    uint64_t weight;
};

/** A thread's (or everybody's) stack and what it counts. */
struct collapsed_stack {
    uint64_t thread; /**< 0 where threads are not shown. */
    uint64_t stack;
    uint64_t weight;
};

struct collapsing {
    const struct profile *profile;
    struct arena *arena;
    struct hash_table stacks; /**< struct collapsed_stack */
    struct hash_table lines;  /**< struct collapsed_line */
    uint32_t *frames;
    size_t frame_capacity;
    struct text text;
};

static void collapsing_deinit(struct collapsing *collapsing)
{
    hash_table_deinit(&collapsing->stacks);
    hash_table_deinit(&collapsing->lines);
    free(collapsing->frames);
    text_deinit(&collapsing->text);
    arena_destroy(collapsing->arena);
}

/* What is shown outside of the stack is part of the key, no more. */
static uint32_t shown_thread(const struct profile *profile, uint32_t thread)
{
    if (profile->splits_threads)
        return thread;
    return profile->several_processes ? profile->threads[thread].process : 0;
}

static enum psc_status sum_stacks(struct collapsing *collapsing)
{
    const struct profile *profile = collapsing->profile;
    struct profile_reader reader;
    struct profile_sample sample;
    profile_start_reading(&reader, profile);
    while (profile_next_sample(&reader, &sample)) {
        if (!sample.stack)
            continue;
        uint64_t thread = shown_thread(profile, sample.thread);
        struct collapsed_stack *one =
            hash_table_find_pair(&collapsing->stacks, thread, sample.stack);
        if (!one)
            one = hash_table_add_pair(&collapsing->stacks, thread, sample.stack);
        if (!one)
            return PSC_ERR_MEMORY;
        one->weight += profile_weight(profile, &sample);
    }
    return PSC_OK;
}

/* A semicolon ends a frame: names that have one show a colon. */
static void hide_semicolons(struct text *text, size_t from)
{
    for (size_t i = from; i < text->size; i++)
        if (text->data[i] == ';')
            text->data[i] = ':';
}

static void add_label(struct collapsing *collapsing, uint32_t shown)
{
    const struct profile *profile = collapsing->profile;
    struct text *text = &collapsing->text;
    if (profile->several_processes && shown) {
        process_label(profile, profile->splits_threads ? profile->threads[shown].process : shown,
                      text);
        hide_semicolons(text, 0);
        text_add_char(text, ';');
    }
    if (profile->splits_threads) {
        size_t from = text->size;
        thread_label(profile, shown, text);
        hide_semicolons(text, from);
        text_add_char(text, ';');
    }
}

static bool line_matches(const void *item, const void *key)
{
    return !strcmp(((const struct collapsed_line *)item)->text, key);
}

static enum psc_status add_line(struct collapsing *collapsing, uint64_t weight)
{
    const struct text *text = &collapsing->text;
    if (text->failed)
        return PSC_ERR_MEMORY;
    uint64_t hash = hash_text(text->data, text->size);
    struct collapsed_line *line =
        hash_table_find_by(&collapsing->lines, hash, line_matches, text->data);
    if (!line && (line = hash_table_add_by(&collapsing->lines, hash)))
        line->text = arena_strndup(collapsing->arena, text->data, text->size);
    if (!line || !line->text)
        return PSC_ERR_MEMORY;
    line->weight += weight;
    return PSC_OK;
}

static enum psc_status make_lines(struct collapsing *collapsing)
{
    const struct profile *profile = collapsing->profile;
    struct text *text = &collapsing->text;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < collapsing->stacks.count; i++) {
        const struct collapsed_stack *one = hash_table_at(&collapsing->stacks, i);
        size_t count;
        if (!profile_unfold(profile, (uint32_t)one->stack, &collapsing->frames,
                            &collapsing->frame_capacity, &count))
            return PSC_ERR_MEMORY;
        text_clear(text);
        add_label(collapsing, (uint32_t)one->thread);
        for (size_t k = 0; k < count; k++) {
            size_t from = text->size;
            profile_frame_text(profile, collapsing->frames[k], true, text);
            hide_semicolons(text, from);
            if (k + 1 < count)
                text_add_char(text, ';');
        }
        status = add_line(collapsing, one->weight);
    }
    return status;
}

static enum psc_status print_lines(const struct collapsing *collapsing,
                                   const struct profile_output *output)
{
    struct profile_printer printer = {.output = output};
    for (size_t i = 0; i < collapsing->lines.count; i++) {
        const struct collapsed_line *line = hash_table_at(&collapsing->lines, i);
        if (line->weight)
            text_printf(&printer.text, "%s %llu\n", line->text, (unsigned long long)line->weight);
        printer_flow(&printer);
    }
    return printer_end(&printer);
}

enum psc_status write_collapsed(const struct profile *profile, const struct profile_output *output,
                                struct psc_error *err)
{
    struct collapsing collapsing PSC_CLEANUP(collapsing_deinit) = {
        .profile = profile,
        .arena = arena_create(),
        .stacks = HASH_TABLE_OF(struct collapsed_stack),
        .lines = HASH_TABLE_OF(struct collapsed_line)};
    if (!collapsing.arena)
        return psc_fail_memory(err);
    enum psc_status status = sum_stacks(&collapsing);
    if (status == PSC_OK)
        status = make_lines(&collapsing);
    if (status == PSC_OK)
        status = print_lines(&collapsing, output);
    return psc_fail_status(err, status);
}
