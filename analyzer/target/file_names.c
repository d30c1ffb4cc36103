/* Paths to files while the mappings of a target are listed: open addressing, half full. */
#include "target_private.h"

#include <stdlib.h>
#include <string.h>

enum psc_status file_names_init(struct file_names *names, size_t most)
{
    size_t mask = 15;
    while (mask / 2 < most)
        mask = mask * 2 + 1;
    *names = (struct file_names){.mask = mask};
    names->files = calloc(mask + 1, sizeof(*names->files));
    names->names = calloc(mask + 1, sizeof(*names->names));
    return names->files && names->names ? PSC_OK : PSC_ERR_MEMORY;
}

void file_names_deinit(struct file_names *names)
{
    free(names->files);
    free(names->names);
}

static uint64_t hash_string(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    while (*text)
        hash = (hash ^ (uint8_t)*text++) * UINT64_C(1099511628211);
    return hash;
}

struct target_file *file_names_find(struct file_names *names, struct target *target,
                                    const char *path)
{
    size_t at = (size_t)hash_string(path) & names->mask;
    while (names->names[at]) {
        if (!strcmp(names->names[at], path))
            return names->files[at];
        at = (at + 1) & names->mask;
    }
    names->names[at] = path;
    names->files[at] = target_add_file(target, path);
    return names->files[at];
}
