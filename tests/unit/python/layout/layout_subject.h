/** @file An interpreter that is here, and the offsets of its structs as its DWARF has them. */
#ifndef PSC_LAYOUT_SUBJECT_H
#define PSC_LAYOUT_SUBJECT_H

#include "python_private.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum { TYPE_LIMIT = 128, NEST_LIMIT = 8 };

/* Types by the names that the matrix asks for. */
struct type {
    char name[48];
    Dwarf_Die die;
    bool found;
};

struct subject {
    char image_path[600];
    char debug_path[1300];
    uint8_t runtime[PY_DEBUG_OFFSETS_MAX]; /* The start of .PyRuntime. */
    size_t runtime_size;
    int column;
    uint32_t hex;
    bool free_threaded;
    struct type types[TYPE_LIMIT];
    size_t type_count;
};

/* ---- DWARF ---- */

static struct type *find_type(struct subject *subject, const char *name, size_t size)
{
    for (size_t i = 0; i < subject->type_count; i++)
        if (strlen(subject->types[i].name) == size &&
            memcmp(subject->types[i].name, name, size) == 0)
            return &subject->types[i];
    return NULL;
}

static void want_types(struct subject *subject)
{
    for (int field = 0; field < PY_FIELD_COUNT; field++) {
        const char *path = layout_field_path((enum py_field)field);
        while (path) {
            size_t size = strcspn(path, ".");
            if (!find_type(subject, path, size)) {
                assert_true(subject->type_count < TYPE_LIMIT && size < 48);
                struct type *type = &subject->types[subject->type_count++];
                memcpy(type->name, path, size);
            }
            path = strchr(path, '|');
            path = path ? path + 1 : NULL;
        }
    }
}

static bool complete_type(Dwarf_Die *die, Dwarf_Die *ret)
{
    if (dwarf_peel_type(die, ret) != 0)
        return false;
    int tag = dwarf_tag(ret);
    return (tag == DW_TAG_structure_type || tag == DW_TAG_union_type) &&
           !dwarf_hasattr(ret, DW_AT_declaration) && dwarf_haschildren(ret) == 1;
}

static void collect_types(struct subject *subject, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
        if (dwarf_child(&unit, &die) != 0)
            continue;
        do {
            int tag = dwarf_tag(&die);
            if (tag != DW_TAG_structure_type && tag != DW_TAG_typedef)
                continue;
            const char *name = dwarf_diename(&die);
            struct type *type = name ? find_type(subject, name, strlen(name)) : NULL;
            if (type && !type->found)
                type->found = complete_type(&die, &type->die);
        } while (dwarf_siblingof(&die, &die) == 0);
    }
}

