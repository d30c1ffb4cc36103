/* Folders that are looked through are those of options alone. */
#include "file_rules.h"

#include <stdlib.h>

bool file_rules_init(struct file_rules *ret, const struct options *options)
{
    const struct psc_open_options *open = &options->open;
    const size_t most = open->library_directory_count + open->source_directory_count + 1;
    size_t count = 0, file_count = 0;
    *ret = (struct file_rules){.folders = calloc(most, sizeof(*ret->folders))};
    if (options->rules)
        ret->files[file_count++] = options->rules;
    if (options->executable)
        ret->files[file_count++] = options->executable;
    for (size_t i = 0; ret->folders && i < open->library_directory_count; i++)
        ret->folders[count++] = options->library_directories[i];
    for (size_t i = 0; ret->folders && i < open->source_directory_count; i++)
        ret->folders[count++] = options->source_directories[i];
    ret->rules = (struct sandbox_rules){.sysroot = open->sysroot,
                                        .folders = ret->folders,
                                        .folder_count = count,
                                        .files = ret->files,
                                        .file_count = file_count};
    return ret->folders != NULL;
}

void file_rules_deinit(struct file_rules *rules)
{
    free(rules->folders);
}
