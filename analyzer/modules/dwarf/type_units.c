/*
 * Files with split units that this module opens itself, and the type units in them, which are found
 * by a signature (DWARF 5, 7.32): libdw 0.188 knows those of the first section of a .dwo, and none
 * of a .dwp.
 */
#include "dwarf_private.h"
#include "split_files.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Of one module: each is a file for libdw, with some kilobytes. */
#define TYPE_UNIT_LIMIT ((size_t)8192)

/* First: the signature. */
struct type_unit {
    uint64_t signature;
    struct Elf *elf;
    Dwarf *dwarf;
    Dwarf_Die type; /* No address: it is not at hand. */
};

struct attached_file {
    const char *local;
    struct split_file *file; /* NULL: not yet, or it cannot be opened. */
    bool tried;
};

struct type_units {
    struct hash_table units;
    struct attached_file *files;
    size_t count;
    size_t capacity;
    bool warned;
};

void type_units_destroy(struct type_units *units)
{
    if (!units)
        return;
    for (size_t i = 0; i < units->units.count; i++) {
        struct type_unit *unit = hash_table_at(&units->units, i);
        dwarf_end(unit->dwarf);
        elf_file_close(unit->elf);
    }
    hash_table_deinit(&units->units);
    for (size_t i = 0; i < units->count; i++)
        split_file_close(units->files[i].file);
    free(units->files);
    free(units);
}

static struct attached_file *add_file(struct module *module, const char *local)
{
    struct module_dwarf *dwarf = module->dwarf;
    if (!dwarf->type_units && (dwarf->type_units = calloc(1, sizeof(*dwarf->type_units))))
        dwarf->type_units->units = HASH_TABLE_OF(struct type_unit);
    struct type_units *units = dwarf->type_units;
    for (size_t i = 0; units && i < units->count; i++)
        if (!strcmp(units->files[i].local, local))
            return &units->files[i];
    void *files = units ? units->files : NULL;
    if (!units || !array_reserve(&files, &units->capacity, units->count + 1, sizeof(*units->files)))
        return NULL;
    units->files = files;
    struct attached_file *added = &units->files[units->count++];
    *added = (struct attached_file){.local = arena_strdup(module->owner->arena, local)};
    if (!added->local)
        added = &units->files[--units->count];
    return added->local ? added : NULL;
}

static struct split_file *open_file(struct module *module, struct attached_file *attached)
{
    struct elf_compression compressed;
    if (attached->tried)
        return attached->file;
    attached->tried = true;
    struct Elf *elf = elf_file_open(target_open_mapped(module->owner->target, attached->local));
    if (elf && elf_file_is_sane(elf, &compressed))
        attached->file = split_file_open(elf, module->owner->arena);
    else
        elf_file_close(elf);
    return attached->file;
}

void module_add_split_file(struct module *module, const char *local)
{
    (void)add_file(module, local);
}

int module_extract_unit(struct module *module, const char *local, uint64_t id)
{
    struct unit_pieces pieces;
    struct attached_file *attached = add_file(module, local);
    struct split_file *file = attached ? open_file(module, attached) : NULL;
    return file && split_file_find(file, false, id, &pieces) ? unit_pieces_write(&pieces) : -1;
}

/* ---- type units ---- */

/* The unit is the first of its section: .debug_types of DWARF 4, which dwarf_get_units() only finds
 * behind others, or .debug_info. */
static bool find_type(Dwarf *dwarf, Dwarf_Die *ret)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Off next, type_offset;
    size_t header_size;
    uint64_t signature;
    uint8_t type;
    if (dwarf_next_unit(dwarf, 0, &next, &header_size, NULL, NULL, NULL, NULL, &signature,
                        &type_offset) == 0)
        return dwarf_offdie_types(dwarf, type_offset, ret);
    return dwarf_get_units(dwarf, NULL, &unit, NULL, &type, NULL, ret) == 0 &&
           (type == DW_UT_type || type == DW_UT_split_type) && ret->addr;
}

static void open_unit(struct module *module, const struct unit_pieces *pieces,
                      struct type_unit *unit)
{
    unit->elf = unit_pieces_open(pieces, module->owner->arena);
    unit->dwarf = unit->elf ? dwarf_begin_elf(unit->elf, DWARF_C_READ, NULL) : NULL;
    if (!unit->dwarf || !find_type(unit->dwarf, &unit->type))
        unit->type = (Dwarf_Die){0};
}

static struct type_unit *find_unit(struct module *module, uint64_t signature)
{
    struct type_units *units = module->dwarf->type_units;
    struct unit_pieces pieces;
    struct type_unit *unit = hash_table_find(&units->units, signature);
    if (unit || units->units.count == TYPE_UNIT_LIMIT)
        return unit;
    unit = hash_table_add(&units->units, signature);
    for (size_t i = 0; unit && i < units->count && !unit->type.addr; i++) {
        struct split_file *file = open_file(module, &units->files[i]);
        if (unit->dwarf || !file || !split_file_find(file, true, signature, &pieces))
            continue;
        open_unit(module, &pieces, unit);
    }
    return unit;
}

bool module_find_type_unit(struct module *module, uint64_t signature, Dwarf_Die *ret)
{
    struct type_units *units = module->dwarf ? module->dwarf->type_units : NULL;
    if (!units || !units->count)
        return false;
    const struct type_unit *unit = find_unit(module, signature);
    if (unit && unit->type.addr) {
        *ret = unit->type;
        return true;
    }
    if (!units->warned)
        target_warn(module->owner->target, "debug-info-split",
                    "%s: types of its variables are described in type units that are not in %s",
                    module->name, units->files[0].local);
    units->warned = true;
    return false;
}
