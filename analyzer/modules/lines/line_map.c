#include "line_map.h"

#include <stdlib.h>

void place_map_deinit(struct place_map *map)
{
    free(map->slots);
    *map = (struct place_map){0};
}

static struct place *find_slot(const struct place_map *map, uint64_t key, uint32_t second_key)
{
    size_t mask = map->size - 1;
    size_t slot = (size_t)hash_u64(hash_u64(key) + second_key) & mask;
    while (map->slots[slot].used &&
           (map->slots[slot].key != key || map->slots[slot].second_key != second_key))
        slot = (slot + 1) & mask;
    return &map->slots[slot];
}

const struct place *place_map_find(const struct place_map *map, uint64_t key, uint32_t second_key)
{
    if (map->size == 0)
        return NULL;
    const struct place *place = find_slot(map, key, second_key);
    return place->used ? place : NULL;
}

/** Keeps a quarter of the slots empty. */
static bool grow(struct place_map *map)
{
    if (map->count + 1 <= map->size / 4 * 3)
        return true;
    struct place_map larger = {.size = map->size ? map->size * 2 : 64};
    larger.slots = calloc(larger.size, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < map->size; i++) {
        const struct place *place = &map->slots[i];
        if (place->used)
            *find_slot(&larger, place->key, place->second_key) = *place;
    }
    larger.count = map->count;
    free(map->slots);
    *map = larger;
    return true;
}

void place_map_add(struct place_map *map, uint64_t key, uint32_t second_key, const char *text,
                   uint32_t line)
{
    if (!grow(map))
        return;
    *find_slot(map, key, second_key) = (struct place){
        .key = key, .second_key = second_key, .line = line, .text = text, .used = true};
    map->count++;
}
