/*
 * Cython's generators and coroutines that await others (Cython/Utility/Coroutine.c). When one is
 * resumed, Cython's helpers pass what is sent to it on to what it awaits: their frames stand on the
 * stack, the generator's function has none. The objects that these frames hold tell whose they are:
 * each generator awaits the one further in, and the innermost awaits what the frame inside of the
 * helpers runs. Frames of helpers that are in no such chain stay as they are.
 */
#include "merge_private.h"

#include <stdlib.h>
#include <string.h>

/** Words of the stack that one row of helpers is looked through for. */
#define WORD_LIMIT ((size_t)1 << 14)
/** The same of a thread: a million calls deep there may be as many rows without a generator. */
#define TOTAL_WORD_LIMIT ((size_t)1 << 18)
/** Generators in one row of helpers. */
#define AWAITING_LIMIT 512
/** Words of the stack that are known to be none: the same few objects stand in many rows. */
#define OTHER_WORD_COUNT 1024
/** Words of the stack that are read at once. */
#define WORDS_AT_ONCE 64

/** A row of helpers' frames, from the frame inside of it outward. */
struct row {
    size_t inner;    /**< That frame, of the native stack. */
    psc_addr python; /**< The Python frame that it runs; 0: none. */
    size_t *helpers; /**< Frames of the native stack, the innermost first. */
    size_t count;
    size_t capacity;
    bool open; /**< There is a frame inside. */
};

struct search {
    struct merged_stack *merged;
    const struct await_chain_input *input;
    struct row row;
    size_t words;                      /**< Looked at so far. */
    psc_addr others[OTHER_WORD_COUNT]; /**< Each where its hash has it; 0: none. */
    struct python_awaiting found[AWAITING_LIMIT];
    size_t found_count;
    psc_addr running[AWAITING_LIMIT]; /**< Others of Cython's, whose functions run. */
    size_t running_count;
    struct python_awaiting chain[AWAITING_LIMIT];
    size_t chain_count;
};

static bool is_helper(const struct address_info *info)
{
    return info->extension && info->levels[info->level_count - 1].plumbing;
}

/* ---- the objects ---- */

static bool is_known(const struct search *search, psc_addr object)
{
    for (size_t i = 0; i < search->found_count; i++)
        if (search->found[i].object == object)
            return true;
    return false;
}

static bool is_running(const struct search *search, psc_addr object)
{
    for (size_t i = 0; i < search->running_count; i++)
        if (search->running[i] == object)
            return true;
    return false;
}

/** A word of the stack that may be an object: takes it when it is a generator that runs. */
static void take_word(struct search *search, uint64_t word)
{
    psc_addr *other = &search->others[hash_u64(word) % OTHER_WORD_COUNT];
    if (*other == word || is_known(search, word) || is_running(search, word))
        return;
    switch (python_read_running(search->input->python, word, &search->found[search->found_count])) {
    case PYTHON_AWAITING:
        search->found_count++;
        return;
    case PYTHON_RUNNING:
        if (search->running_count < AWAITING_LIMIT)
            search->running[search->running_count++] = word;
        return;
    case PYTHON_NOT_RUNNING:
        break;
    }
    *other = word;
}

/** Words of the stack from `at`; how many, 0 where it cannot be read. */
static size_t read_words(struct target *target, psc_addr at, psc_addr end,
                         uint64_t ret[WORDS_AT_ONCE])
{
    const uint64_t left = (end - at + 7) / sizeof(*ret);
    const size_t count = left < WORDS_AT_ONCE ? (size_t)left : WORDS_AT_ONCE;
    if (target_read(target, at, ret, count * sizeof(*ret)) == PSC_OK)
        return count;
    return target_read_u64(target, at, ret) == PSC_OK;
}

/** Those that the stack holds from the frame inside of the helpers to the outermost of them. */
static void find_awaiting(struct search *search)
{
    const struct row *row = &search->row;
    const struct native_frame *frames = search->merged->native.frames;
    const psc_addr end = frames[row->helpers[row->count - 1]].cfa;
    uint64_t words[WORDS_AT_ONCE];
    size_t taken = 0;
    search->found_count = search->running_count = 0;
    for (psc_addr at = frames[row->inner].sp & ~(psc_addr)7; at < end && taken < WORD_LIMIT;) {
        const size_t count = read_words(search->input->target, at, end, words);
        for (size_t i = 0; i < count; i++) {
            if (search->found_count == AWAITING_LIMIT || search->words++ >= TOTAL_WORD_LIMIT)
                return;
            take_word(search, words[i]);
        }
        if (!count)
            return;
        taken += count;
        at += count * sizeof(*words);
    }
}

