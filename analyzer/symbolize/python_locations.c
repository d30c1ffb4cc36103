/* Locations of Python frames and of gaps. */
#include "symbolizer_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * From an offset in bytes of UTF-8 to a column in characters from 1; 0: the line is not at hand, or
 * is not the one that was compiled.
 */
static uint32_t column_in_characters(struct symbolizer *symbolizer, const char *file, uint32_t line,
                                     int32_t offset)
{
    size_t size;
    bool wanted = offset >= 0 && !symbolizer->input.no_columns;
    const char *text = wanted ? sources_find_line(symbolizer->text, file, line, &size) : NULL;
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

/* False when out of memory. */
static bool fill_python_location(struct symbolizer *symbolizer, const struct python_frame *frame,
                                 struct trace_location *location)
{
    struct python_location found;
    struct arena *arena = symbolizer->trace->arena;
    enum psc_status status = PSC_ERR_FAULT;
    if (frame->kind != PYTHON_FRAME_UNREADABLE)
        status = python_read_location(symbolizer->input.python, frame, &found);
    if (status == PSC_ERR_MEMORY)
        return false;
    if (status != PSC_OK) {
        location->kind = TRACE_GAP;
        location->language = NULL;
        location->function =
            arena_printf(arena, "a Python frame at 0x%llx whose code object cannot be read",
                         (unsigned long long)frame->address);
        return true;
    }
    location->function = found.function;
    location->name = found.name;
    location->file = found.file;
    location->line = found.line;
    location->line_source = found.line ? TRACE_LINE_CODE : TRACE_LINE_NONE;
    location->end_line = found.end_line;
    if (!found.line || !found.file)
        return true;
    location->column = column_in_characters(symbolizer, found.file, found.line, found.column);
    location->end_column = column_in_characters(
        symbolizer, found.file, found.end_line ? found.end_line : found.line, found.end_column);
    if (!symbolizer->input.no_source)
        location->source = sources_copy_line(symbolizer->text, found.file, found.line);
    return true;
}

const struct trace_location *symbolizer_python(struct symbolizer *symbolizer,
                                               const struct python_frame *frame)
{
    // Frames whose code object cannot be read have a location each.
    bool shared = frame->kind == PYTHON_FRAME_CODE || frame->kind == PYTHON_FRAME_TRAMPOLINE;
    struct hash_table *instructions = &symbolizer->instructions;
    uint64_t lasti =
        frame->compiled ? UINT64_C(1) << 32 | (uint32_t)frame->line : (uint32_t)frame->lasti;
    struct known_instruction *known =
        shared ? hash_table_find_pair(instructions, frame->code, lasti) : NULL;
    if (known)
        return known->location;
    struct trace_location *location = arena_alloc(symbolizer->trace->arena, sizeof(*location));
    if (!location || !hash_table_reserve(instructions, instructions->count + 1))
        return NULL;
    location->kind = TRACE_PYTHON;
    location->language = "Python";
    if (!fill_python_location(symbolizer, frame, location))
        return NULL;
    // There is room: NULL is for those that were made to collide, which are not shared.
    known = shared ? hash_table_add_pair(instructions, frame->code, lasti) : NULL;
    if (known)
        known->location = location;
    return location;
}

/* Cuts the text where the room ends. */
static void without_addresses(const char *text, char *ret, size_t size)
{
    static const char INSTEAD[] = "an address";
    size_t length = 0;
    while (*text && length + sizeof(INSTEAD) < size) {
        size_t digits = strncmp(text, "0x", 2) ? 0 : strspn(text + 2, "0123456789abcdef");
        if (!digits) {
            ret[length++] = *text++;
            continue;
        }
        memcpy(ret + length, INSTEAD, sizeof(INSTEAD) - 1);
        length += sizeof(INSTEAD) - 1;
        text += 2 + digits;
    }
    ret[length] = '\0';
}

const struct trace_location *symbolizer_gap(struct symbolizer *symbolizer, const char *format, ...)
{
    char whole[512], brief[512];
    va_list args;
    va_start(args, format);
    vsnprintf(whole, sizeof(whole), format, args);
    va_end(args);
    if (symbolizer->input.no_addresses)
        without_addresses(whole, brief, sizeof(brief));
    const char *reason = symbolizer->input.no_addresses ? brief : whole;
    // One location, so that threads of which nothing else is known are shown as one group.
    for (size_t i = 0; i < symbolizer->gap_count; i++)
        if (!strcmp(symbolizer->gaps[i]->function, reason))
            return symbolizer->gaps[i];
    struct trace_location *location = arena_alloc(symbolizer->trace->arena, sizeof(*location));
    if (location) {
        location->kind = TRACE_GAP;
        location->function = arena_strdup(symbolizer->trace->arena, reason);
    }
    if (location && location->function && symbolizer->gap_count < GAP_LIMIT)
        symbolizer->gaps[symbolizer->gap_count++] = location;
    return location;
}
