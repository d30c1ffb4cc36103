#include "pprof_private.h"

enum wire_type { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static void add_varint(struct text *message, uint64_t value)
{
    while (value > 0x7f) {
        text_add_char(message, (char)(value | 0x80));
        value >>= 7;
    }
    text_add_char(message, (char)value);
}

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    while (value >>= 7)
        size++;
    return size;
}

static void add_tag(struct text *message, uint32_t field, enum wire_type type)
{
    add_varint(message, field << 3 | type);
}

void protobuf_number(struct text *message, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    add_tag(message, field, WIRE_VARINT);
    add_varint(message, value);
}

void protobuf_bytes(struct text *message, uint32_t field, const char *bytes, size_t size)
{
    add_tag(message, field, WIRE_BYTES);
    add_varint(message, size);
    text_add(message, bytes, size);
}

void protobuf_numbers(struct text *message, uint32_t field, const uint64_t *values, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += varint_size(values[i]);
    add_tag(message, field, WIRE_BYTES);
    add_varint(message, size);
    for (size_t i = 0; i < count; i++)
        add_varint(message, values[i]);
}
