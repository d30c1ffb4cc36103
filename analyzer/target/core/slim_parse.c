/* The notes of a slim core, as bytes: nothing of what they say is trusted. */
#include "core_private.h"

#include <stdlib.h>
#include <string.h>

bool parse_slim_head(const struct elf_bytes *note, struct core_slim_head *ret)
{
    struct byte_cursor cursor = cursor_over(note->data, note->size);
    const uint8_t *bytes = cursor_take(&cursor, sizeof(*ret));
    if (bytes)
        memcpy(ret, bytes, sizeof(*ret));
    return bytes != NULL;
}

bool parse_slim_segment(struct byte_cursor *note, struct core_segment *ret)
{
    struct core_slim_segment segment;
    const uint8_t *bytes;
    while ((bytes = cursor_take(note, sizeof(segment)))) {
        memcpy(&segment, bytes, sizeof(segment));
        *ret = (struct core_segment){
            .start = segment.start, .end = segment.end, .flags = segment.flags};
        if (ret->start < ret->end)
            return true;
    }
    return false;
}

bool parse_slim_hole(struct byte_cursor *note, struct core_hole *ret)
{
    const uint8_t *bytes;
    while ((bytes = cursor_take(note, sizeof(*ret)))) {
        memcpy(ret, bytes, sizeof(*ret));
        if (ret->start < ret->end)
            return true;
    }
    return false;
}

bool parse_slim_file(struct byte_cursor *note, uint64_t core_size, struct core_packed_file *ret)
{
    struct core_slim_file file;
    const uint8_t *bytes;
    while ((bytes = cursor_take(note, sizeof(file)))) {
        memcpy(&file, bytes, sizeof(file));
        const char *path = (const char *)cursor_take(note, file.path_size);
        if (!path || !file.path_size || file.path_size % 8 || path[file.path_size - 1])
            return false;
        *ret = (struct core_packed_file){.path = path,
                                         .offset = file.offset,
                                         .stored = file.stored,
                                         .size = file.size,
                                         .fd = -1};
        if (file.offset <= core_size && file.stored <= core_size - file.offset && file.size &&
            file.size <= SLIM_FILE_SIZE_LIMIT)
            return true;
    }
    return false;
}

bool parse_slim_part(struct byte_cursor *note, struct core_slim_part *ret)
{
    const uint8_t *bytes;
    while ((bytes = cursor_take(note, sizeof(*ret)))) {
        memcpy(ret, bytes, sizeof(*ret));
        if (ret->start < ret->end && ret->end <= SLIM_FILE_SIZE_LIMIT)
            return true;
    }
    return false;
}

bool parse_slim_package(struct byte_cursor *note, struct target_package *ret)
{
    const char *path = cursor_string(note), *name = cursor_string(note),
               *version = cursor_string(note);
    *ret = (struct target_package){path, name, version};
    return path && name && version && *path && *name && *version;
}

bool parse_thread_name(struct byte_cursor *note, struct core_thread_name *ret)
{
    const uint8_t *bytes = cursor_take(note, CORE_NAME_RECORD);
    if (!bytes)
        return false;
    ret->tid = (int32_t)load_u32(bytes);
    ret->name = (const char *)bytes + CORE_NAME_RECORD - CORE_NAME_SIZE;
    ret->length = strnlen(ret->name, CORE_NAME_SIZE);
    return true;
}

/* struct elf_prpsinfo of 64-bit machines (include/linux/elfcore.h): pr_psargs. */
enum { PSARGS_AT = 56, PSARGS_SIZE = 80 };

bool parse_redacted_process(const struct elf_bytes *note, uint8_t ret[CORE_PROCESS_SIZE])
{
    if (note->size != CORE_PROCESS_SIZE)
        return false;
    memcpy(ret, note->data, CORE_PROCESS_SIZE);
    uint8_t *arguments = ret + PSARGS_AT;
    const uint8_t *end = memchr(arguments, ' ', PSARGS_SIZE);
    if (end)
        memset(arguments + (end - arguments), 0, PSARGS_SIZE - (size_t)(end - arguments));
    return true;
}
