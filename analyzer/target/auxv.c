/* What the kernel told the program when it started it. */
#include "target_private.h"

#include <elf.h>

void parse_auxv(const uint8_t *bytes, size_t size, struct target_auxv *auxv)
{
    for (size_t at = 0; at + 16 <= size; at += 16) {
        uint64_t type = load_u64(bytes + at), value = load_u64(bytes + at + 8);
        switch (type) {
        case AT_PHDR:
            auxv->phdr = value;
            break;
        case AT_PHNUM:
            auxv->phnum = value;
            break;
        case AT_ENTRY:
            auxv->entry = value;
            break;
        case AT_SYSINFO_EHDR:
            auxv->vdso = value;
            break;
        case AT_EXECFN:
            auxv->execfn = value;
            break;
        case AT_PAGESZ:
            auxv->page_size = value;
            break;
        case AT_NULL:
            return;
        default:
            break;
        }
    }
}

void target_find_executable(struct target *target)
{
    psc_addr inside = target->auxv.entry ? target->auxv.entry : target->auxv.phdr;
    const struct target_mapping *mapping = inside ? target_find_mapping(target, inside) : NULL;
    char path[4096];
    if (mapping && mapping->file)
        target->process.executable = mapping->file->path;
    else if (target->auxv.execfn &&
             target_read_string(target, target->auxv.execfn, path, sizeof(path)) == PSC_OK &&
             path[0])
        target->process.executable = arena_strdup(target->arena, path);
}
