/* The images of described code: where their code lies, and their bytes, read when it is wanted. */
#include "jit_private.h"

#include <stdlib.h>

/** Images that are listed; a program that compiles much has some thousands. */
#define JIT_IMAGE_LIMIT ((size_t)1 << 16)
/** Bytes of one image, and of all that are read. */
#define JIT_IMAGE_SIZE_LIMIT ((uint64_t)64 << 20)
#define JIT_BYTES_LIMIT      ((uint64_t)256 << 20)
/** Section headers of one that are looked at: a function may have a section of its own. */
#define JIT_SECTION_LIMIT ((size_t)4096)

/** An image that was read. */
struct jit_image {
    psc_addr address;
    uint64_t size;
    uint64_t hash;   /**< Of the bytes as they were in the target. */
    uint8_t *bytes;  /**< Changed by parse_elf_object(). */
    bool checked;    /**< They are still the same, since the list was read. */
    bool superseded; /**< They are not. */
    struct module module;
    struct module_layout layout;
};

/** Code of a listed image. */
struct jit_range {
    psc_addr start;
    psc_addr end;
    struct jit_entry entry;
};

struct jit_images {
    bool searched; /**< For descriptors. */
    psc_addr descriptors[JIT_DESCRIPTOR_LIMIT];
    size_t descriptor_count;

    bool listed;
    struct jit_range *ranges; /**< Sorted by start. */
    size_t range_count;
    size_t range_capacity;

    struct jit_image **items;
    size_t count;
    size_t capacity;
    uint64_t bytes; /**< Of all. */
};

/* ---- the list ---- */

/** A key that was met. */
struct met_address {
    uint64_t address;
};

static bool meet(struct hash_table *met, psc_addr address)
{
    return met->count < JIT_IMAGE_LIMIT && !hash_table_find(met, address) &&
           hash_table_reserve(met, met->count + 1) && hash_table_add(met, address);
}

static bool add_ranges(struct jit_images *images, const struct jit_entry *entry,
                       const struct elf_range *code, size_t count)
{
    if (!array_reserve(&images->ranges, &images->range_capacity, images->range_count + count,
                       sizeof(*images->ranges)))
        return false;
    for (size_t i = 0; i < count; i++)
        images->ranges[images->range_count++] =
            (struct jit_range){code[i].start, code[i].end, *entry};
    return true;
}

/** Takes the ranges of an image's code from its headers alone. */
static void list_image(struct modules *modules, const struct jit_entry *entry)
{
    struct target *target = modules->target;
    uint8_t header[ELF_HEADER_SIZE];
    struct elf_section_table table;
    struct elf_range code[MODULE_CODE_RANGE_LIMIT];
    if (entry->size < sizeof(header) || entry->size > JIT_IMAGE_SIZE_LIMIT ||
        target_read(target, entry->address, header, sizeof(header)) != PSC_OK ||
        !parse_elf_section_table(header, sizeof(header), &table) ||
        table.count > JIT_SECTION_LIMIT || table.offset > entry->size ||
        table.count > (entry->size - table.offset) / ELF_SECTION_SIZE)
        return;
    size_t size = table.count * ELF_SECTION_SIZE;
    uint8_t *sections PSC_CLEANUP(cleanup_free) = malloc(size);
    if (!sections || target_read(target, entry->address + table.offset, sections, size) != PSC_OK)
        return;
    size_t count = parse_elf_code_sections(sections, size, PSC_ARRAY_SIZE(code), code);
    // Without memory it is as if it were not there: the frame stays one without a name.
    if (!add_ranges(modules->jit, entry, code, count))
        return;
}

static void list_entries(struct modules *modules, psc_addr first, struct hash_table *met)
{
    uint8_t bytes[JIT_ENTRY_SIZE];
    struct jit_entry entry = {.next = first};
    while (entry.next && meet(met, entry.next) &&
           target_read(modules->target, entry.next, bytes, sizeof(bytes)) == PSC_OK) {
        parse_jit_entry(bytes, &entry);
        list_image(modules, &entry);
    }
}

static int compare_ranges(const void *left, const void *right)
{
    const struct jit_range *a = left, *b = right;
    return COMPARE(a->start, b->start);
}

static void list_images(struct modules *modules)
{
    struct jit_images *images = modules->jit;
    struct hash_table met = HASH_TABLE_OF(struct met_address);
    images->listed = true;
    images->range_count = 0;
    if (!images->searched)
        images->descriptor_count =
            jit_find_descriptors(modules, JIT_DESCRIPTOR_LIMIT, images->descriptors);
    images->searched = true;
    for (size_t i = 0; i < images->descriptor_count; i++) {
        uint8_t bytes[JIT_DESCRIPTOR_SIZE];
        if (target_read(modules->target, images->descriptors[i], bytes, sizeof(bytes)) == PSC_OK)
            list_entries(modules, parse_jit_descriptor(bytes), &met);
    }
    if (images->range_count)
        qsort(images->ranges, images->range_count, sizeof(*images->ranges), compare_ranges);
    hash_table_deinit(&met);
}

