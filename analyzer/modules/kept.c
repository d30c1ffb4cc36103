/* Files of modules, read for targets that are to come. */
#include "files.h"
#include "modules_private.h"
#include "symbol_table.h"

#include <stdlib.h>

/** Files that are kept. */
#define KEPT_FILE_LIMIT 512
/** Bytes of all of them, and of one: a larger one would be mapped, and may become shorter. */
#define KEPT_SIZE_LIMIT      ((uint64_t)1 << 30)
#define KEPT_FILE_SIZE_LIMIT ((uint64_t)512 << 20)
/** Addresses of one file that are looked up. */
#define KEPT_ADDRESS_LIMIT 65536
/** Inlined calls at an address; what is found of them is not looked at. */
#define INLINE_LIMIT 64

struct kept_module {
    struct target_file *file;
    struct module module;
    struct module_layout layout;
    bool refused; /* Reading it leads to a warning: each target says it itself. */
    size_t addresses;
};

struct kept_modules {
    struct target *target;
    struct modules *modules;
    struct kept_module *items[KEPT_FILE_LIMIT];
    size_t count;
    uint64_t size;
};

struct kept_modules *kept_modules_create(const struct target_options *options)
{
    struct kept_modules *kept = calloc(1, sizeof(*kept));
    struct target_options own = *options;
    own.kept = NULL;
    if (kept)
        kept->target = target_create_empty(&own);
    if (!kept || !kept->target || modules_create(kept->target, &kept->modules, NULL) != PSC_OK) {
        kept_modules_destroy(kept);
        return NULL;
    }
    return kept;
}

void kept_modules_destroy(struct kept_modules *kept)
{
    if (!kept)
        return;
    for (size_t i = 0; i < kept->count; i++) {
        module_deinit(&kept->items[i]->module);
        free(kept->items[i]);
    }
    modules_destroy(kept->modules);
    target_close(kept->target);
    free(kept);
}

/* ---- finding ---- */

static bool is_same_id(const struct target_build_id *a, const struct target_build_id *b)
{
    return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

static struct kept_module *find(const struct kept_modules *kept, const char *path, size_t size,
                                const struct target_build_id *id)
{
    for (size_t i = 0; i < kept->count; i++) {
        const struct target_file *file = kept->items[i]->file;
        if (!strncmp(file->path, path, size) && !file->path[size] &&
            is_same_id(&file->build_id, id))
            return kept->items[i];
    }
    return NULL;
}

bool kept_modules_find(struct kept_modules *kept, struct target_file *file)
{
    struct kept_module *found = find(kept, file->path, strlen(file->path), &file->build_id);
    if (!found || found->refused || found->file->state != TARGET_FILE_FOUND)
        return false;
    file->state = found->file->state;
    file->local_path = found->file->local_path;
    file->image = found->file->image;
    file->spare = found->file->spare;
    file->size = found->file->size;
    file->kept = &found->module;
    return true;
}

/* ---- learning ---- */

static void describe_layout(const struct target_file *file, struct module_layout *ret)
{
    size_t index = 0;
    struct elf_segment segment;
    while (ret->code_count < MODULE_CODE_RANGE_LIMIT &&
           elf_next_segment(file->image, file->size, PT_LOAD, &index, &segment))
        if (segment.flags & PF_X)
            ret->code[ret->code_count++] =
                (struct elf_range){segment.address, segment.address + segment.memory_size};
}

static void make_module(struct kept_modules *kept, struct kept_module *made)
{
    const char *slash = strrchr(made->file->path, '/');
    made->module = (struct module){.path = made->file->path,
                                   .name = slash ? slash + 1 : made->file->path,
                                   .file = made->file,
                                   .build_id = made->file->build_id,
                                   .owner = kept->modules,
                                   .layout = &made->layout};
    describe_layout(made->file, &made->layout);
}

static struct kept_module *add(struct kept_modules *kept, const struct module_lesson *lesson)
{
    struct arena *arena = kept->target->arena;
    const char *path = arena_strndup(arena, lesson->path, lesson->path_size);
    struct kept_module *made = kept->count < KEPT_FILE_LIMIT ? calloc(1, sizeof(*made)) : NULL;
    if (made && path)
        made->file = target_add_file(kept->target, path);
    if (!made || !made->file) {
        free(made);
        return NULL;
    }
    kept->items[kept->count++] = made;
    made->file->build_id = lesson->build_id;
    if (kept->size < KEPT_SIZE_LIMIT)
        target_file_open(kept->target, made->file);
    if (made->file->state != TARGET_FILE_FOUND)
        return made;
    made->refused = made->file->size > KEPT_FILE_SIZE_LIMIT;
    kept->size += made->file->size;
    make_module(kept, made);
    return made;
}

static void look_up_lines(struct module *module, const uint8_t *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const psc_addr address = load_u64(addresses + i * sizeof(uint64_t));
        struct module_line line;
        module_find_lines(module, &address, 1, &line);
    }
}

static void look_up_inlines(struct module *module, const uint8_t *addresses, size_t count)
{
    struct module_inline inlines[INLINE_LIMIT];
    for (size_t i = 0; i < count; i++)
        module_find_inlines(module, load_u64(addresses + i * sizeof(uint64_t)), inlines,
                            INLINE_LIMIT);
}

struct module *kept_modules_learn(struct kept_modules *kept, const struct module_lesson *lesson)
{
    struct kept_module *found = find(kept, lesson->path, lesson->path_size, &lesson->build_id);
    const size_t warnings = kept->target->warnings.count;
    if (!found)
        found = add(kept, lesson);
    if (!found || found->refused || found->file->state != TARGET_FILE_FOUND ||
        found->addresses + lesson->line_count + lesson->inline_count + lesson->code_count >
            KEPT_ADDRESS_LIMIT)
        return NULL;
    struct module *module = &found->module;
    found->addresses += lesson->line_count + lesson->inline_count + lesson->code_count;
    module_open(module);
    if (lesson->separate)
        module_separate_elf(module);
    if (lesson->symbols)
        module_functions(module);
    if (lesson->names)
        module_list_names(module);
    look_up_lines(module, lesson->lines, lesson->line_count);
    look_up_inlines(module, lesson->inlines, lesson->inline_count);
    found->refused = kept->target->warnings.count != warnings;
    return found->refused ? NULL : module;
}
