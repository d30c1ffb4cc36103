/* What stands in the notes of a core file: the input is the description of each in turn. */
#include "target_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    return 0;
}
