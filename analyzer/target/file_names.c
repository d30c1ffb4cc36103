/* Paths to files while the mappings of a target are listed. */
#include "target_private.h"

#include <string.h>

struct file_name {
    const char *path; /* The caller's. */
    struct target_file *file;
};

void file_names_init(struct file_names *names)
{
    hash_table_init(&names->table, sizeof(struct file_name));
}

void file_names_deinit(struct file_names *names)
{
    hash_table_deinit(&names->table);
}

static bool has_path(const void *item, const void *key)
{
    return !strcmp(((const struct file_name *)item)->path, key);
}

enum psc_status file_names_find(struct file_names *names, struct target *target, const char *path,
                                struct target_file **ret)
{
    uint64_t hash = hash_text(path, strlen(path));
    struct file_name *name = hash_table_find_by(&names->table, hash, has_path, path);
    if (!name) {
        name = hash_table_add_by(&names->table, hash);
        if (!name)
            return PSC_ERR_MEMORY;
        *name = (struct file_name){path, target_add_file(target, path)};
    }
    *ret = name->file;
    return *ret ? PSC_OK : PSC_ERR_MEMORY;
}
