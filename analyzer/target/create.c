/* What all kinds of targets have in common is made and freed here. */
#include "reads.h"
#include "target_private.h"

#include <stdlib.h>

static bool copy_strings(struct arena *arena, const char *const *from, size_t count,
                         const char *const **ret)
{
    const char **copies = arena_array(arena, count + 1, sizeof(*copies));
    for (size_t i = 0; copies && i < count; i++)
        copies[i] = arena_strdup(arena, from[i]);
    *ret = copies;
    return copies != NULL;
}

static bool copy_options(struct target *target, const struct target_options *options,
                         const char *executable)
{
    struct target_options *copy = &target->options;
    struct arena *arena = target->arena;
    copy->debug_directory = "/usr/lib/debug";
    if (executable)
        target->executable_here = arena_strdup(arena, executable);
    if (options) {
        if (options->sysroot)
            copy->sysroot = arena_strdup(arena, options->sysroot);
        if (options->debug_directory)
            copy->debug_directory = arena_strdup(arena, options->debug_directory);
        copy->library_directory_count = options->library_directory_count;
        copy->source_map_count = options->source_map_count;
        copy->source_directory_count = options->source_directory_count;
        copy->find_file = options->find_file;
        copy->find_file_context = options->find_file_context;
        copy->fetch_file = options->fetch_file;
        copy->fetch_context = options->fetch_context;
        copy->interrupted = options->interrupted;
        copy->interrupt_context = options->interrupt_context;
        copy->core = options->core;
        if (copy->core.name)
            copy->core.name = arena_strdup(arena, options->core.name);
        if (copy->core.warning)
            copy->core.warning = arena_strdup(arena, options->core.warning);
        copy->maps_files = options->maps_files;
        copy->maps_modules = options->maps_modules;
        copy->kept = options->kept;
        copy->find_kept = options->find_kept;
        copy->notes_reads = options->notes_reads;
        copy->leaves_text = options->leaves_text;
        copy->held_pid = options->held_pid;
        copy->held_since = options->held_since;
        copy->agent = options->agent;
        if (!copy_strings(arena, options->library_directories, options->library_directory_count,
                          &copy->library_directories) ||
            !copy_strings(arena, options->source_maps, options->source_map_count,
                          &copy->source_maps) ||
            !copy_strings(arena, options->source_directories, options->source_directory_count,
                          &copy->source_directories))
            return false;
    }
    return !arena_is_exhausted(arena);
}

struct target *target_create(enum target_kind kind, const struct target_ops *ops,
                             const char *executable, const struct target_options *options)
{
    struct target *target = calloc(1, sizeof(*target));
    struct arena *arena = arena_create();
    if (!target || !arena) {
        free(target);
        arena_destroy(arena);
        return NULL;
    }
    *target =
        (struct target){.ops = ops, .kind = kind, .machine = target_machine_here(), .arena = arena};
    warnings_init(&target->warnings, arena);
    bool good = copy_options(target, options, executable);
    if (good && target->options.notes_reads) {
        target->reads = reads_create();
        good = target->reads != NULL;
        if (good)
            target->reads->leaves_text = target->options.leaves_text;
    }
    if (!good) {
        target_close(target);
        return NULL;
    }
    return target;
}

static const uint8_t *find_nothing(struct target *target, psc_addr address, size_t *ret_size)
{
    (void)target;
    (void)address;
    *ret_size = 0;
    return NULL;
}

struct target *target_create_empty(const struct target_options *options)
{
    static const struct target_ops nothing = {.piece = find_nothing};
    return target_create(TARGET_CORE, &nothing, NULL, options);
}

void target_close(struct target *target)
{
    if (!target)
        return;
    if (target->ops && target->ops->close)
        target->ops->close(target);
    target_files_close(target);
    file_index_destroy(target->sources);
    file_index_destroy(target->libraries);
    target_needed_close(target);
    free(target->files);
    free(target->mappings);
    free(target->chain);
    free(target->threads);
    target_end_reads(target);
    reads_destroy(target->reads);
    reads_destroy(target->noted);
    warnings_deinit(&target->warnings);
    arena_destroy(target->arena);
    free(target);
}
