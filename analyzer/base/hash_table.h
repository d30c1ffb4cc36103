/**
 * @file
 * The hash table: items of one size in the order in which they were added, found by a number, by
 * two numbers, or by what a caller's function compares. Items are removed all at once only.
 *
 *     struct page {
 *         psc_addr address; // The key comes first.
 *         const uint8_t *bytes;
 *     };
 *     struct hash_table pages = HASH_TABLE_OF(struct page);
 *     struct page *page = hash_table_find(&pages, address);
 *     if (!page && (page = hash_table_add(&pages, address)))
 *         page->bytes = ...;
 *
 * Items move when one is added: a pointer to one is good until then. Memory is taken by
 * hash_table_reserve() and by adding, never by finding.
 */
#ifndef PSC_HASH_TABLE_H
#define PSC_HASH_TABLE_H

#include "status.h"

#include <string.h>

/** Items at most. */
#define HASH_TABLE_LIMIT ((size_t)1 << 30)
/**
 * Slots tried for an item. A table that is a third empty needs some dozens even when it is large;
 * keys that were made to collide cost no more than this, and are not found.
 */
#define HASH_PROBE_LIMIT 1024

struct hash_slot {
    uint32_t hash;
    uint32_t number; /**< Of the item, from 1; 0: empty. */
};

/** Initialise with HASH_TABLE_OF(), or hash_table_init(); all zero is an empty one to find in. */
struct hash_table {
    void *items; /**< hash_table_at() gives one. */
    size_t count;
    size_t item_size;
    size_t capacity; /**< Items that there is room for. */
    struct hash_slot *slots;
    size_t slot_count; /**< A power of two, or 0. */
};

#define HASH_TABLE_OF(type) ((struct hash_table){.item_size = sizeof(type)})

void hash_table_init(struct hash_table *table, size_t item_size);
/** Frees all; the table can be used again. */
void hash_table_deinit(struct hash_table *table);
/** Forgets all items, keeps the memory. */
void hash_table_clear(struct hash_table *table);
/** Makes room for `count` items in all; false when out of memory, or for more than the limit. */
PSC_MUST_CHECK bool hash_table_reserve(struct hash_table *table, size_t count);

/**
 * Adds a zeroed item under a hash; for hash_table_find_by(). NULL when out of memory, or when so
 * many items collide that it would not be found.
 */
void *hash_table_add_by(struct hash_table *table, uint64_t hash);
/** The same for items whose first member is a uint64_t, the key, which is set. */
void *hash_table_add(struct hash_table *table, uint64_t key);
/** The same for items whose first two members are uint64_t, the keys, which are set. */
void *hash_table_add_pair(struct hash_table *table, uint64_t first, uint64_t second);

/** A 64-bit mix for hash tables keyed by addresses. */
static inline uint64_t hash_u64(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 29;
}

static inline uint64_t hash_pair(uint64_t first, uint64_t second)
{
    return hash_u64(hash_u64(first) + second);
}

/** Of a string or other bytes: FNV-1a. */
static inline uint64_t hash_text(const void *bytes, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

/** What the slots keep of a hash: well mixed, whatever the caller's function did. */
static inline uint32_t hash_for_slot(uint64_t hash)
{
    return (uint32_t)(((hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93)) >> 32);
}

static inline void *hash_table_at(const struct hash_table *table, size_t index)
{
    return (char *)table->items + index * table->item_size;
}

/**
 * The item that was added under `hash` and for which `matches` is true, or NULL. A function that
 * the compiler sees here costs no call.
 */
static inline __attribute__((__always_inline__)) void *
hash_table_find_by(const struct hash_table *table, uint64_t hash,
                   bool (*matches)(const void *item, const void *key), const void *key)
{
    if (!table->count)
        return NULL;
    uint32_t kept = hash_for_slot(hash);
    size_t mask = table->slot_count - 1, at = kept & mask;
    for (unsigned probe = 0; probe < HASH_PROBE_LIMIT; probe++, at = (at + 1) & mask) {
        const struct hash_slot *slot = &table->slots[at];
        if (!slot->number)
            return NULL;
        void *item = hash_table_at(table, slot->number - 1);
        if (slot->hash == kept && matches(item, key))
            return item;
    }
    return NULL;
}

static inline bool hash_key_matches(const void *item, const void *key)
{
    return !memcmp(item, key, sizeof(uint64_t));
}

static inline bool hash_pair_matches(const void *item, const void *key)
{
    return !memcmp(item, key, 2 * sizeof(uint64_t));
}

/** The item whose first member is the key, or NULL. */
static inline void *hash_table_find(const struct hash_table *table, uint64_t key)
{
    return hash_table_find_by(table, hash_u64(key), hash_key_matches, &key);
}

/** The item whose first two members are the keys, or NULL. */
static inline void *hash_table_find_pair(const struct hash_table *table, uint64_t first,
                                         uint64_t second)
{
    const uint64_t key[2] = {first, second};
    return hash_table_find_by(table, hash_pair(first, second), hash_pair_matches, key);
}

#endif
