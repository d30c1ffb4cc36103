/**
 * @file
 * One run of mutants: what the process that watches and its worker share.
 */
#ifndef PSC_MUTANTS_RUN_H
#define PSC_MUTANTS_RUN_H

#include "mutants.h"

/** Mutants of memory, one after the other, that share a target that is open. */
#define BATCH 16u

/** How a worker ends that did not come to its end; the program's own exit codes are 0, 1, 2, 64. */
enum worker_exit {
    WORKER_SANITIZER = 99,
    WORKER_SLOW = 98,
    WORKER_STANDS = 97,
    WORKER_MEMORY = 96,
    WORKER_LEAK = 95,
    WORKER_COMPLAINT = 94
};

struct run {
    enum kind kind;
    uint64_t seed, first, count;
    const char *list, *save, *schemas, *program;
    bool keep;
    struct subject *subjects;
    size_t subject_count;
    uint64_t failures;
};

/** What the worker tells the process that watches it: in memory that both have. */
struct progress {
    uint64_t number; /**< Of the mutant that is looked at. */
    uint64_t reports;
    uint64_t refused; /**< Subjects that could not be opened any more. */
    struct complaint complaint;
};

/** What mutant `number` is made of. */
static inline struct subject *subject_of(const struct run *run, uint64_t number)
{
    return &run->subjects[number / BATCH % run->subject_count];
}

/** Makes, looks at and mends the mutants `from` to before `to`, and ends: 0 or an enum worker_exit.
 */
_Noreturn void work(const struct run *run, uint64_t from, uint64_t to, uint64_t leaks_every,
                    struct progress *progress);

#endif
