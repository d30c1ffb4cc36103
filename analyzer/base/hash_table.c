#include "hash_table.h"

#include "arena.h"

#include <stdlib.h>

#define FIRST_SLOTS 16

void hash_table_init(struct hash_table *table, size_t item_size)
{
    *table = (struct hash_table){.item_size = item_size};
}

void hash_table_deinit(struct hash_table *table)
{
    free(table->items);
    free(table->slots);
    hash_table_init(table, table->item_size);
}

void hash_table_clear(struct hash_table *table)
{
    if (table->count)
        memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
    table->count = 0;
}

/* The first empty slot for the hash; NULL when it is too far away. */
static struct hash_slot *find_empty(struct hash_slot *slots, size_t count, uint32_t hash)
{
    size_t at = hash & (count - 1);
    for (unsigned probe = 0; probe < HASH_PROBE_LIMIT; probe++, at = (at + 1) & (count - 1))
        if (!slots[at].number)
            return &slots[at];
    return NULL;
}

/* Slots are at most two thirds full. */
static bool grow_slots(struct hash_table *table, size_t count)
{
    size_t wanted = table->slot_count ? table->slot_count : FIRST_SLOTS;
    while (wanted / 3 * 2 < count)
        wanted *= 2;
    if (wanted == table->slot_count)
        return true;
    struct hash_slot *slots = calloc(wanted, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i].number) {
            struct hash_slot *slot = find_empty(slots, wanted, table->slots[i].hash);
            /* Without one it is not found any more: as if it had not been added. */
            if (slot)
                *slot = table->slots[i];
        }
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    return true;
}

bool hash_table_reserve(struct hash_table *table, size_t count)
{
    return count <= HASH_TABLE_LIMIT &&
           array_reserve(&table->items, &table->capacity, count, table->item_size) &&
           grow_slots(table, count);
}

void *hash_table_add_by(struct hash_table *table, uint64_t hash)
{
    if (!hash_table_reserve(table, table->count + 1))
        return NULL;
    uint32_t kept = hash_for_slot(hash);
    struct hash_slot *slot = find_empty(table->slots, table->slot_count, kept);
    if (!slot)
        return NULL;
    void *item = hash_table_at(table, table->count);
    memset(item, 0, table->item_size);
    *slot = (struct hash_slot){kept, (uint32_t)++table->count};
    return item;
}

void *hash_table_add(struct hash_table *table, uint64_t key)
{
    void *item = hash_table_add_by(table, hash_u64(key));
    if (item)
        memcpy(item, &key, sizeof(key));
    return item;
}

void *hash_table_add_pair(struct hash_table *table, uint64_t first, uint64_t second)
{
    const uint64_t key[2] = {first, second};
    void *item = hash_table_add_by(table, hash_pair(first, second));
    if (item)
        memcpy(item, key, sizeof(key));
    return item;
}