static bool runs_in(const struct search *search, const struct address_info *info,
                    psc_addr generator)
{
    psc_addr body = python_running_body(search->input->python, generator);
    return body && info->module && modules_find(search->input->modules, body) == info->module &&
           symbolizer_are_one_function(search->input->symbolizer, info, body);
}

/** Whether a generator's function runs in the frame inside of the helpers. */
static bool runs_inside(const struct search *search, psc_addr generator)
{
    struct python *python = search->input->python;
    if (search->row.python)
        return python_running_frame(python, generator) == search->row.python;
    const struct address_info *info = search->merged->native_info[search->row.inner];
    struct python_awaiting other;
    if (!runs_in(search, info, generator) ||
        python_read_running(python, generator, &other) == PYTHON_AWAITING)
        return false;
    /* When the function runs several times at once, nothing tells which of them this frame is. */
    for (size_t i = 0; i < search->running_count; i++)
        if (search->running[i] != generator && runs_in(search, info, search->running[i]))
            return false;
    return search->running_count < AWAITING_LIMIT;
}

static bool is_next(const struct search *search, const struct python_awaiting *generator)
{
    return search->chain_count ? generator->awaited == search->chain[search->chain_count - 1].object
                               : runs_inside(search, generator->awaited);
}

/** Each can be found once only, so that the chain ends. */
static void link_chain(struct search *search)
{
    search->chain_count = 0;
    for (size_t i = 0; i < search->found_count;) {
        if (!is_next(search, &search->found[i])) {
            i++;
            continue;
        }
        search->chain[search->chain_count++] = search->found[i];
        search->found[i] = search->found[--search->found_count];
        i = 0;
    }
}

/* ---- whose frame is whose ---- */

/**
 * Each generator has some helpers' frames in a row, the one that runs inside too, if it is
 * Cython's. Where the compiler saved frames there may be fewer.
 */
static enum psc_status assign(struct search *search)
{
    struct merged_stack *merged = search->merged;
    const struct row *row = &search->row;
    size_t count = search->chain_count, rows = row->python ? count : count + 1;
    if (!count || count > row->count)
        return PSC_OK;
    if (rows > row->count)
        rows = count;
    if (!merged->awaiting)
        merged->awaiting = calloc(merged->native.count, sizeof(*merged->awaiting));
    if (!merged->awaiting)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        size_t helper = row->helpers[row->count - 1 - (count - 1 - i) * row->count / rows];
        enum psc_status status =
            symbolizer_get_awaiting(search->input->symbolizer, &search->chain[i],
                                    merged->native_info[helper], &merged->awaiting[helper]);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}

static enum psc_status end_row(struct search *search)
{
    struct row *row = &search->row;
    enum psc_status status = PSC_OK;
    if (row->open && row->count) {
        find_awaiting(search);
        link_chain(search);
        status = assign(search);
    }
    row->count = 0;
    row->open = false;
    return status;
}

static enum psc_status take_native(struct search *search, const struct merged_item *item)
{
    struct row *row = &search->row;
    const struct address_info *info = search->merged->native_info[item->is.native];
    enum psc_status status = PSC_OK;
    if (item->evaluator || !(is_helper(info) || info->interpreter)) {
        status = end_row(search);
        row->python = 0;
        row->inner = item->is.native;
        row->open = !item->evaluator;
    } else if (is_helper(info) && row->open) {
        if (!array_reserve(&row->helpers, &row->capacity, row->count + 1, sizeof(*row->helpers)))
            return PSC_ERR_MEMORY;
        row->helpers[row->count++] = item->is.native;
    }
    return status;
}

static bool has_helpers(const struct merged_stack *merged)
{
    for (size_t i = 0; i < merged->native.count; i++)
        if (is_helper(merged->native_info[i]))
            return true;
    return false;
}

static void destroy_search(struct search **search)
{
    if (*search)
        free((*search)->row.helpers);
    free(*search);
}

enum psc_status merge_find_await_chains(struct merged_stack *merged,
                                        const struct await_chain_input *input)
{
    /* Of a living process only the stacks were copied: what the objects hold has changed since. */
    if (!input->python || input->target->kind == TARGET_PROCESS || !has_helpers(merged))
        return PSC_OK;
    struct search *search PSC_CLEANUP(destroy_search) = calloc(1, sizeof(*search));
    if (!search)
        return PSC_ERR_MEMORY;
    search->merged = merged;
    search->input = input;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < merged->count && status == PSC_OK; i++) {
        const struct merged_item *item = &merged->items[i];
        if (item->kind == MERGED_NATIVE) {
            status = take_native(search, item);
            continue;
        }
        /* Python frames stand outside of the evaluator that runs them. */
        status = end_row(search);
        search->row.open = item->kind == MERGED_PYTHON;
        search->row.python = item->kind == MERGED_PYTHON ? item->is.python.address : 0;
    }
    if (status == PSC_OK)
        status = end_row(search);
    return status;
}
