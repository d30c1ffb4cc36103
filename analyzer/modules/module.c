/* The list of modules: which mappings are the parts of a loaded ELF file. */
#include "candidate.h"
#include "files.h"
#include "jit.h"
#include "modules_private.h"
#include "symbol_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Modules listed; real processes have hundreds. */
#define MODULE_LIMIT 16384
/** The vdso is two pages. */
#define VDSO_SIZE_LIMIT ((size_t)64 * 1024)

/** A file and whether some mapping of it may hold code. */
struct file_use {
    struct target_file *file;
    size_t mapping_count;
    bool may_execute;
};

/* ---- which files may be modules ---- */

static int compare_file_use(const void *left, const void *right)
{
    const struct file_use *a = left;
    const struct file_use *b = right;
    return COMPARE(a->file, b->file);
}

/**
 * One entry per mapped file. A file of which no mapping is executable is data
 * (a locale archive, a font) and is not even opened.
 */
static struct file_use *list_file_uses(const struct target *target, size_t *ret_count)
{
    struct file_use *uses = calloc(target->mapping_count + 1, sizeof(*uses));
    if (!uses)
        return NULL;
    size_t count = 0;
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (mapping->file)
            uses[count++] = (struct file_use){mapping->file, 1,
                                              mapping->executable || !mapping->permissions_known};
    }
    qsort(uses, count, sizeof(*uses), compare_file_use);
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        if (distinct && uses[distinct - 1].file == uses[i].file) {
            uses[distinct - 1].mapping_count++;
            uses[distinct - 1].may_execute |= uses[i].may_execute;
        } else {
            uses[distinct++] = uses[i];
        }
    }
    *ret_count = distinct;
    return uses;
}

/* ---- taking ---- */

static void describe_layout(const struct candidate *candidate, struct module_layout *ret)
{
    for (size_t i = 0; i < candidate->segment_count; i++) {
        const struct elf_segment *segment = &candidate->segments[i];
        if (segment->type == PT_LOAD && (segment->flags & PF_X) &&
            ret->code_count < MODULE_CODE_RANGE_LIMIT) {
            ret->code[ret->code_count++] =
                (struct elf_range){segment->address, segment->address + segment->memory_size};
        } else if (segment->type == PT_GNU_EH_FRAME) {
            ret->eh_frame_address = segment->address;
            ret->eh_frame_size = segment->memory_size;
        }
    }
}

static void set_build_id(struct module *module, const struct target_build_id *id)
{
    char hex[TARGET_BUILD_ID_TEXT];
    if (id->size == 0)
        return;
    module->build_id = *id;
    module->build_id_hex = arena_strdup(module->owner->arena, target_build_id_text(id, hex));
}

static struct module *append_module(struct modules *modules, const struct candidate *candidate,
                                    const char *path)
{
    if (!array_reserve(&modules->items, &modules->capacity, modules->count + 1,
                       sizeof(*modules->items)))
        return NULL;
    struct module_layout *layout = arena_alloc(modules->arena, sizeof(*layout));
    struct module *module = arena_alloc(modules->arena, sizeof(*module));
    if (!layout || !module)
        return NULL;
    describe_layout(candidate, layout);
    const char *slash = strrchr(path, '/');
    const struct target_auxv *auxv = &modules->target->auxv;
    modules->items[modules->count++] = module;
    *module = (struct module){
        .path = path,
        .name = slash ? slash + 1 : path,
        .start = candidate->start,
        .end = candidate->end,
        .bias = candidate->bias,
        .owner = modules,
        .layout = layout,
    };
    psc_addr inside = auxv->phdr ? auxv->phdr : auxv->entry;
    module->is_executable_file = inside && inside >= module->start && inside < module->end;
    return module;
}

static enum psc_status append_file(struct modules *modules, const struct candidate *candidate)
{
    struct target_file *file = candidate->mapping->file;
    struct module *module = append_module(modules, candidate, file->path);
    if (!module)
        return PSC_ERR_MEMORY;
    module->file = file;
    if (modules->target->options.kept)
        module->asked = arena_alloc(modules->arena, sizeof(*module->asked));

