/* What of a core goes into a smaller one. */
#include "core_private.h"

#include <string.h>

/* ---- pages ---- */

static void take(struct core_page *ret, size_t at, const uint8_t *bytes, size_t size)
{
    memcpy(ret->bytes + at, bytes, size);
    for (size_t i = at; i < at + size; i++)
        ret->valid[i / 64] |= UINT64_C(1) << (i % 64);
    ret->some = true;
}

/* Byte by byte over what is not there: segments and holes begin anywhere in damaged files. */
void core_copy_page(struct target *target, psc_addr page, struct core_page *ret)
{
    const struct core *core = target->backend;
    memset(ret, 0, sizeof(*ret));
    const uint8_t *held = held_find_page(core, page);
    if (held) {
        take(ret, 0, held, sizeof(ret->bytes));
        return;
    }
    size_t behind = SORTED_UP_TO(core->segments, start, core->segment_count, page);
    const struct core_segment *segment = behind ? &core->segments[behind - 1] : NULL;
    if (segment && segment->file_end <= page && segment->end >= page + sizeof(ret->bytes))
        return;
    for (size_t at = 0; at < sizeof(ret->bytes);) {
        size_t size;
        const uint8_t *bytes = core_dumped_piece(target, page + at, &size);
        if (!bytes) {
            at++;
            continue;
        }
        if (size > sizeof(ret->bytes) - at)
            size = sizeof(ret->bytes) - at;
        take(ret, at, bytes, size);
        at += size;
    }
}

/* ---- notes ---- */

/* The name may be cut or without its end, as it stands. */
static void put_note(struct text *notes, const struct elf_note *note)
{
    static const char zeros[4];
    const uint32_t head[3] = {note->name_size, (uint32_t)note->bytes.size, note->type};
    text_add(notes, (const char *)head, sizeof(head));
    text_add(notes, note->name, note->name_size);
    text_add(notes, zeros, (4 - (note->name_size & 3)) & 3);
    text_add(notes, (const char *)note->bytes.data, note->bytes.size);
    text_add(notes, zeros, (4 - (note->bytes.size & 3)) & 3);
}

/* The command line behind the program's name may hold what nobody is to see. */
static void put_process(struct target *target, struct text *notes, const struct elf_note *note)
{
    uint8_t copy[CORE_PROCESS_SIZE];
    struct elf_note changed = *note;
    if (target_leaves_text(target) && parse_redacted_process(&note->bytes, copy))
        changed.bytes = (struct elf_bytes){copy, sizeof(copy)};
    put_note(notes, &changed);
}

static bool is_process(const struct elf_note *note)
{
    return note->type == NT_PRPSINFO && note->name_size >= strlen(CORE_OWNER) &&
           !memcmp(note->name, CORE_OWNER, strlen(CORE_OWNER));
}

static void copy_notes(struct target *target, const struct elf_segment *segment, struct text *notes)
{
    struct core *core = target->backend;
    const size_t all = core->image.size;
    if (segment->offset >= all)
        return;
    const size_t offset = (size_t)segment->offset;
    size_t size = segment->file_size < all - offset ? (size_t)segment->file_size : all - offset;
    core_image_load(&core->image, offset, size, SIZE_MAX);
    struct byte_cursor cursor = cursor_over(core->image.bytes + offset, size);
    struct elf_note note;
    // Headers may name the same notes any number of times.
    while (notes->size <= 2 * all && parse_elf_note(&cursor, 4, &note))
        if (is_process(&note))
            put_process(target, notes, &note);
        else if (!core_note_is_own(&note) || note.type == CORE_NOTE_NAMES)
            put_note(notes, &note);
}

static void put_segments(const struct core *core, struct text *notes)
{
    const struct core_segment *segments = core->declared ? core->declared : core->segments;
    const size_t count = core->declared ? core->declared_count : core->segment_count;
    struct text note = {0};
    for (size_t i = 0; i < count; i++) {
        const struct core_slim_segment segment = {
            .start = segments[i].start, .end = segments[i].end, .flags = segments[i].flags};
        text_add(&note, (const char *)&segment, sizeof(segment));
    }
    notes->failed |= note.failed;
    if (!note.failed)
        core_put_note(notes, CORE_OWNER_OURS, CORE_NOTE_SEGMENTS, note.data, note.size);
    text_deinit(&note);
}

void core_copy_notes(struct target *target, struct text *notes)
{
    const struct core *core = target->backend;
    size_t index = 0;
    struct elf_segment segment;
    while (elf_next_segment(core->image.bytes, core->image.size, PT_NOTE, &index, &segment))
        copy_notes(target, &segment, notes);
    if (core->held.fd >= 0)
        core_put_names(notes, target->threads, target->thread_count);
    put_segments(core, notes);
}

uint32_t core_get_slim_flags(const struct target *target)
{
    const struct core *core = target->backend;
    return core->slim_flags | (core->truncated ? CORE_SLIM_TRUNCATED : 0);
}

uint64_t core_get_size(const struct target *target)
{
    const struct core *core = target->backend;
    return core->held.fd >= 0 ? 0 : core->image.size;
}