/* ---- one image ---- */

static struct jit_image *find_image(const struct jit_images *images, const struct jit_entry *entry)
{
    for (size_t i = 0; i < images->count; i++) {
        struct jit_image *image = images->items[i];
        if (image->address == entry->address && image->size == entry->size && !image->superseded)
            return image;
    }
    return NULL;
}

static void describe_module(struct modules *modules, struct jit_image *image)
{
    struct elf_section_table table = {0};
    struct module *module = &image->module;
    struct module_layout *layout = &image->layout;
    if (parse_elf_section_table(image->bytes, image->size, &table))
        layout->code_count =
            parse_elf_code_sections(image->bytes + table.offset, table.count * ELF_SECTION_SIZE,
                                    MODULE_CODE_RANGE_LIMIT, layout->code);
    layout->eh_frame_checked = true;
    *module = (struct module){.path = "[jit]",
                              .name = "[jit]",
                              .start = UINT64_MAX,
                              .made_at_run_time = true,
                              .image = image->bytes,
                              .image_size = image->size,
                              .owner = modules,
                              .layout = layout};
    for (size_t i = 0; i < layout->code_count; i++) {
        if (layout->code[i].start < module->start)
            module->start = layout->code[i].start;
        if (layout->code[i].end > module->end)
            module->end = layout->code[i].end;
    }
}

static uint8_t *read_bytes(struct target *target, const struct jit_entry *entry)
{
    uint8_t *bytes = malloc(entry->size);
    if (bytes && target_read(target, entry->address, bytes, entry->size) != PSC_OK) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/** Takes over `bytes`. */
static struct jit_image *add_image(struct modules *modules, const struct jit_entry *entry,
                                   uint8_t *bytes)
{
    struct jit_images *images = modules->jit;
    uint64_t hash = hash_text(bytes, entry->size);
    struct jit_image *image = calloc(1, sizeof(*image));
    if (!image || !parse_elf_object(bytes, entry->size) ||
        !array_reserve(&images->items, &images->capacity, images->count + 1,
                       sizeof(struct jit_image *))) {
        free(image);
        free(bytes);
        return NULL;
    }
    *image = (struct jit_image){.address = entry->address,
                                .size = entry->size,
                                .hash = hash,
                                .bytes = bytes,
                                .checked = true};
    images->items[images->count++] = image;
    images->bytes += entry->size;
    describe_module(modules, image);
    return image;
}

static struct jit_image *open_image(struct modules *modules, const struct jit_entry *entry)
{
    struct jit_images *images = modules->jit;
    struct jit_image *known = find_image(images, entry);
    if ((known && known->checked) || images->bytes + entry->size > JIT_BYTES_LIMIT)
        return known && known->checked ? known : NULL;
    uint8_t *bytes = read_bytes(modules->target, entry);
    if (!bytes)
        return NULL;
    if (known && known->hash == hash_text(bytes, entry->size)) {
        known->checked = true;
        free(bytes);
        return known;
    }
    if (known)
        known->superseded = true;
    return add_image(modules, entry, bytes);
}

/* ---- the door ---- */

/** Images that were put into a file of memory have mappings with a name. */
static bool may_be_made(struct target *target, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    return mapping && (mapping->executable || !mapping->permissions_known);
}

struct module *jit_find(struct modules *modules, psc_addr address)
{
    if (!may_be_made(modules->target, address))
        return NULL;
    if (!modules->jit)
        modules->jit = calloc(1, sizeof(*modules->jit));
    struct jit_images *images = modules->jit;
    if (!images)
        return NULL;
    if (!images->listed)
        list_images(modules);
    size_t behind = SORTED_UP_TO(images->ranges, start, images->range_count, address);
    if (!behind || address >= images->ranges[behind - 1].end)
        return NULL;
    struct jit_image *image = open_image(modules, &images->ranges[behind - 1].entry);
    return image ? &image->module : NULL;
}

void jit_forget(struct modules *modules)
{
    struct jit_images *images = modules->jit;
    if (!images)
        return;
    images->listed = false;
    for (size_t i = 0; i < images->count; i++)
        images->items[i]->checked = false;
}

size_t jit_module_count(const struct modules *modules)
{
    return modules->jit ? modules->jit->count : 0;
}

struct module *jit_module_at(const struct modules *modules, size_t index)
{
    return &modules->jit->items[index]->module;
}

void jit_destroy(struct jit_images *images)
{
    if (!images)
        return;
    for (size_t i = 0; i < images->count; i++) {
        free(images->items[i]->bytes);
        free(images->items[i]);
    }
    free(images->items);
    free(images->ranges);
    free(images);
}
