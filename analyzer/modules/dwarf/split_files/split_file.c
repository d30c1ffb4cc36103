/* A .dwp or a .dwo, and the units in it. */
#include "split_files.h"
#include "unit_index.h"

#include <stdlib.h>
#include <string.h>

#define UNIT_LIMIT ((size_t)1 << 20) /* Of a .dwo. */
#define INFO       ".debug_info.dwo"
#define TYPES      ".debug_types.dwo"

/* What units of a .dwo have in common, of any version. */
static const char *const common[] = {
    ".debug_abbrev.dwo",   ".debug_line.dwo",        ".debug_loc.dwo",
    ".debug_macinfo.dwo",  ".debug_macro.dwo",       ".debug_loclists.dwo",
    ".debug_rnglists.dwo", ".debug_str_offsets.dwo", ".debug_str.dwo",
};

/* Of a .dwo. */
struct listed_unit {
    uint64_t id;
    uint64_t is_type;
    const char *section;
    struct elf_bytes bytes;
};

/* Read once, for it may be compressed. */
struct read_section {
    const char *name;
    struct elf_bytes bytes; /* No data: it is not there. */
};

struct split_file {
    struct Elf *elf;
    struct arena *arena;
    bool listed;
    struct hash_table units; /* struct listed_unit */
    struct read_section sections[2 * UNIT_INDEX_COLUMNS];
    size_t section_count;
};

struct split_file *split_file_open(struct Elf *elf, struct arena *arena)
{
    struct split_file *file = calloc(1, sizeof(*file));
    if (!file) {
        elf_file_close(elf);
        return NULL;
    }
    *file =
        (struct split_file){.elf = elf, .arena = arena, .units = HASH_TABLE_OF(struct listed_unit)};
    return file;
}

void split_file_close(struct split_file *file)
{
    if (!file)
        return;
    hash_table_deinit(&file->units);
    elf_file_close(file->elf);
    free(file);
}

static bool read_section(struct split_file *file, const char *name, struct elf_bytes *ret)
{
    for (size_t i = 0; i < file->section_count; i++)
        if (!strcmp(file->sections[i].name, name)) {
            *ret = file->sections[i].bytes;
            return ret->data;
        }
    bool good = elf_file_read_section(file->elf, name, file->arena, ret);
    if (!good)
        *ret = (struct elf_bytes){0};
    if (file->section_count < PSC_ARRAY_SIZE(file->sections))
        file->sections[file->section_count++] = (struct read_section){name, *ret};
    return good;
}

static bool add_piece(struct unit_pieces *pieces, const char *section, struct elf_bytes bytes)
{
    if (pieces->count == PSC_ARRAY_SIZE(pieces->items))
        return false;
    pieces->items[pieces->count++] = (struct unit_piece){section, bytes};
    return true;
}

/* ---- a .dwp ---- */

static bool find_packed(struct split_file *file, const struct elf_bytes *index, uint64_t id,
                        struct unit_pieces *ret)
{
    struct elf_bytes bytes;
    struct unit_parts parts;
    if (!parse_unit_index(index->data, index->size, id, &parts))
        return false;
    for (size_t i = 0; i < parts.count; i++) {
        const struct unit_part *part = &parts.items[i];
        if (!part->size)
            continue;
        if (!read_section(file, part->section, &bytes) || part->offset > bytes.size ||
            part->size > bytes.size - part->offset ||
            !add_piece(ret, part->section,
                       (struct elf_bytes){bytes.data + part->offset, part->size}))
            return false;
    }
    // Its texts are those of all units.
    return !read_section(file, ".debug_str.dwo", &bytes) || add_piece(ret, ".debug_str.dwo", bytes);
}

/* ---- a .dwo ---- */

/* Several sections have these names where each type unit has its own. */
static void list_units(struct split_file *file, size_t index, const char *name)
{
    struct elf_bytes bytes;
    struct unit_header unit;
    if (!elf_file_read_section_at(file->elf, index, name, file->arena, &bytes))
        return;
    while (file->units.count < UNIT_LIMIT &&
           parse_unit_header(bytes.data, bytes.size, !strcmp(name, TYPES), &unit)) {
        struct listed_unit *listed = hash_table_find_pair(&file->units, unit.id, unit.is_type)
                                         ? NULL
                                         : hash_table_add_pair(&file->units, unit.id, unit.is_type);
        if (listed) {
            listed->section = name;
            listed->bytes = (struct elf_bytes){bytes.data, (size_t)unit.size};
        }
        bytes.data += unit.size;
        bytes.size -= (size_t)unit.size;
    }
}

static bool find_listed(struct split_file *file, bool is_type, uint64_t id, struct unit_pieces *ret)
{
    struct elf_bytes bytes;
    size_t count = file->listed ? 0 : elf_file_section_count(file->elf);
    file->listed = true;
    for (size_t i = 1; i < count; i++) {
        list_units(file, i, INFO);
        list_units(file, i, TYPES);
    }
    const struct listed_unit *unit = hash_table_find_pair(&file->units, id, is_type);
    if (!unit || !add_piece(ret, unit->section, unit->bytes))
        return false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(common); i++)
        if (read_section(file, common[i], &bytes) && !add_piece(ret, common[i], bytes))
            return false;
    return true;
}

bool split_file_find(struct split_file *file, bool is_type, uint64_t id, struct unit_pieces *ret)
{
    struct elf_bytes index, other;
    ret->count = 0;
    bool has_units = read_section(file, ".debug_cu_index", &other);
    if (read_section(file, is_type ? ".debug_tu_index" : ".debug_cu_index", &index))
        return find_packed(file, &index, id, ret);
    return !has_units && find_listed(file, is_type, id, ret);
}
