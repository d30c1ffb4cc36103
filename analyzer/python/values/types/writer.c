#include "types.h"

#include <string.h>

struct value_level *value_push(struct value_writer *writer, psc_addr object, const char *open,
                               const char *close)
{
    text_add_string(writer->text, open);
    if (writer->depth == VALUE_DEPTH_LIMIT) {
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
    level->own_first = false;
    size_t size = strlen(close);
    size = size < sizeof(level->close) - 1 ? size : sizeof(level->close) - 1;
    memcpy(level->close, close, size);
    level->close[size] = '\0';
    return level;
}

void value_take(struct value_level *level, psc_addr key, psc_addr value)
{
    if (level->count == VALUE_ITEM_LIMIT) {
        level->more++;
        return;
    }
    level->keys[level->count] = key;
    level->values[level->count++] = value;
}

void value_take_array(struct value_writer *writer, struct value_level *level, psc_addr items,
                      uint64_t count)
{
    psc_addr item;
    uint64_t taken = 0;
    while (taken < count && level->count < VALUE_ITEM_LIMIT &&
           target_read_u64(writer->python->target, items + 8 * taken, &item) == PSC_OK) {
        value_take(level, 0, item);
        taken++;
    }
    level->more += count - taken;
}

bool value_is_open(const struct value_writer *writer, psc_addr object)
{
    for (size_t i = 0; i < writer->depth; i++)
        if (writer->levels[i].object == object)
            return true;
    return false;
}
