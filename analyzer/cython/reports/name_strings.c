/* Names of functions and files that stand as strings in a module's constants. */
#include "reports_private.h"

#include <stdio.h>
#include <string.h>

/** Bytes of a dotted name in front of its last part. */
#define NAME_SIZE_LIMIT 256
/** Bytes of a path in front of its last part. */
#define FILE_SIZE_LIMIT 4096

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), end_size = strlen(end);
    return size >= end_size && strcmp(name + size - end_size, end) == 0 &&
           (size == end_size || name[size - end_size - 1] == '.');
}

const char *reports_find_whole_name(const struct code_image *image, const char *leaf)
{
    size_t size = strlen(leaf) + 1; /* With its end. */
    const char *found = NULL;
    for (size_t k = 0; k < image->elf.load_count; k++) {
        const struct elf_load *segment = &image->elf.loads[k];
        const char *bytes = (const char *)image->elf.bytes + segment->offset;
        const char *end = bytes + segment->size;
        for (const char *at = bytes; !segment->writable && at < end; at++) {
            at = memmem(at, (size_t)(end - at), leaf, size);
            if (!at)
                break;
            const char *start = at;
            while (start > bytes && start[-1] && at - start < NAME_SIZE_LIMIT)
                start--;
            const char *name =
                at > start && at[-1] == '.'
                    ? code_string(image, segment->address + (uint64_t)(start - bytes))
                    : NULL;
            if (!name || strpbrk(name, " /:%"))
                continue;
            /* "Class.leaf" is the end of "pkg.mod.Class.leaf". */
            if (found && !ends_with(found, name) && !ends_with(name, found))
                return NULL;
            if (!found || strlen(name) > strlen(found))
                found = name;
        }
    }
    return found;
}

const char *reports_find_file(const struct code_image *image, const char *leaf, const char *ending)
{
    char name[256];
    int size = snprintf(name, sizeof(name), "%s%s", leaf, ending);
    if (size <= 0 || (size_t)size >= sizeof(name))
        return NULL;
    for (size_t k = 0; k < image->elf.load_count; k++) {
        const struct elf_load *segment = &image->elf.loads[k];
        const char *bytes = (const char *)image->elf.bytes + segment->offset;
        const char *end = bytes + segment->size;
        for (const char *at = bytes; !segment->writable && at < end; at++) {
            at = memmem(at, (size_t)(end - at), name, (size_t)size + 1);
            if (!at)
                break;
            const char *start = at;
            while (start > bytes && start[-1] && at - start < FILE_SIZE_LIMIT)
                start--;
            if (start == at || at[-1] == '/')
                return code_string(image, segment->address + (uint64_t)(start - bytes));
        }
    }
    return NULL;
}
