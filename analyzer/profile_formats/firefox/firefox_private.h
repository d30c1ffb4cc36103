/** @file Shared by the files of room `profile_formats/firefox` only. */
#ifndef PSC_PROFILE_FIREFOX_PRIVATE_H
#define PSC_PROFILE_FIREFOX_PRIVATE_H

#include "json_writer.h"
#include "printer.h"
#include "samples.h"

/** Indices in meta.categories. */
enum firefox_category {
    CATEGORY_OTHER,
    CATEGORY_PYTHON,
    CATEGORY_CYTHON,
    CATEGORY_NATIVE,
    CATEGORY_GIL,
    CATEGORY_COLLECTOR,
    CATEGORY_IDLE
};

/** Names that are in no table of a profile; they stand behind its strings, and the names of
 * libraries behind them. */
enum firefox_string { STRING_GIL_WAIT, STRING_COLLECTION, STRING_COUNT };

/**
 * A stack or frame of the profile with another category than its frame's kind has: what a thread
 * did is told by its innermost frame's category.
 */
struct other_category {
    uint64_t number;   /**< Of the stack or frame. The keys come first. */
    uint64_t category; /**< enum firefox_category */
    uint32_t index;    /**< Among those of its table, which stand behind the profile's own. */
};

struct firefox {
    const struct profile *profile;
    struct thread_samples *samples;
    struct profile_printer *printer;
    struct json_writer *writer;
    struct hash_table other_stacks; /**< struct other_category */
    struct hash_table other_frames;
    uint32_t *source_of; /**< By string: its row in sources, from 1. */
    uint32_t *sources;   /**< Strings. */
    uint32_t source_count;
    uint32_t *symbol_of; /**< By function: its row in nativeSymbols, from 1. */
    uint32_t *symbols;   /**< Functions. */
    uint32_t symbol_count;
};

#define FIREFOX_NULL INT64_MIN

/** A value of a column; FIREFOX_NULL. */
typedef int64_t firefox_value_fn(const struct firefox *to, uint32_t row);
/** A column of `count` values. */
void firefox_column(struct firefox *to, const char *key, uint32_t count, firefox_value_fn *value);

/** The last component of its path. */
const char *firefox_library_name(const struct profile *profile, uint32_t library);

/** What a thread did at a sample, where that is not told by its innermost frame; else
 * CATEGORY_OTHER. */
enum firefox_category category_of_sample(const struct profile_sample *sample);

/** Makes what the tables need; false: out of memory. */
bool firefox_prepare(struct firefox *to);
/** "shared": stacks, frames, functions, ... */
void firefox_put_shared(struct firefox *to);
/** "threads"; false: out of memory. */
bool firefox_put_threads(struct firefox *to);

#endif
