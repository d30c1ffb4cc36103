/* maps and smaps of /proc/PID, of which the paths are the target's choice, and its syscall. */
#include "live_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct target_ops no_ops = {0};
    struct target *target = target_create(TARGET_PROCESS, &no_ops, NULL, NULL);
    char *copy = malloc(size ? size : 1);
    if (!target || !copy)
        abort();
    memcpy(copy, data, size);
    struct live_files files = {0};
    const struct live_text maps = {copy, size, size};
    if (live_take_maps(target, &files, &maps, "/a") != PSC_OK)
        abort();
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (mapping->start >= mapping->end || (i && mapping->start < mapping[-1].end) ||
            (mapping->file && !mapping->file->path))
            abort();
    }
    struct live_map map;
    for (const char *at = copy; parse_next_map(&at, copy + size, &map);)
        if (map.path_size && (map.path < copy || map.path + map.path_size > copy + size))
            abort();
    struct dump dump = {.pagemap = -1};
    uint8_t registers[TARGET_USER_REGISTERS_LIMIT];
    if (!parse_smaps(copy, size, &dump))
        abort();
    for (size_t i = 0; i < dump.flag_count; i++)
        if (!dump.flags[i].start)
            abort();
    dump_deinit(&dump);
    (void)parse_waiting(copy, size, registers);
    target_close(target);
    free(files.items);
    free(copy);
    return 0;
}
