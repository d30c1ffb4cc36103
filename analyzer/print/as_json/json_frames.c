#include "as_json_private.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

const char *json_kind(enum trace_kind kind)
{
    switch (kind) {
    case TRACE_PYTHON:
        return "python";
    case TRACE_CYTHON:
        return "cython";
    case TRACE_NATIVE:
        return "native";
    case TRACE_GAP:
        break;
    }
    return "gap";
}

static const char *name_line_source(enum trace_line_source source)
{
    switch (source) {
    case TRACE_LINE_CODE:
        return "code";
    case TRACE_LINE_DWARF:
        return "dwarf";
    case TRACE_LINE_C_FILE:
        return "c-file";
    case TRACE_LINE_XML:
        return "xml";
    case TRACE_LINE_MACHINE_CODE:
        return "machine-code";
    case TRACE_LINE_ESTIMATE:
        return "estimate";
    case TRACE_LINE_NONE:
        break;
    }
    return NULL;
}

static const char *name_trust(const struct trace_frame *frame)
{
    if (frame->location->kind == TRACE_PYTHON || frame->location->kind == TRACE_GAP)
        return NULL;
    switch ((enum trace_trust)frame->trust) {
    case TRACE_TRUST_CONTEXT:
        return "context";
    case TRACE_TRUST_CFI:
        return "cfi";
    case TRACE_TRUST_FRAME_POINTER:
        return "frame-pointer";
    case TRACE_TRUST_SCAN:
        return "scan";
    case TRACE_TRUST_ANCHOR:
        return "anchor";
    }
    return NULL;
}

/* ---- locations ---- */

/* Lines and columns count from 1. */
static void put_position(struct json_writer *writer, const char *key, uint32_t position)
{
    json_put_integer(writer, key, position > 0, position);
}

void json_put_location(struct json_writer *writer, const struct trace_location *location)
{
    json_open_object(writer, NULL);
    json_put_string(writer, "function", location->function);
    json_put_string(writer, "name", location->name);
    json_put_string(writer, "file", location->file);
    put_position(writer, "line", location->line);
    json_close_object(writer);
}

static void put_location_members(struct json_writer *writer, const struct trace_location *location)
{
    const struct trace_module *module = location->module;
    json_put_string(writer, "kind", json_kind(location->kind));
    json_put_string(writer, "function", location->function);
    json_put_string(writer, "name", location->name);
    json_put_string(writer, "file", location->file);
    put_position(writer, "line", location->line);
    json_put_string(writer, "line_source",
                    location->line ? name_line_source(location->line_source) : NULL);
    put_position(writer, "column", location->column);
    put_position(writer, "end_line", location->end_line);
    put_position(writer, "end_column", location->end_column);
    json_put_string(writer, "module", module ? module->path : NULL);
    json_put_address(writer, "offset", location->has_offset, location->offset);
    json_put_string(writer, "build_id", module ? module->build_id : NULL);
    json_put_string(writer, "symbol", location->symbol);
    json_put_boolean(writer, "inlined", location->inlined);
}

/* The object of a frame, with the members of its location. */
static void open_frame(struct json_writer *writer, struct location_cache *cache,
                       const struct trace_location *location)
{
    size_t slot = hash_u64((uintptr_t)location) & (LOCATION_CACHE_SIZE - 1);
    struct cached_location *cached = &cache->items[slot];
    if (cached->location != location) {
        struct json_writer members = {.out = &cached->text};
        text_clear(&cached->text);
        put_location_members(&members, location);
        cached->location = location;
        writer->failed |= members.failed || cached->text.failed;
    }
    json_open_object(writer, NULL);
    text_add(writer->out, cached->text.data, cached->text.size);
    writer->follows = true;
}

void location_cache_deinit(struct location_cache *cache)
{
    for (size_t i = 0; i < LOCATION_CACHE_SIZE; i++)
        text_deinit(&cache->items[i].text);
}

/* ---- frames ---- */

static bool is_listed_before(const struct trace_locals *locals, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (json_is_same_string(locals->items[i].name, locals->items[index].name))
            return true;
    return false;
}

/* Names are few; one that is there twice (a comprehension's, one that is damaged) has its first
 * value. */
static void put_locals(struct json_writer *writer, const struct trace_locals *locals)
{
    json_open_object(writer, "locals");
    for (size_t i = 0; i < locals->count; i++)
        if (!is_listed_before(locals, i))
            json_put_string(writer, locals->items[i].name, locals->items[i].value);
    json_close_object(writer);
    json_open_array(writer, "arguments");
    for (size_t i = 0; i < locals->count; i++)
        if (locals->items[i].argument && !is_listed_before(locals, i))
            json_put_string(writer, NULL, locals->items[i].name);
    json_close_array(writer);
}

static void put_frame_members(struct json_writer *writer, const struct trace_frame *frame)
{
    json_put_address(writer, "pc", frame->has_pc, frame->pc);
    json_put_address(writer, "sp", frame->has_pc, frame->sp);
    json_put_boolean(writer, "hidden", frame->hidden);
    json_put_string(writer, "trust", name_trust(frame));
    json_put_integer(writer, "interpreter", frame->interpreter_id >= 0, frame->interpreter_id);
    if (frame->self_class)
        json_put_string(writer, "self_class", frame->self_class);
}

static void put_frame(struct json_writer *writer, struct location_cache *cache,
                      const struct trace_frame *frame, const struct trace_locals *locals)
{
    open_frame(writer, cache, frame->location);
    put_frame_members(writer, frame);
    if (locals)
        put_locals(writer, locals);
    json_close_object(writer);
}

/* In the place of those from one on, which are no more in the report. */
static void put_rest(struct json_writer *writer, const struct trace_thread *thread, size_t from,
                     const struct psc_print_options *options)
{
    char words[96];
    size_t count = 0;
    for (size_t i = from; i < thread->frame_count; i++)
        count += print_shows_frame(options, &thread->frames[i]);
    snprintf(words, sizeof(words), "%zu more frame%s: the report would be too long", count,
             count == 1 ? "" : "s");
    const struct trace_location location = {.kind = TRACE_GAP, .function = words};
    const struct trace_frame frame = {.location = &location, .interpreter_id = -1};
    json_break_line(writer);
    json_open_object(writer, NULL);
    put_location_members(writer, &location);
    put_frame_members(writer, &frame);
    json_close_object(writer);
}

void json_put_frames(struct json_writer *writer, struct location_cache *cache,
                     const struct trace_thread *thread, const struct psc_print_options *options)
{
    json_open_array(writer, "frames");
    for (size_t i = 0; i < thread->frame_count; i++) {
        if (!print_shows_frame(options, &thread->frames[i]))
            continue;
        if (!json_takes(writer)) {
            put_rest(writer, thread, i, options);
            break;
        }
        json_break_line(writer);
        put_frame(writer, cache, &thread->frames[i], thread->locals ? thread->locals[i] : NULL);
    }
    json_close_array(writer);
}
