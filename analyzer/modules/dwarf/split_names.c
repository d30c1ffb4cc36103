/*
 * The names by which libdw opens the files of split units. It has its own rule for where they are
 * (beside the file, else where they were made; libdw/libdw_find_split_unit.c, elfutils 0.188) and
 * none for another root: so each name is replaced by the path at which the file has been found, in
 * copies of the sections that hold it.
 */
#include "dwarf_private.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

/** What stays with the program when its units are split is small; else nothing is copied. */
#define SKELETONS_SIZE_LIMIT ((size_t)16 * 1024 * 1024)
/** For the paths. */
#define PATHS_SIZE   ((size_t)256 * 1024)
#define OFFSET_WIDTH 4u /**< Of 32-bit DWARF. */

static uint8_t *copy_section(struct module *module, struct Elf *elf, const char *name, size_t more,
                             size_t *ret_size)
{
    struct arena *arena = module->owner->target->arena;
    struct elf_section section;
    struct elf_bytes bytes;
    if (!elf_file_find_section(elf, name, &section) || section.size > SKELETONS_SIZE_LIMIT ||
        section.gnu_compressed || section.flags & SHF_COMPRESSED ||
        !elf_file_read_section(elf, name, arena, &bytes))
        return NULL;
    uint8_t *copy = arena_alloc(arena, bytes.size + more);
    if (!copy)
        return NULL;
    memcpy(copy, bytes.data, bytes.size);
    memset(copy + bytes.size, 0, more);
    *ret_size = bytes.size;
    return elf_file_replace_section(elf, name, copy, bytes.size + more) ? copy : NULL;
}

void split_names_prepare(struct module *module, struct Elf *elf, struct split_names *ret)
{
    struct elf_section section;
    *ret = (struct split_names){0};
    // DWARF 5, 7.3.2.1: addresses are in a section of their own then.
    if (!elf_file_find_section(elf, ".debug_addr", &section))
        return;
    ret->strings = copy_section(module, elf, ".debug_str", PATHS_SIZE, &ret->strings_used);
    if (!ret->strings)
        return;
    // One 0 ends the last of those that were there.
    ret->strings_used++;
    ret->strings_size = ret->strings_used - 1 + PATHS_SIZE;
    ret->units = copy_section(module, elf, ".debug_info", 0, &ret->units_size);
    ret->offsets = copy_section(module, elf, ".debug_str_offsets", 0, &ret->offsets_size);
}

static bool holds(const uint8_t *bytes, size_t size, const uint8_t *at, size_t width)
{
    return bytes && at >= bytes && width <= size && at <= bytes + size - width;
}

/* DWARF 5, 7.26: the entry of a number that is counted from the unit's base. */
static uint8_t *find_entry(const struct split_names *names, Dwarf_Attribute *name, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    Dwarf_Word base;
    size_t width = dwarf_whatform(name) - DW_FORM_strx1 + 1;
    uint64_t index = 0;
    if (!holds(names->units, names->units_size, name->valp, width) ||
        dwarf_formudata(dwarf_attr(unit, DW_AT_str_offsets_base, &attribute), &base) != 0 ||
        base > names->offsets_size)
        return NULL;
    for (size_t i = 0; i < width; i++)
        index |= (uint64_t)name->valp[i] << 8 * i;
    return index < (names->offsets_size - base) / OFFSET_WIDTH
               ? names->offsets + base + index * OFFSET_WIDTH
               : NULL;
}

static uint8_t *find_offset(const struct split_names *names, Dwarf_Attribute *name, Dwarf_Die *unit)
{
    unsigned int form = dwarf_whatform(name);
    if (form == DW_FORM_strp && holds(names->units, names->units_size, name->valp, OFFSET_WIDTH))
        return names->units + (name->valp - names->units);
    return form >= DW_FORM_strx1 && form <= DW_FORM_strx4 ? find_entry(names, name, unit) : NULL;
}

bool split_names_set(struct split_names *names, Dwarf_Attribute *name, Dwarf_Die *unit,
                     const char *path)
{
    uint8_t width;
    size_t size = strlen(path) + 1;
    if (!names->strings || size > names->strings_size - names->strings_used ||
        names->strings_used > UINT32_MAX ||
        !dwarf_cu_die(unit->cu, &(Dwarf_Die){0}, NULL, NULL, NULL, &width, NULL, NULL) ||
        width != OFFSET_WIDTH)
        return false;
    uint8_t *offset = find_offset(names, name, unit);
    if (!offset)
        return false;
    memcpy(names->strings + names->strings_used, path, size);
    for (unsigned i = 0; i < OFFSET_WIDTH; i++)
        offset[i] = (uint8_t)(names->strings_used >> 8 * i);
    names->strings_used += size;
    return true;
}
