/* Looking for the separate debug file, as gdb does. */
#include "files_private.h"

#include <stdio.h>
#include <string.h>

#define PATH_SIZE 4096

/** What a file must be to be accepted. */
struct wanted_file {
    const struct target_build_id *build_id;
    bool has_checksum;
    uint32_t checksum;
    const char *found; /**< Where it was; NULL: nowhere. */
};

/** Equal build-ids, or, when one side has none, the checksum. */
static bool is_wanted(struct Elf *elf, const struct wanted_file *wanted)
{
    struct elf_bytes id;
    if (wanted->build_id->size > 0 && elf_file_build_id(elf, &id))
        return id.size == wanted->build_id->size &&
               memcmp(id.data, wanted->build_id->bytes, id.size) == 0;
    struct elf_bytes file = wanted->has_checksum ? elf_file_bytes(elf) : (struct elf_bytes){0};
    return file.data && elf_checksum(file.data, file.size) == wanted->checksum;
}

static struct Elf *try_local(const struct target *target, const char *path,
                             const struct wanted_file *wanted)
{
    struct Elf *elf = path ? elf_file_open(target_open_mapped(target, path)) : NULL;
    if (elf && !is_wanted(elf, wanted)) {
        elf_file_close(elf);
        elf = NULL;
    }
    return elf;
}

/** `on_target`: the path is one of the target's, to be seen through its sysroot. */
static struct Elf *try_path(struct target *target, bool on_target, struct wanted_file *wanted,
                            const char *format, ...) PSC_PRINTF(4, 5);

static struct Elf *try_path(struct target *target, bool on_target, struct wanted_file *wanted,
                            const char *format, ...)
{
    char path[PATH_SIZE];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(path))
        return NULL;
    const char *local = on_target ? target_find_local_path(target, path) : path;
    struct Elf *elf = try_local(target, local, wanted);
    if (elf)
        wanted->found = arena_strdup(target->arena, local);
    return elf;
}

static struct Elf *find_by_build_id(struct target *target, struct wanted_file *wanted)
{
    char hex[TARGET_BUILD_ID_TEXT];
    if (wanted->build_id->size < 2)
        return NULL;
    target_build_id_text(wanted->build_id, hex);

    const struct target_options *options = &target->options;
    struct Elf *elf = NULL;
    if (options->debug_directory)
        elf = try_path(target, true, wanted, "%s/.build-id/%.2s/%s.debug", options->debug_directory,
                       hex, hex + 2);
    for (size_t i = 0; !elf && i < options->library_directory_count; i++)
        elf = try_path(target, false, wanted, "%s/.build-id/%.2s/%s.debug",
                       options->library_directories[i], hex, hex + 2);
    return elf;
}

/** Beside the file, below it in .debug, and below the debug directory, as gdb looks. */
static struct Elf *find_by_link(struct module *module, const char *link, struct wanted_file *wanted)
{
    struct target *target = module->owner->target;
    const struct target_options *options = &target->options;
    const char *local = module->file->local_path;
    int directory = (int)(module->name - module->path);
    const char *local_name = strrchr(local, '/');
    int local_directory = local_name ? (int)(local_name + 1 - local) : 0;

    struct Elf *elf = try_path(target, false, wanted, "%.*s%s", local_directory, local, link);
    if (!elf)
        elf = try_path(target, false, wanted, "%.*s.debug/%s", local_directory, local, link);
    if (!elf)
        elf = try_path(target, true, wanted, "%.*s%s", directory, module->path, link);
    if (!elf)
        elf = try_path(target, true, wanted, "%.*s.debug/%s", directory, module->path, link);
    if (!elf && options->debug_directory)
        elf = try_path(target, true, wanted, "%s%.*s%s", options->debug_directory, directory,
                       module->path, link);
    for (size_t i = 0; !elf && i < options->library_directory_count; i++)
        elf = try_path(target, false, wanted, "%s/%s", options->library_directories[i], link);
    return elf;
}

/* Of the kernel's vdso nobody has one. */
static struct Elf *fetch(struct module *module, struct wanted_file *wanted, const char *path)
{
    struct target *target = module->owner->target;
    const char *local =
        module->file ? target_fetch(target, PSC_FETCHED_DEBUG_INFO, wanted->build_id, path) : NULL;
    return local ? try_path(target, false, wanted, "%s", local) : NULL;
}

/* Notes it in the list of all files, under the path where any machine looks for it first. */
static void need_file(struct target *target, const struct wanted_file *wanted, const char *path)
{
    char hex[TARGET_BUILD_ID_TEXT] = "", home[TARGET_BUILD_ID_TEXT + 64];
    target_build_id_text(wanted->build_id, hex);
    snprintf(home, sizeof(home), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    const char *found = wanted->found;
    const struct target_needed_file file = {.kind = TARGET_NEED_DEBUG,
                                            .path = wanted->build_id->size < 2 ? path : home,
                                            .local = found,
                                            .build_id = *wanted->build_id};
    if (file.path)
        target_need_file(target, &file);
}

struct Elf *files_find_separate(struct module *module, struct Elf *own)
{
    struct target *target = module->owner->target;
    struct wanted_file wanted = {.build_id = &module->build_id};
    struct Elf *elf = find_by_build_id(target, &wanted);
    const char *link = NULL, *home = NULL;
    if (!elf && own && module->file) {
        wanted.has_checksum = true;
        link = elf_file_debug_link(own, &wanted.checksum);
    }
    /* Only a name: it must not lead out of the directories that are searched. */
    if (link && *link && !strchr(link, '/')) {
        elf = find_by_link(module, link, &wanted);
        home = arena_printf(target->arena, "%.*s%s", (int)(module->name - module->path),
                            module->path, link);
    }
    if (!elf)
        elf = fetch(module, &wanted, module->path);
    if (module->file)
        need_file(target, &wanted, home);
    return elf;
}

struct Elf *module_open_shared(struct module *module, const char *path,
                               const struct target_build_id *build_id)
{
    struct target *target = module->owner->target;
    struct wanted_file wanted = {.build_id = build_id};
    struct Elf *elf = find_by_build_id(target, &wanted);
    if (!elf && path[0] == '/')
        elf = try_path(target, true, &wanted, "%s", path);
    if (!elf)
        elf = fetch(module, &wanted, path);
    need_file(target, &wanted, path);
    return elf;
}
