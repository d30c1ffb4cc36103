/* What stands in the notes of a core file: the input is the description of each in turn. */
#include "core_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All that a slim core says of itself: ranges have a size, paths and names lie within the note. */
static void parse_own(const uint8_t *data, size_t size)
{
    const struct elf_bytes note = {data, size};
    const uint64_t core_size = 4 * size;
    struct core_slim_head head;
    struct core_segment segment;
    struct core_hole hole;
    struct core_packed_file file;
    struct core_slim_part part;
    struct target_package package;
    struct core_thread_name name;
    uint8_t process[CORE_PROCESS_SIZE];
    struct byte_cursor cursor = cursor_over(data, size);
    if (parse_slim_head(&note, &head) != (size >= sizeof(head)))
        abort();
    while (parse_slim_segment(&cursor, &segment))
        if (segment.start >= segment.end)
            abort();
    cursor = cursor_over(data, size);
    while (parse_slim_hole(&cursor, &hole))
        if (hole.start >= hole.end)
            abort();
    cursor = cursor_over(data, size);
    while (parse_slim_file(&cursor, core_size, &file))
        if (file.offset + file.stored > core_size || (const uint8_t *)file.path < data ||
            (const uint8_t *)file.path + strlen(file.path) >= data + size)
            abort();
    cursor = cursor_over(data, size);
    while (parse_slim_part(&cursor, &part))
        if (part.start >= part.end || part.end > SLIM_FILE_SIZE_LIMIT)
            abort();
    cursor = cursor_over(data, size);
    while (parse_slim_package(&cursor, &package))
        if (!*package.path || !*package.name || !*package.version ||
            (const uint8_t *)package.version + strlen(package.version) >= data + size)
            abort();
    cursor = cursor_over(data, size);
    while (parse_thread_name(&cursor, &name))
        if ((const uint8_t *)name.name + name.length > data + size)
            abort();
    (void)parse_redacted_process(&note, process);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target_auxv auxv = {0};
    parse_auxv(data, size, &auxv);
    uint8_t words[1024] = {0};
    struct target_registers registers;
    psc_addr thread_pointer;
    memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
    parse_user_registers(&target_x86_64, words, &registers, &thread_pointer);

    struct elf_bytes note = {data, size};
    struct core_file_range *ranges;
    size_t count;
    if (parse_core_files(&note, &ranges, &count) != PSC_OK || count > size / 24)
        abort();
    for (size_t i = 0; i < count; i++) {
        const uint8_t *path = (const uint8_t *)ranges[i].path;
        if (ranges[i].start >= ranges[i].end || path < data || path + 1 >= data + size || !*path)
            abort();
    }
    free(ranges);
    parse_own(data, size);
    return 0;
}
