#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_FIRST_SIZE ((size_t)2 * 1024) /* Each block is twice as large as the one before. */
#define ARENA_BLOCK_SIZE ((size_t)64 * 1024)
#define ARENA_ALIGNMENT  _Alignof(max_align_t)
#define DOUBLED_FROM     ((size_t)256 * 1024) /* Bytes of an array that grows by half before. */

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    _Alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct arena_block *blocks; /* The first is the one that is filled. */
    size_t size;                /* Of all blocks. */
    bool exhausted;
};

struct arena *arena_create(void)
{
    return calloc(1, sizeof(struct arena));
}

void arena_destroy(struct arena *arena)
{
    if (!arena)
        return;
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    free(arena);
}

static struct arena_block *arena_add_block(struct arena *arena, size_t size)
{
    struct arena_block *block = calloc(1, sizeof(*block) + size);
    if (!block)
        return NULL;
    block->size = size;
    arena->size += size;
    bool large = size > ARENA_BLOCK_SIZE && arena->blocks;
    if (large) {
        /* A block of one large thing stands behind the one that is filled. */
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

size_t arena_size(const struct arena *arena)
{
    return arena->size;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (arena->exhausted || size > SIZE_MAX / 2) {
        arena->exhausted = true;
        return NULL;
    }
    size = (size + ARENA_ALIGNMENT - 1) & ~(ARENA_ALIGNMENT - 1);
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) {
        size_t least = block ? 2 * block->size : ARENA_FIRST_SIZE;
        least = least < ARENA_BLOCK_SIZE ? least : ARENA_BLOCK_SIZE;
        block = arena_add_block(arena, size > least ? size : least);
        if (!block) {
            arena->exhausted = true;
            return NULL;
        }
    }
    void *result = block->bytes + block->used;
    block->used += size;
    return result;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        arena->exhausted = true;
        return NULL;
    }
    return arena_alloc(arena, total);
}

char *arena_strndup(struct arena *arena, const char *text, size_t size)
{
    char *copy = size < SIZE_MAX ? arena_alloc(arena, size + 1) : NULL;
    if (copy && size)
        memcpy(copy, text, size);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0)
        return NULL;
    char *result = arena_alloc(arena, (size_t)size + 1);
    if (result) {
        va_start(args, format);
        vsnprintf(result, (size_t)size + 1, format, args);
        va_end(args);
    }
    return result;
}

bool arena_is_exhausted(const struct arena *arena)
{
    return arena->exhausted;
}

void arena_set_exhausted(struct arena *arena)
{
    arena->exhausted = true;
}

bool array_reserve(void *array, size_t *capacity, size_t need, size_t member_size)
{
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity < 16 ? 16 : *capacity;
    while (wanted < need) {
        if (wanted > SIZE_MAX / 2)
            return false;
        // What is not touched of a large block costs nothing, to copy it again does.
        wanted += wanted > DOUBLED_FROM / member_size ? wanted : wanted / 2;
    }
    size_t bytes;
    if (__builtin_mul_overflow(wanted, member_size, &bytes))
        return false;
    /* Every object pointer has the same representation. */
    void *items;
    memcpy(&items, array, sizeof(items));
    items = realloc(items, bytes);
    if (!items)
        return false;
    memcpy(array, &items, sizeof(items));
    *capacity = wanted;
    return true;
}

void cleanup_free(void *pointer_to_pointer)
{
    void *pointer;
    memcpy(&pointer, pointer_to_pointer, sizeof(pointer));
    free(pointer);
}
