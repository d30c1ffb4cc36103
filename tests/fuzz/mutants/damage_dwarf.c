/* Damage to debug information where libdw has decoded it: headers of units, attributes, forms. */
#include "mutants.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES_MAX  65536u
#define PENDING_MAX 4096u
#define SECTIONS    16

struct attribute_place {
    size_t at; /* In the file. */
    uint32_t offset_of_entry;
    uint16_t form;
};

struct dwarf_places {
    struct attribute_place *attributes;
    size_t attribute_count;
    size_t units[1024]; /* Of unit headers, in the file. */
    size_t unit_count;
    struct {
        const char *name;
        size_t at, size;
    } sections[SECTIONS];
    size_t section_count;
};

struct walk {
    struct dwarf_places *places;
    const char *image; /* The file as libelf has mapped it. */
    size_t size;
    uint32_t entry;
};

static int take_attribute(Dwarf_Attribute *attribute, void *context)
{
    struct walk *walk = context;
    struct dwarf_places *places = walk->places;
    const char *value = (const char *)attribute->valp;
    if (places->attribute_count < PLACES_MAX && value >= walk->image &&
        (size_t)(value - walk->image) < walk->size)
        places->attributes[places->attribute_count++] = (struct attribute_place){
            (size_t)(value - walk->image), walk->entry, (uint16_t)attribute->form};
    return DWARF_CB_OK;
}

/* All entries of a unit, the outer ones first. */
static void walk_unit(struct walk *walk, Dwarf_Die *unit)
{
    Dwarf_Die *pending = calloc(PENDING_MAX, sizeof(*pending));
    size_t count = 0;
    if (!pending)
        return;
    pending[count++] = *unit;
    while (count && walk->places->attribute_count < PLACES_MAX) {
        Dwarf_Die entry = pending[--count], next;
        walk->entry = (uint32_t)dwarf_cuoffset(&entry);
        (void)dwarf_getattrs(&entry, take_attribute, walk, 0);
        if (count + 2 <= PENDING_MAX && dwarf_siblingof(&entry, &next) == 0)
            pending[count++] = next;
        if (count + 2 <= PENDING_MAX && dwarf_child(&entry, &next) == 0)
            pending[count++] = next;
    }
    free(pending);
}

static void find_sections(struct dwarf_places *places, Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        Elf64_Shdr *header = elf64_getshdr(section);
        const char *name = header ? elf_strptr(elf, names, header->sh_name) : NULL;
        static const char *const wanted[] = {
            ".debug_info",     ".debug_abbrev", ".debug_line",        ".debug_str",
            ".debug_line_str", ".debug_loc",    ".debug_loclists",    ".debug_ranges",
            ".debug_rnglists", ".debug_addr",   ".debug_str_offsets", ".debug_aranges",
            ".debug_types",    ".debug_frame",  ".debug_macro",       ".gnu_debugaltlink"};
        for (size_t i = 0; name && i < SECTIONS && places->section_count < SECTIONS; i++)
            if (!strcmp(name, wanted[i]) && header->sh_size &&
                !(header->sh_flags & SHF_COMPRESSED)) {
                places->sections[places->section_count].name = wanted[i];
                places->sections[places->section_count].at = header->sh_offset;
                places->sections[places->section_count++].size = header->sh_size;
            }
    }
}

static void walk_file(struct dwarf_places *places, Elf *elf)
{
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    struct walk walk = {.places = places};
    walk.image = elf_rawfile(elf, &walk.size);
    for (Dwarf_CU *unit = NULL; dwarf && walk.image;) {
        Dwarf_Die entry, *whole = &entry;
        if (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, whole, NULL))
            break;
        walk_unit(&walk, whole);
    }
    dwarf_end(dwarf);
}

struct dwarf_places *dwarf_places_create(const struct damaged_file *file)
{
    struct dwarf_places *places = calloc(1, sizeof(*places));
    if (!places || !(places->attributes = calloc(PLACES_MAX, sizeof(*places->attributes))))
        exit(2);
    elf_version(EV_CURRENT);
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    Elf *elf = descriptor < 0 ? NULL : elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
    if (elf) {
        find_sections(places, elf);
        walk_file(places, elf);
        elf_end(elf);
    }
    if (descriptor >= 0)
        close(descriptor);
    // Headers follow each other by their lengths (DWARF 5, 7.5.1).
    for (size_t i = 0; i < places->section_count; i++)
        for (size_t at = 0; !strcmp(places->sections[i].name, ".debug_info") &&
                            at + 12 < places->sections[i].size && places->unit_count < 1024;
             at += 4 + (size_t)file_number(file, places->sections[i].at + at, 4))
            places->units[places->unit_count++] = places->sections[i].at + at;
    return places;
}

void dwarf_places_destroy(struct dwarf_places *places)
{
    free(places ? places->attributes : NULL);
    free(places);
}

static size_t size_of_form(unsigned form)
{
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
    case DW_FORM_block1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_block2:
        return 2;
    case DW_FORM_data8:
    case DW_FORM_addr:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
        return 8;
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_exprloc:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
        return 1 + (form == DW_FORM_exprloc);
    default:
        return 4;
    }
}