static bool find_member(Dwarf_Die *type, const char *name, size_t size, int depth, uint64_t *offset,
                        Dwarf_Die *ret)
{
    Dwarf_Die die;
    if (depth > NEST_LIMIT || dwarf_child(type, &die) != 0)
        return false;
    do {
        Dwarf_Attribute attribute;
        Dwarf_Die member_type;
        Dwarf_Word at = 0;
        if (dwarf_tag(&die) != DW_TAG_member)
            continue;
        if (dwarf_attr(&die, DW_AT_data_member_location, &attribute))
            dwarf_formudata(&attribute, &at);
        if (!dwarf_attr(&die, DW_AT_type, &attribute) ||
            !dwarf_formref_die(&attribute, &member_type))
            continue;
        const char *found = dwarf_diename(&die);
        if (found && strlen(found) == size && memcmp(found, name, size) == 0) {
            *offset += at;
            *ret = member_type;
            return true;
        }
        Dwarf_Die nested;
        uint64_t inside = *offset + at;
        if (!found && complete_type(&member_type, &nested) &&
            find_member(&nested, name, size, depth + 1, &inside, ret)) {
            *offset = inside;
            return true;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* The size of a member, of one item when it is an array. */
static uint64_t item_size(Dwarf_Die *type)
{
    Dwarf_Die peeled;
    Dwarf_Attribute attribute;
    Dwarf_Word size;
    if (dwarf_peel_type(type, &peeled) != 0)
        return 0;
    if (dwarf_tag(&peeled) == DW_TAG_array_type) {
        Dwarf_Die item;
        if (!dwarf_attr(&peeled, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &item))
            return 0;
        return dwarf_aggregate_size(&item, &size) == 0 ? size : 0;
    }
    return dwarf_aggregate_size(&peeled, &size) == 0 ? size : 0;
}

enum verdict { NO_TYPE, NO_MEMBER, RESOLVED };

/* One "type.member.member" up to `size`. */
static enum verdict resolve_path(struct subject *subject, const char *path, size_t size,
                                 uint64_t *offset, uint64_t *width)
{
    size_t length = strcspn(path, ".");
    struct type *type = find_type(subject, path, length);
    if (!type || !type->found)
        return NO_TYPE;
    Dwarf_Die current = type->die;
    Dwarf_Die member = type->die;
    *offset = 0;
    if (length + 1 == size) {
        Dwarf_Word bytes;
        *width = 0;
        *offset = dwarf_aggregate_size(&current, &bytes) == 0 ? bytes : 0;
        return RESOLVED;
    }
    for (size_t at = length + 1; at < size;) {
        size_t part = strcspn(path + at, ".|");
        if (!complete_type(&member, &current) ||
            !find_member(&current, path + at, part, 0, offset, &member))
            return NO_MEMBER;
        at += part + 1;
    }
    *width = item_size(&member);
    return RESOLVED;
}

static enum verdict resolve_field(struct subject *subject, enum py_field field, uint64_t *offset,
                                  uint64_t *width)
{
    enum verdict best = NO_TYPE;
    const char *path = layout_field_path(field);
    while (path) {
        enum verdict verdict = resolve_path(subject, path, strcspn(path, "|"), offset, width);
        if (verdict == RESOLVED)
            return RESOLVED;
        if (verdict == NO_MEMBER)
            best = NO_MEMBER;
        path = strchr(path, '|');
        path = path ? path + 1 : NULL;
    }
    return best;
}

/* ---- the files ---- */

static bool has_section(Elf *elf, const char *name, Elf_Scn **ret)
{
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    *ret = NULL;
    while ((*ret = elf_nextscn(elf, *ret)))
        if (gelf_getshdr(*ret, &header) &&
            strcmp(elf_strptr(elf, names, header.sh_name), name) == 0)
            return true;
    return false;
}

static void read_runtime(struct subject *subject, Elf *elf)
{
    Elf_Scn *section;
    Elf_Data *data;
    if (!has_section(elf, ".PyRuntime", &section) || !(data = elf_rawdata(section, NULL)) ||
        !data->d_buf)
        return;
    subject->runtime_size =
        data->d_size < sizeof(subject->runtime) ? data->d_size : sizeof(subject->runtime);
    memcpy(subject->runtime, data->d_buf, subject->runtime_size);
}

static bool find_debug_file(struct subject *subject, Elf *elf)
{
    Elf_Scn *section;
    const void *id;
    if (has_section(elf, ".debug_info", &section)) {
        snprintf(subject->debug_path, sizeof(subject->debug_path), "%s", subject->image_path);
        return true;
    }
    ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
    const char *usr = strstr(subject->image_path, "/usr/");
    if (size < 3 || !usr)
        return false;
    const uint8_t *bytes = id;
    int used = snprintf(subject->debug_path, sizeof(subject->debug_path),
                        "%.*s/usr/lib/debug/.build-id/%02x/", (int)(usr - subject->image_path),
                        subject->image_path, bytes[0]);
    for (ssize_t i = 1; i < size; i++)
        used += snprintf(subject->debug_path + used, sizeof(subject->debug_path) - (size_t)used,
                         "%02x", bytes[i]);
    snprintf(subject->debug_path + used, sizeof(subject->debug_path) - (size_t)used, ".debug");
    return access(subject->debug_path, R_OK) == 0;
}

/* False: not an interpreter with DWARF. */
static bool open_subject(struct subject *subject)
{
    const char *name = strrchr(subject->image_path, '/');
    struct py_debug_offsets head = {0};
    int fd = open(subject->image_path, O_RDONLY);
    if (fd < 0)
        return false;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    bool found = elf && elf_kind(elf) == ELF_K_ELF && find_debug_file(subject, elf);
    if (found)
        read_runtime(subject, elf);
    elf_end(elf);
    close(fd);
    if (!found)
        return false;
    subject->hex = parse_version_name(name ? name + 1 : subject->image_path);
    if (parse_debug_offsets_head(subject->runtime, subject->runtime_size, &head) == PSC_OK)
        subject->hex = head.hex;
    subject->free_threaded = head.free_threaded;
    uint32_t second = subject->hex >> 16 & 0xff;
    if (subject->hex >> 24 == 2)
        subject->column = second == 7 ? 0 : -1;
    else
        subject->column = second >= 6 && second <= 15 ? (int)second - 5 : -1;
    return subject->column >= 0;
}

#endif
