/* Locations of Python frames and of gaps. */
#include "symbolizer_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t python_hash(psc_addr code, int32_t lasti)
{
    return hash_u64(code ^ (uint64_t)(uint32_t)lasti << 40);
}

static bool python_table_grow(struct symbolizer *symbolizer)
{
    size_t size = symbolizer->python_mask ? (symbolizer->python_mask + 1) * 2 : 256;
    struct python_location_entry *table = calloc(size, sizeof(*table));
    if (!table)
        return false;
    for (size_t i = 0; symbolizer->python_mask && i <= symbolizer->python_mask; i++) {
        const struct python_location_entry *old = &symbolizer->python_table[i];
        if (!old->location)
            continue;
        size_t at = python_hash(old->code, old->lasti) & (size - 1);
        while (table[at].location)
            at = (at + 1) & (size - 1);
        table[at] = *old;
    }
    free(symbolizer->python_table);
    symbolizer->python_table = table;
    symbolizer->python_mask = size - 1;
    return true;
}

/* From a UTF-8 byte offset to a column in characters from 1; 0 when the line is not at hand, or is
   not the one that was compiled. */
static uint32_t column_in_characters(struct symbolizer *symbolizer, const char *file, uint32_t line,
                                     int32_t offset)
{
    size_t size;
    const char *text = offset >= 0 ? sources_find_line(symbolizer->text, file, line, &size) : NULL;
    if (!text || (size_t)offset > size)
        return 0;
    uint32_t column = 1;
    uint32_t character;
    size_t at = 0;
    for (size_t used; at < (size_t)offset; at += used, column++) {
        used = utf8_decode(text + at, size - at, &character);
        if (!used)
            return 0;
    }
    return at == (size_t)offset ? column : 0;
}

static void fill_python_location(struct symbolizer *symbolizer, const struct python_frame *frame,
                                 struct trace_location *location)
{
    struct python_location found;
    struct arena *arena = symbolizer->trace->arena;
    if (frame->kind == PYTHON_FRAME_UNREADABLE ||
        python_read_location(symbolizer->input.python, frame, &found) != PSC_OK) {
        location->kind = TRACE_GAP;
        location->language = NULL;
        location->function =
            arena_printf(arena, "a Python frame at 0x%llx whose code object cannot be read",
                         (unsigned long long)frame->address);
        return;
    }
    location->function = found.function;
    location->name = found.name;
    location->file = found.file;
    location->line = found.line;
    location->line_source = found.line ? TRACE_LINE_CODE : TRACE_LINE_NONE;
    location->end_line = found.end_line;
    if (!found.line || !found.file)
        return;
    location->column = column_in_characters(symbolizer, found.file, found.line, found.column);
    location->end_column = column_in_characters(
        symbolizer, found.file, found.end_line ? found.end_line : found.line, found.end_column);
    if (!symbolizer->input.no_source)
        location->source = sources_copy_line(symbolizer->text, found.file, found.line);
}

const struct trace_location *symbolizer_python(struct symbolizer *symbolizer,
                                               const struct python_frame *frame)
{
    // Frames without a readable code object have nothing in common.
    bool shared = frame->kind == PYTHON_FRAME_CODE || frame->kind == PYTHON_FRAME_TRAMPOLINE;
    size_t at = 0;
    if (shared) {
        if ((symbolizer->python_count + 1) * 2 > symbolizer->python_mask &&
            !python_table_grow(symbolizer))
            return NULL;
        at = python_hash(frame->code, frame->lasti) & symbolizer->python_mask;
        for (; symbolizer->python_table[at].location; at = (at + 1) & symbolizer->python_mask) {
            const struct python_location_entry *info = &symbolizer->python_table[at];
            if (info->code == frame->code && info->lasti == frame->lasti)
                return info->location;
        }
    }
    struct trace_location *location = arena_alloc(symbolizer->trace->arena, sizeof(*location));
    if (!location)
        return NULL;
    location->kind = TRACE_PYTHON;
    location->language = "Python";
    fill_python_location(symbolizer, frame, location);
    if (shared) {
        symbolizer->python_table[at] =
            (struct python_location_entry){frame->code, frame->lasti, frame->kind, location};
        symbolizer->python_count++;
    }
    return location;
}

const struct trace_location *symbolizer_gap(struct symbolizer *symbolizer, const char *format, ...)
{
    char reason[512];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    // One place, so that threads of which nothing else is known stand together.
    for (size_t i = 0; i < symbolizer->gap_count; i++)
        if (!strcmp(symbolizer->gaps[i]->function, reason))
            return symbolizer->gaps[i];
    struct trace_location *location = arena_alloc(symbolizer->trace->arena, sizeof(*location));
    if (location) {
        location->kind = TRACE_GAP;
        location->function = arena_strdup(symbolizer->trace->arena, reason);
    }
    if (location && location->function && symbolizer->gap_count < PLACES_GAPS)
        symbolizer->gaps[symbolizer->gap_count++] = location;
    return location;
}
