/** @file What the files of room `profile` share. */
#ifndef PSC_PROFILE_PRIVATE_H
#define PSC_PROFILE_PRIVATE_H

#include "profile.h"

/** The samples: the last ones here, those before in a file without a name. */
struct profile_spill {
    struct profile_sample *items;
    size_t count;
    size_t capacity;
    uint64_t spilled; /**< Samples in the file. */
    int fd;           /**< -1: there is no file yet. */
    struct profile_files given;
};

/** Samples that are kept in memory before they go to the file. */
#define PROFILE_HELD_LIMIT ((size_t)1 << 15)

/** @param given  as profile_create() has them. NULL: out of memory. */
struct profile_spill *spill_create(const struct profile_files *given);
void spill_destroy(struct profile_spill *spill);

#endif
