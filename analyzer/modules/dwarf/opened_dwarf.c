/* libdw's handle of a module, opened once. */
#include "dwarf_private.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>

/** Compressed bytes that are decompressed without being asked to. */
#define CHEAP_COMPRESSED_SIZE ((uint64_t)512 * 1024)

struct module_dwarf *dwarf_of(struct module *module)
{
    if (!module->dwarf)
        module_elf(module); // It may come with what is kept of the file.
    if (!module->dwarf)
        module->dwarf = calloc(1, sizeof(*module->dwarf));
    return module->dwarf;
}

/** dwz moves what several files share into one more file, named by .gnu_debugaltlink. */
static void attach_shared(struct module *module, struct module_dwarf *dwarf)
{
    const char *name;
    const void *id;
    struct target_build_id build_id = {.size = 0};
    ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf->dwarf, &name, &id);
    if (size <= 0)
        return;
    if (size <= TARGET_BUILD_ID_MAX) {
        memcpy(build_id.bytes, id, (size_t)size);
        build_id.size = (size_t)size;
        dwarf->shared_elf = module_open_shared(module, name, &build_id);
    }
    if (!dwarf->shared_elf)
        dwarf->shared_elf = open_empty_file();
    if (dwarf->shared_elf)
        dwarf->shared = dwarf_begin_elf(dwarf->shared_elf, DWARF_C_READ, NULL);
    if (dwarf->shared)
        dwarf_setalt(dwarf->dwarf, dwarf->shared);
}

struct Dwarf *module_dwarf(struct module *module)
{
    struct module_dwarf *dwarf = dwarf_of(module);
    if (!dwarf || dwarf->opened)
        return dwarf ? dwarf->dwarf : NULL;
    dwarf->opened = true;
    struct Elf *elf = module_debug_elf(module);
    uint64_t compressed;
    if (!elf_file_is_sane(elf, &compressed))
        return NULL;
    split_names_prepare(module, elf, &dwarf->split_names);
    dwarf->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (dwarf->dwarf)
        attach_shared(module, dwarf);
    return dwarf->dwarf;
}

/** Bytes that opening would decompress. */
static uint64_t compressed_size(struct module *module)
{
    uint64_t compressed = 0;
    bool opened = module->dwarf && module->dwarf->opened;
    return !opened && elf_file_is_sane(module_debug_elf(module), &compressed) ? compressed : 0;
}

Dwarf *module_dwarf_if_cheap(struct module *module)
{
    return compressed_size(module) ? NULL : module_dwarf(module);
}

bool module_inlines_are_cheap(struct module *module)
{
    return compressed_size(module) <= CHEAP_COMPRESSED_SIZE;
}