    uint8_t page[CANDIDATE_PAGE];
    struct target_build_id id;
    size_t got = candidate_read_bytes(modules->target, candidate->mapping, 0, page, sizeof(page));
    target_parse_build_id(page, got, &id);
    set_build_id(module, id.size ? &id : &file->build_id);
    return PSC_OK;
}

static bool is_candidate(const struct modules *modules, const struct target_mapping *mapping)
{
    if (!mapping->file || mapping->offset != 0 || modules->count >= MODULE_LIMIT)
        return false;
    /* A part of the last one: small files have their data segment at offset 0, too. */
    return modules->count == 0 || mapping->start >= modules->items[modules->count - 1]->end;
}

static enum psc_status list_files(struct modules *modules, const struct file_use *uses,
                                  size_t use_count)
{
    struct target *target = modules->target;
    for (size_t i = 0; i < target->mapping_count; i++) {
        struct candidate candidate = {.mapping = &target->mappings[i]};
        if (!is_candidate(modules, candidate.mapping))
            continue;
        const struct file_use *use = SORTED_FIND(uses, file, use_count, candidate.mapping->file);
        if (!use || !use->may_execute)
            continue;
        if (!candidate_find_range(target, &candidate, use->mapping_count > 1))
            continue;
        if (modules->count && candidate.start < modules->items[modules->count - 1]->end)
            candidate.start = modules->items[modules->count - 1]->end;
        enum psc_status status = append_file(modules, &candidate);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}

/* ---- the vdso ---- */

static enum psc_status list_vdso(struct modules *modules)
{
    struct target *target = modules->target;
    psc_addr address = target->auxv.vdso;
    if (!address)
        return PSC_OK;
    const struct target_mapping *mapping = target_find_mapping(target, address);
    size_t size = VDSO_SIZE_LIMIT;
    if (mapping && mapping->end - address < size)
        size = (size_t)(mapping->end - address);
    uint8_t *image = arena_alloc(modules->arena, size);
    if (!image)
        return PSC_ERR_MEMORY;
    size = target_read_some(target, address, image, size);

    struct elf_header header;
    struct candidate candidate = {.start = address, .end = address + size};
    if (!parse_elf_header(image, size, &header) || !elf_is_loadable(&header) ||
        header.segments_offset >= size)
        return PSC_OK;
    candidate.segment_count = parse_elf_segments(
        image + header.segments_offset, elf_count_segments(image, size, &header) * ELF_SEGMENT_SIZE,
        ELF_SEGMENT_LIMIT, candidate.segments);
    for (size_t i = 0; i < candidate.segment_count; i++) {
        const struct elf_segment *segment = &candidate.segments[i];
        if (segment->type == PT_LOAD && segment->offset == 0)
            candidate.bias = address - segment->address;
    }
    struct module *module = append_module(modules, &candidate, "[vdso]");
    if (!module)
        return PSC_ERR_MEMORY;
    module->image = image;
    module->image_size = size;
    struct target_build_id id;
    target_parse_build_id(image, size, &id);
    set_build_id(module, &id);
    return PSC_OK;
}

/* ---- the door ---- */

static int compare_modules(const void *left, const void *right)
{
    const struct module *const *a = left;
    const struct module *const *b = right;
    return COMPARE((*a)->start, (*b)->start);
}

static enum psc_status list_modules(struct modules *modules)
{
    size_t use_count;
    struct file_use *uses PSC_CLEANUP(cleanup_free) = list_file_uses(modules->target, &use_count);
    if (!uses)
        return PSC_ERR_MEMORY;
    enum psc_status status = list_files(modules, uses, use_count);
    if (status == PSC_OK)
        status = list_vdso(modules);
    if (modules->count)
        qsort(modules->items, modules->count, sizeof(*modules->items), compare_modules);
    return status;
}

enum psc_status modules_create(struct target *target, struct modules **ret, struct psc_error *err)
{
    struct modules *modules = calloc(1, sizeof(*modules));
    if (modules) {
        modules->target = target;
        modules->arena = arena_create();
    }
    enum psc_status status = modules && modules->arena ? list_modules(modules) : PSC_ERR_MEMORY;
    if (status != PSC_OK) {
        modules_destroy(modules);
        return psc_fail_status(err, status);
    }
    *ret = modules;
    return PSC_OK;
}

void module_deinit(struct module *module)
{
    symbol_table_destroy(module->symbols);
    module_dwarf_destroy(module->dwarf);
    module_files_destroy(module->files);
    if (module->asked) {
        free(module->asked->lines.items);
        free(module->asked->inlines.items);
        free(module->asked->codes.items);
        text_deinit(&module->asked->sources);
    }
    if (module->code)
        module->destroy_code(module->code);
}

/* The module that `before` had there, if it is the same. */
static struct module *find_same(struct module *const *before, size_t count,
                                const struct module *module)
{
    size_t at = SORTED_COUNT(i, count, before[i]->start < module->start);
    if (at == count)
        return NULL;
    const struct module *found = before[at];
    bool same = found->start == module->start && found->end == module->end &&
                found->bias == module->bias && found->file == module->file &&
                found->build_id.size == module->build_id.size &&
                !memcmp(found->build_id.bytes, module->build_id.bytes, found->build_id.size);
    return same ? before[at] : NULL;
}

enum psc_status modules_take_new(struct modules *modules, bool *ret_gone)
{
    struct module **before = modules->items;
    size_t before_count = modules->count, capacity = modules->capacity, same = 0;
    modules->items = NULL;
    modules->count = modules->capacity = 0;
    enum psc_status status = list_modules(modules);
    for (size_t i = 0; i < modules->count; i++) {
        struct module *known = find_same(before, before_count, modules->items[i]);
        same += known != NULL;
        // What was just listed has opened nothing, and lies in the arena.
        if (known)
            modules->items[i] = known;
    }
    *ret_gone = same < before_count;
    if (status == PSC_OK && !*ret_gone) {
        free(before);
        return PSC_OK;
    }
    free(modules->items);
    modules->items = before;
    modules->count = before_count;
    modules->capacity = capacity;
    return status;
}

void modules_destroy(struct modules *modules)
{
    if (!modules)
        return;
    for (size_t i = 0; i < modules->count; i++)
        module_deinit(modules->items[i]);
    for (size_t i = 0; i < jit_module_count(modules); i++)
        module_deinit(jit_module_at(modules, i));
    jit_destroy(modules->jit);
    jit_names_destroy(modules->named);
    free(modules->items);
    arena_destroy(modules->arena);
    free(modules);
}

size_t modules_count(const struct modules *modules)
{
    return modules->count;
}

struct module *modules_get(struct modules *modules, size_t index)
{
    return modules->items[index];
}

struct target *modules_target(struct modules *modules)
{
    return modules->target;
}

void modules_forget_code(struct modules *modules)
{
    jit_forget(modules);
    jit_names_destroy(modules->named);
    modules->named = NULL;
}

static void check_eh_frame(struct module *module)
{
    struct module_layout *layout = module->layout;
    if (layout->eh_frame_checked)
        return;
    layout->eh_frame_checked = true;

    psc_addr address = module->bias + layout->eh_frame_address;
    uint8_t bytes[ELF_EH_FRAME_HEADER_SIZE];
    if (layout->eh_frame_size == 0 || address < module->start || address >= module->end ||
        layout->eh_frame_size > module->end - address ||
        target_read(module->owner->target, address, bytes, sizeof(bytes)) != PSC_OK)
        return;
    uint64_t count = parse_eh_frame_header(bytes, sizeof(bytes), layout->eh_frame_size);
    if (count == 0)
        return;
    module->eh_frame_hdr = address;
    module->eh_frame_table = address + ELF_EH_FRAME_HEADER_SIZE;
    module->eh_frame_entries = count;
}

struct module *modules_find(struct modules *modules, psc_addr address)
{
    size_t behind = SORTED_COUNT(i, modules->count, modules->items[i]->start <= address);
    if (!behind || address >= modules->items[behind - 1]->end)
        return jit_find(modules, address);
    check_eh_frame(modules->items[behind - 1]);
    return modules->items[behind - 1];
}
