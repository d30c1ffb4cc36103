#include "types.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16u

struct value_level *value_push(struct value_writer *writer, psc_addr object, const char *open,
                               const char *close)
{
    text_add_string(writer->text, open);
    if (writer->depth == writer->python->limits.depth) {
        text_add_string(writer->text, "\u2026");
        text_add_string(writer->text, close);
        return NULL;
    }
    struct value_level *level = &writer->levels[writer->depth++];
    level->object = object;
    level->count = 0;
    level->next = 0;
    level->more = 0;
    level->has_keys = false;
    level->attributes = false;
    level->value_next = false;
    level->words = false;
    level->types_by_name = false;
    level->lost = false;
    level->own = 0;
    level->own_add = NULL;
    level->separator = ", ";
    size_t size = strlen(close);
    size = size < sizeof(level->close) - 1 ? size : sizeof(level->close) - 1;
    memcpy(level->close, close, size);
    level->close[size] = '\0';
    return level;
}

bool value_is_full(const struct value_writer *writer, const struct value_level *level)
{
    return writer->text->failed || level->count >= writer->python->limits.items;
}

uint64_t value_array_items(const struct value_writer *writer)
{
    uint32_t items = writer->python->limits.items;
    return items == PYTHON_VALUE_ITEMS ? VALUE_ARRAY_ITEMS : items;
}

uint8_t *value_buffer(struct value_writer *writer, size_t size)
{
    if (size <= writer->byte_count)
        return writer->bytes;
    uint8_t *larger = realloc(writer->bytes, size);
    if (!larger) {
        writer->text->failed = true;
        return NULL;
    }
    writer->bytes = larger;
    writer->byte_count = size;
    return larger;
}

/* Room for one more. */
static bool grow(struct value_level *level)
{
    size_t capacity = level->capacity ? 2 * level->capacity : FIRST_CAPACITY;
    psc_addr *keys = realloc(level->keys, capacity * sizeof(*keys));
    if (keys)
        level->keys = keys;
    psc_addr *values = realloc(level->values, capacity * sizeof(*values));
    if (values)
        level->values = values;
    if (!keys || !values)
        return false;
    level->capacity = capacity;
    return true;
}

void value_writer_deinit(struct value_writer *writer)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(writer->levels); i++) {
        free(writer->levels[i].keys);
        free(writer->levels[i].values);
    }
    free(writer->bytes);
}

void value_take(struct value_writer *writer, struct value_level *level, psc_addr key,
                psc_addr value)
{
    if (value_is_full(writer, level)) {
        level->more++;
        return;
    }
    if (level->count == level->capacity && !grow(level)) {
        writer->text->failed = true;
        return;
    }
    level->keys[level->count] = key;
    level->values[level->count++] = value;
}

void value_take_word(struct value_writer *writer, struct value_level *level, const char *word,
                     psc_addr value)
{
    level->has_keys = true;
    level->words = true;
    if (value)
        value_take(writer, level, (psc_addr)(uintptr_t)word, value);
}

void value_take_array(struct value_writer *writer, struct value_level *level, psc_addr items,
                      uint64_t count)
{
    psc_addr item;
    uint64_t taken = 0;
    while (taken < count && !value_is_full(writer, level) &&
           target_read_u64(writer->python->target, items + 8 * taken, &item) == PSC_OK) {
        value_take(writer, level, 0, item);
        taken++;
    }
    level->lost = level->lost || (taken < count && !value_is_full(writer, level));
    level->more += count - taken;
}

bool value_is_open(const struct value_writer *writer, psc_addr object)
{
    for (size_t i = 0; i < writer->depth; i++)
        if (writer->levels[i].object == object)
            return true;
    return false;
}