static void damage_attribute(struct choice *choice, const struct dwarf_places *places,
                             struct damaged_file *file)
{
    const struct attribute_place *one =
        &places->attributes[choose_below(choice, places->attribute_count)];
    const struct attribute_place *other =
        &places->attributes[choose_below(choice, places->attribute_count)];
    size_t size = size_of_form(one->form);
    bool refers = one->form == DW_FORM_ref4 || one->form == DW_FORM_ref2 ||
                  one->form == DW_FORM_ref1 || one->form == DW_FORM_ref8;
    if (one->form == DW_FORM_flag_present || one->form == DW_FORM_implicit_const)
        return;
    if (refers && choose_one_in(choice, 2)) // To itself, or to any entry: cycles of types.
        file_patch_number(file, one->at,
                          choose_one_in(choice, 3) ? one->offset_of_entry : other->offset_of_entry,
                          size);
    else if (choose_one_in(choice, 4) && other->form == one->form)
        file_patch_number(file, one->at, file_number(file, other->at, size), size);
    else if (one->form == DW_FORM_exprloc)
        // Its length, or an operation of it.
        file_patch_number(file, one->at + choose_below(choice, 4), choose_bits(choice), 1);
    else
        file_patch_number(file, one->at, choose_number(choice, file_number(file, one->at, size)),
                          size);
}

/* Where the text of an attribute stands in the file; 0: it has none. */
static size_t place_of_text(const struct dwarf_places *places, const struct damaged_file *file,
                            const struct attribute_place *attribute)
{
    if (attribute->form == DW_FORM_string)
        return attribute->at;
    const char *section = attribute->form == DW_FORM_strp        ? ".debug_str"
                          : attribute->form == DW_FORM_line_strp ? ".debug_line_str"
                                                                 : "";
    for (size_t i = 0; i < places->section_count; i++)
        if (!strcmp(places->sections[i].name, section))
            return places->sections[i].at + (size_t)file_number(file, attribute->at, 4);
    return 0;
}

/* The names of entries that follow each other, as a function's variables do: what is not UTF-8,
 * what drives a terminal, short ones, none. */
static void damage_names(struct choice *choice, const struct dwarf_places *places,
                         struct damaged_file *file)
{
    static const char *const names[] = {"",         "\xff",   "\x80\xfe", "\x1b[2J",
                                        "\xd8\x9c", "\"\\\n", "self"};
    size_t first = choose_below(choice, places->attribute_count);
    for (size_t number = first; number < first + 200 && number < places->attribute_count;
         number++) {
        size_t at = place_of_text(places, file, &places->attributes[number]);
        const char *name = names[choose_below(choice, sizeof(names) / sizeof(*names))];
        size_t size = strlen(name) + choose_one_in(choice, 2); // With its end, or as its beginning.
        if (at)
            file_patch(file, at, name, size);
    }
}

static void damage_unit(struct choice *choice, const struct dwarf_places *places,
                        struct damaged_file *file)
{
    static const struct {
        uint8_t at, size;
    } fields[] = {{0, 4}, {4, 2}, {6, 1}, {7, 1}, {6, 4}, {8, 4}, {10, 1}};
    size_t field = choose_below(choice, sizeof(fields) / sizeof(*fields));
    size_t at = places->units[choose_below(choice, places->unit_count)] + fields[field].at;
    uint64_t number = choose_one_in(choice, 2) ? choose_below(choice, 10)
                                               : choose_number(choice, file_number(file, at, 4));
    file_patch_number(file, at, number, fields[field].size);
}

/* Tags, attributes and forms are LEB128 numbers, most of one byte. */
static void damage_section(struct choice *choice, const struct dwarf_places *places,
                           struct damaged_file *file)
{
    size_t section = choose_below(choice, places->section_count);
    size_t at = places->sections[section].at, size = places->sections[section].size;
    // Line programs and lists begin with headers.
    size_t within = choose_one_in(choice, 3) && size > 64 ? 64 : size;
    for (size_t times = 1 + choose_below(choice, 8); times; times--) {
        size_t place = at + choose_below(choice, within);
        size_t width = choose_one_in(choice, 2) ? 1 : (size_t)1 << choose_below(choice, 4);
        file_patch_number(file, place,
                          width == 1 ? choose_bits(choice) >> choose_below(choice, 8)
                                     : choose_number(choice, file_number(file, place, width)),
                          width);
    }
}

void damage_dwarf(struct choice *choice, const struct dwarf_places *places,
                  struct damaged_file *file)
{
    for (size_t times = 1 + choose_below(choice, 8); times; times--) {
        size_t what = choose_below(choice, 9);
        if (what < 4 && places->attribute_count)
            damage_attribute(choice, places, file);
        else if (what == 8 && places->attribute_count)
            damage_names(choice, places, file);
        else if (what == 4 && places->unit_count)
            damage_unit(choice, places, file);
        else if (places->section_count)
            damage_section(choice, places, file);
    }
    if (choose_one_in(choice, 5))
        damage_elf_compressed(choice, file);
}
