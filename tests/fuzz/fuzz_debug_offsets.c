/*
 * _Py_DebugOffsets, and what asyncio says of itself. The first byte chooses the version, so that
 * random bytes get past the cookie; the others are the words, each made small by what it is of.
 */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *bytes, size_t size)
{
    struct py_layout layout;
    struct psc_error err = {0};
    struct py_debug_offsets head;
    if (parse_debug_offsets_head(bytes, size, &head) == PSC_OK && size < PY_DEBUG_OFFSETS_HEAD)
        abort();
    enum psc_status status = parse_debug_offsets(bytes, size, &layout, &err);
    if (status != PSC_OK) {
        if (!err.message[0] || err.status != status)
            abort();
        return;
    }
    for (size_t field = 0; field < PY_FIELD_COUNT; field++)
        if (layout_field_slot(layout.rules, (enum py_field)field) &&
            layout.offset[field] > UINT32_C(4) << 20)
            abort();
    if (layout.offset[PY_OBJECT_TYPE] + 8 > layout.offset[PY_OBJECT_SIZE])
        abort();
}

/* The section .AsyncioDebug, with words of two bytes as well. */
static void check_asyncio(const uint8_t *data, size_t size)
{
    uint8_t bytes[PY_ASYNCIO_DEBUG_SIZE] = {0};
    struct py_asyncio found;
    for (size_t i = 0; i < PY_ASYNCIO_DEBUG_SIZE / 8 && 2 * i + 1 < size; i++)
        memcpy(bytes + 8 * i, data + 2 * i, 2);
    if (parse_asyncio_debug(data, size, &found) == PSC_OK && found.task_node % 8)
        abort();
    if (parse_asyncio_debug(bytes, sizeof(bytes), &found) != PSC_OK)
        return;
    if (found.task_coro >= load_u64(bytes) || !found.thread_tasks || found.interpreter_tasks % 8)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t versions[] = {0x030d00f0, 0x030e00f0, 0x030f00f0, 0x031000f0};
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX] = {0};
    check(data, size);
    check_asyncio(data, size);
    if (size < 1)
        return 0;
    uint64_t version = versions[data[0] & 3];
    memcpy(bytes, PY_DEBUG_COOKIE, 8);
    memcpy(bytes + 8, &version, 8);
    bytes[16] = data[0] >> 2 & 1;
    /* Two bytes a word: most offsets fit their struct, some do not. */
    for (size_t word = 3; word < sizeof(bytes) / 8; word++) {
        size_t at = 1 + 2 * (word - 3);
        bytes[8 * word] = at < size ? data[at] : 0x10;
        bytes[8 * word + 1] = at + 1 < size ? data[at + 1] : 0x10;
    }
    /* And a header size that lets it go on. */
    const struct py_rules *rules = layout_find_rules((uint32_t)version);
    if (rules && data[0] & 8)
        memcpy(bytes + 8 * layout_field_slot(rules, PY_OBJECT_SIZE), "\x10\0", 2);
    check(bytes, data[0] & 16 ? sizeof(bytes) : size < sizeof(bytes) ? size : sizeof(bytes));
    return 0;
}
