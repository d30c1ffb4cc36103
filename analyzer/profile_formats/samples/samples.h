/**
 * @file
 * Room `profile_formats/samples`: a profile's samples in the orders that formats need.
 */
#ifndef PSC_PROFILE_SAMPLES_H
#define PSC_PROFILE_SAMPLES_H

#include "profile.h"

/* ---- by_thread.c ---- */

/** All samples, those of one thread behind each other. */
struct thread_samples;

/** PSC_ERR_MEMORY; PSC_ERR_IO: they cannot be read, or there is no room for them in a file. */
PSC_MUST_CHECK enum psc_status thread_samples_create(const struct profile *profile,
                                                     struct thread_samples **ret,
                                                     struct psc_error *err);
void thread_samples_destroy(struct thread_samples *samples);
/** Those of a thread, in the order of their times; valid until all are destroyed. */
const struct profile_sample *thread_samples_of(struct thread_samples *samples, uint32_t thread,
                                               size_t *ret_count);
/** For PSC_CLEANUP. */
void cleanup_thread_samples(struct thread_samples **samples);
/** The stack was taken, and there is one. */
bool sample_has_stack(const struct profile_sample *sample);

/* ---- stack_weights.c ---- */

/** What the samples with a stack and a thread come to. */
struct stack_weight {
    uint64_t thread; /**< The keys come first. */
    uint64_t stack;
    uint64_t count;  /**< Samples. */
    uint64_t weight; /**< Intervals. */
    uint64_t cpu;    /**< ns of processor time. */
};

/** A hash_table of struct stack_weight. PSC_ERR_MEMORY, PSC_ERR_IO: not all could be read. */
PSC_MUST_CHECK enum psc_status stack_weights_read(const struct profile *profile,
                                                  struct hash_table *ret, struct psc_error *err);
/** What one counts in the profile's own measure, see profile_weight(). */
uint64_t stack_weight_measure(const struct profile *profile, const struct stack_weight *one);

/* ---- call_tree.c ---- */

/** What stands in a box: a function at a line, whatever the address; a thread; a process. */
struct call_label {
    uint64_t function; /**< Number of it, CALL_THREAD or CALL_PROCESS. The keys come first. */
    uint64_t number;   /**< The line, or the number of the thread or process. */
};

#define CALL_THREAD  UINT32_MAX
#define CALL_PROCESS (UINT32_MAX - 1u)

struct call_node {
    uint32_t parent; /**< Its number is lower; the root is 0. */
    uint32_t label;  /**< Index in labels; of the root it means nothing. */
    uint64_t own;    /**< profile_weight() of the samples that end here. */
    uint64_t total;  /**< And of those that go through here. */
};

/** All stacks, put together by label; with their process and thread outside where a profile has
 * them shown. */
struct call_tree {
    const struct profile *profile;
    struct call_node *nodes;
    size_t count;
    size_t capacity;
    struct hash_table labels;   /**< struct call_label */
    struct hash_table children; /**< Private, as the next. */
    struct hash_table known;
};

PSC_MUST_CHECK enum psc_status call_tree_read(const struct profile *profile, struct call_tree *ret,
                                              struct psc_error *err);
void call_tree_deinit(struct call_tree *tree);
/** The node of a thread's stack; 0: it is not there. */
uint32_t call_tree_find(const struct call_tree *tree, uint32_t thread, uint32_t stack);

#endif
