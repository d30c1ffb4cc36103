/* Units whose DIEs are in a file of their own: -gsplit-dwarf (DWARF 5, 7.3.2; GNU's in DWARF 4). */
#include "dwarf_private.h"
#include "foreign_file.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define PATH_SIZE 4096

static const char *unit_string(Dwarf_Die *unit, unsigned int name, unsigned int gnu_name)
{
    Dwarf_Attribute attribute;
    const char *found = dwarf_formstring(dwarf_attr(unit, name, &attribute));
    return found || !gnu_name ? found : dwarf_formstring(dwarf_attr(unit, gnu_name, &attribute));
}

/* Where libdw looks: it opens whatever is there, and believes what its headers say. */
static bool is_usable(const char *name, const char *folder)
{
    char path[PATH_SIZE];
    int length = name[0] == '/' || !folder ? snprintf(path, sizeof(path), "%s", name)
                                           : snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (length <= 0 || (size_t)length >= sizeof(path))
        return false;
    uint64_t compressed;
    struct Elf *elf = elf_file_open(foreign_file_open(NULL, path));
    bool sane = elf_file_is_sane(elf, &compressed);
    elf_file_close(elf);
    return sane;
}

bool unit_find_split(struct module *module, Dwarf_Die *unit, Dwarf_Die *ret)
{
    uint8_t type;
    const char *name = unit_string(unit, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
    if (!name)
        return false;
    memset(ret, 0, sizeof(*ret));
    if (is_usable(name, unit_string(unit, DW_AT_comp_dir, 0)) &&
        dwarf_cu_info(unit->cu, NULL, &type, NULL, ret, NULL, NULL, NULL) == 0 && ret->addr)
        return true;
    module->dwarf->split_missing = name;
    return false;
}

void module_warn_split(struct module *module)
{
    struct module_dwarf *dwarf = module->dwarf;
    if (!dwarf || !dwarf->split_missing || dwarf->split_warned)
        return;
    dwarf->split_warned = true;
    target_warn(module->owner->target, "debug-info-split",
                "%s: its variables are described in %s, which is not at hand or of another build",
                module->name, dwarf->split_missing);
}
