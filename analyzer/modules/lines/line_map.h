/**
 * @file
 * Private to modules/: a hash table from two numbers to a string and a number,
 * for what was looked up once (an address's line, a file's name).
 */
#ifndef PSC_PLACE_MAP_H
#define PSC_PLACE_MAP_H

#include "base.h"

struct place {
    uint64_t key;
    uint32_t second_key;
    uint32_t line;
    const char *text; /**< May be NULL: known to have none. */
    bool used;
};

/** Zero-initialise. */
struct place_map {
    struct place *slots;
    size_t size; /**< A power of two, or 0. */
    size_t count;
};

void place_map_deinit(struct place_map *map);
/** NULL when the keys are not there. Valid until the next place_map_add(). */
const struct place *place_map_find(const struct place_map *map, uint64_t key, uint32_t second_key);
/** Adds keys that are not there; without memory it is forgotten. */
void place_map_add(struct place_map *map, uint64_t key, uint32_t second_key, const char *text,
                   uint32_t line);

#endif
