/* Folders below a folder, nearer ones first. */
#include "ci_private.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDERS_LIMIT 10000u

bool folder_list_add(struct folder_list *list, const char *path)
{
    char **grown = list->count < FOLDERS_LIMIT
                       ? reallocarray(list->items, list->count + 1, sizeof(*grown))
                       : NULL;
    char *copy = grown ? strdup(path) : NULL;
    if (grown)
        list->items = grown;
    if (copy)
        list->items[list->count++] = copy;
    return copy;
}

static bool is_folder(const char *path, const struct dirent *entry)
{
    struct stat status;
    if (entry->d_name[0] == '.')
        return false;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return !lstat(path, &status) && S_ISDIR(status.st_mode);
}

void folder_list_add_below(struct folder_list *list, size_t index)
{
    DIR *folder = opendir(list->items[index]);
    const struct dirent *entry;
    bool room = true;
    while (folder && room && (entry = readdir(folder))) {
        char *path;
        if (asprintf(&path, "%s/%s", list->items[index], entry->d_name) < 0)
            break;
        if (is_folder(path, entry))
            room = folder_list_add(list, path);
        free(path);
    }
    if (folder)
        closedir(folder);
}

void folder_list_deinit(struct folder_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}
