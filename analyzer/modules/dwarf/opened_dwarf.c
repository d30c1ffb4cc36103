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

/* Bytes that all compressed debug information together may become, and more for each of it. */
#define INFLATED_LIMIT    ((uint64_t)64 * 1024 * 1024)
#define INFLATED_PER_BYTE 12

bool dwarf_may_inflate(struct module *module, struct Elf *elf)
{
    struct modules *modules = module->owner;
    struct elf_compression size;
    bool sane = elf_file_is_sane(elf, &size);
    modules->inflated += size.inflated;
    modules->stored += size.stored;
    sane = sane && (!size.inflated ||
                    modules->inflated <= INFLATED_LIMIT + modules->stored * INFLATED_PER_BYTE);
    if (!sane && size.stored)
        target_warn(module->owner->target, "debug-info-limit",
                    "%s: compressed debug information is not looked at: it is damaged, or would be "
                    "too large; lines, inlined calls and variables may be missing",
                    module->name);
    return sane;
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
    if (dwarf->shared_elf && !dwarf_may_inflate(module, dwarf->shared_elf)) {
        elf_file_close(dwarf->shared_elf);
        dwarf->shared_elf = NULL;
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
    if (!dwarf_may_inflate(module, elf))
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
    struct elf_compression size = {0};
    bool opened = module->dwarf && module->dwarf->opened;
    return !opened && elf_file_is_sane(module_debug_elf(module), &size) ? size.stored : 0;
}

Dwarf *module_dwarf_if_cheap(struct module *module)
{
    return compressed_size(module) ? NULL : module_dwarf(module);
}

bool module_inlines_are_cheap(struct module *module)
{
    return compressed_size(module) <= CHEAP_COMPRESSED_SIZE;
}
