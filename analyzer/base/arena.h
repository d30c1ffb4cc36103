/**
 * @file
 * Memory: the arena, arrays that grow, free() as a cleanup.
 */
#ifndef PSC_ARENA_H
#define PSC_ARENA_H

#include "status.h"

/**
 * Many small things with one life: allocated one by one, freed together.
 * A failed allocation returns NULL, and arena_is_exhausted() is true from then on.
 */
struct arena;

/** NULL when out of memory. */
struct arena *arena_create(void);
void arena_destroy(struct arena *arena);

/** Zeroed, aligned for any type; NULL when exhausted. */
void *arena_alloc(struct arena *arena, size_t size);

/** Zeroed array of count members; NULL when exhausted or when the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/** A NUL-terminated copy of `size` bytes; NULL when exhausted. */
char *arena_strndup(struct arena *arena, const char *text, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) PSC_PRINTF(2, 3);

/** Bytes that it has taken. */
size_t arena_size(const struct arena *arena);

/** True after any allocation failed. */
bool arena_is_exhausted(const struct arena *arena);

/** Says so: memory beside the arena ran out, and what it holds is not whole. */
void arena_set_exhausted(struct arena *arena);

/**
 * Grows a heap array so that it holds at least `need` members. `array` is the address of the
 * pointer to it (a `T **`, no cast); the array and *capacity change only on success. Freed with
 * free().
 */
PSC_MUST_CHECK bool array_reserve(void *array, size_t *capacity, size_t need, size_t member_size);

/** For PSC_CLEANUP on a heap pointer. */
void cleanup_free(void *pointer_to_pointer);

#endif
