/* Units whose DIEs are in a file of their own: -gsplit-dwarf (DWARF 5, 7.3.2; GNU's in DWARF 4). */
#include "dwarf_private.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct split_unit {
    Dwarf_Die *unit;
    Dwarf_Attribute name;
    const char *file;   /* As the attribute has it. */
    const char *folder; /* Where it was compiled, or NULL. */
    uint64_t id;
};

static bool read_unit(Dwarf_Die *unit, struct split_unit *ret)
{
    Dwarf_Attribute folder;
    uint8_t type;
    *ret = (struct split_unit){.unit = unit};
    if (!dwarf_attr(unit, DW_AT_dwo_name, &ret->name) &&
        !dwarf_attr(unit, DW_AT_GNU_dwo_name, &ret->name))
        return false;
    ret->file = dwarf_formstring(&ret->name);
    ret->folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &folder));
    return ret->file && *ret->file &&
           dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, &ret->id, NULL, NULL) == 0;
}

/* Whether a file can be read, is sane, and has that unit first: libdw opens whatever it is told. */
static bool begins_with_unit(const struct target *target, const char *path, uint64_t id)
{
    struct elf_compression compressed;
    uint64_t found;
    uint8_t type;
    Dwarf_CU *unit = NULL;
    struct Elf *elf = path ? elf_file_open(target_open_mapped(target, path)) : NULL;
    Dwarf *dwarf =
        elf_file_is_sane(elf, &compressed) ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    bool same = dwarf && dwarf_get_units(dwarf, NULL, &unit, NULL, &type, NULL, NULL) == 0 &&
                dwarf_cu_info(unit, NULL, &type, NULL, NULL, &found, NULL, NULL) == 0 &&
                found == id;
    dwarf_end(dwarf);
    elf_file_close(elf);
    return same;
}

/* With type units in sections of their own it may be anywhere: libdw sees the first section. */
static bool has_unit(struct module *module, const char *path, uint64_t id, int *ret_extracted)
{
    const struct target *target = module->owner->target;
    if (begins_with_unit(target, path, id))
        return true;
    int fd = path ? target_open_local(target, path) : -1;
    if (fd >= 0) {
        close(fd);
        *ret_extracted = module_extract_unit(module, path, id);
    }
    return *ret_extracted >= 0;
}

/* Where gdb and libdw look first: beside the file that names it. NULL for an absolute name. */
static const char *path_beside(struct module *module, const struct split_unit *unit)
{
    const char *own = module->file && module->file->local_path ? module->file->local_path : "";
    const char *name = strrchr(own, '/');
    return name && unit->file[0] != '/' ? arena_printf(module->owner->target->arena, "%.*s%s",
                                                       (int)(name + 1 - own), own, unit->file)
                                        : NULL;
}

/* Whether libdw opens that file, and no other one, without being told its path. */
static bool is_found_by_rule(const struct target *target, const char *local, const char *beside,
                             const char *home)
{
    int fd = beside && strcmp(beside, local) != 0 ? target_open_local(target, beside) : -1;
    if (fd >= 0)
        close(fd);
    return fd < 0 && ((beside && !strcmp(local, beside)) || (home && !strcmp(local, home)));
}

/* All units in one file (dwp), beside the program, or beside its separate debug file. */
static const char *find_package(struct module *module)
{
    struct target *target = module->owner->target;
    const char *path = arena_printf(target->arena, "%s.dwp", module->path);
    const char *local = path ? target_find_local_path(target, path) : NULL;
    const char *beside = !local && module->file && module->file->local_path
                             ? arena_printf(target->arena, "%s.dwp", module->file->local_path)
                             : NULL;
    int fd = beside ? target_open_local(target, beside) : -1;
    if (fd >= 0) {
        close(fd);
        local = beside;
    }
    if (local)
        target_need_file(target, &(struct target_needed_file){
                                     .kind = TARGET_NEED_DEBUG, .path = path, .local = local});
    return local;
}

/* The unit's DIE, where libdw opens the file that it is told. */
static bool attach(struct module *module, const struct split_unit *split, const char *path,
                   Dwarf_Die *ret)
{
    uint8_t type;
    return split_names_set(&module->dwarf->split_names, (Dwarf_Attribute *)&split->name,
                           split->unit, path) &&
           dwarf_cu_info(split->unit->cu, NULL, &type, NULL, ret, NULL, NULL, NULL) == 0 &&
           ret->addr;
}

/* A file that only this process has, which libdw has opened when this returns. */
static bool attach_file(struct module *module, const struct split_unit *split, int fd,
                        Dwarf_Die *ret)
{
    char path[64];
    if (fd < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bool good = attach(module, split, path, ret);
    close(fd);
    return good;
}

/* As the file lies there, which libdw maps: where somebody deals with one that becomes shorter. */
static bool attach_mapped(struct module *module, const struct split_unit *split, const char *local,
                          bool by_rule, Dwarf_Die *ret)
{
    uint8_t type;
    return (split_names_set(&module->dwarf->split_names, (Dwarf_Attribute *)&split->name,
                            split->unit, local) ||
            by_rule) &&
           dwarf_cu_info(split->unit->cu, NULL, &type, NULL, ret, NULL, NULL, NULL) == 0 &&
           ret->addr;
}

bool unit_find_split(struct module *module, Dwarf_Die *unit, Dwarf_Die *ret)
{
    struct target *target = module->owner->target;
    struct split_unit split;
    memset(ret, 0, sizeof(*ret));
    if (!read_unit(unit, &split))
        return false;
    const char *home = split.file[0] == '/' ? split.file
                       : split.folder
                           ? arena_printf(target->arena, "%s/%s", split.folder, split.file)
                           : NULL;
    const char *beside = path_beside(module, &split);
    int extracted = -1;
    const char *local = has_unit(module, beside, split.id, &extracted) ? beside : NULL;
    const char *there = !local && home ? target_find_local_path(target, home) : NULL;
    if (there && has_unit(module, there, split.id, &extracted))
        local = there;
    const char *package = local ? NULL : find_package(module);
    if (home && !package)
        target_need_file(target, &(struct target_needed_file){
                                     .kind = TARGET_NEED_DEBUG, .path = home, .local = local});
    if (local)
        module_add_split_file(module, local);
    if (extracted >= 0 && attach_file(module, &split, extracted, ret))
        return true;
    if (local && extracted < 0 &&
        (target->options.maps_files
             ? attach_mapped(module, &split, local, is_found_by_rule(target, local, beside, home),
                             ret)
             : attach_file(module, &split, target_open_mapped(target, local), ret)))
        return true;
    if (package && attach_file(module, &split, module_extract_unit(module, package, split.id), ret))
        return true;
    module->dwarf->split_missing = split.file;
    module->dwarf->split_package = package;
    return false;
}

void module_warn_split(struct module *module)
{
    struct module_dwarf *dwarf = module->dwarf;
    if (!dwarf || !dwarf->split_missing || dwarf->split_warned)
        return;
    dwarf->split_warned = true;
    if (dwarf->split_package) {
        target_warn(module->owner->target, "debug-info-split",
                    "%s: its variables are described in %s, which is not at hand or of another "
                    "build, and %s does not have it",
                    module->name, dwarf->split_missing, dwarf->split_package);
        return;
    }
    target_warn(module->owner->target, "debug-info-split",
                "%s: its variables are described in %s, which is not at hand or of another build",
                module->name, dwarf->split_missing);
}
