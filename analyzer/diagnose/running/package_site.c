/* A folder in which packages are installed: the names in it, and small files of theirs. */
#include "running_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of one folder, names that are taken. */
#define FOLDER_LIMIT ((size_t)4096)
/* Of a file; torch's RECORD has 2 MB. */
#define FILE_LIMIT ((size_t)32 << 20)

bool package_name_ends(const char *name, const char *ending)
{
    size_t size = strlen(name), length = strlen(ending);
    return size > length && !strcmp(name + size - length, ending);
}

char *package_site_read(struct package_site *site, const char *folder, const char *name,
                        size_t *ret_size)
{
    char path[PATH_MAX];
    int length =
        snprintf(path, sizeof(path), "%s/%s%s%s", site->here, folder, *name ? "/" : "", name);
    int fd =
        length > 0 && (size_t)length < sizeof(path) ? target_open_local(site->target, path) : -1;
    size_t limit = site->bytes_left < FILE_LIMIT ? site->bytes_left : FILE_LIMIT;
    *ret_size = 0;
    if (fd < 0)
        return NULL;
    char *bytes = file_bytes_read(fd, limit, ret_size);
    close(fd);
    site->bytes_left -= *ret_size;
    return bytes;
}

static bool list_names(struct package_site *site, DIR *folder, bool (*wanted)(const char *name))
{
    const struct dirent *entry;
    while ((entry = readdir(folder)) && site->count < FOLDER_LIMIT) {
        if (!wanted(entry->d_name))
            continue;
        char *name = strdup(entry->d_name);
        if (!name ||
            !array_reserve(&site->names, &site->capacity, site->count + 1, sizeof(*site->names))) {
            free(name);
            return false;
        }
        site->names[site->count++] = name;
    }
    return site->count;
}

bool package_site_list(struct package_site *site, int folder_fd, bool (*wanted)(const char *name))
{
    int fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool found = list_names(site, folder, wanted);
    closedir(folder);
    return found;
}

void package_site_deinit(struct package_site *site)
{
    for (size_t i = 0; i < site->count; i++)
        free(site->names[i]);
    free(site->names);
}

bool package_is_same_file(int folder_fd, const char *inside, const struct target_file *file)
{
    struct stat there, mapped;
    return !fstatat(folder_fd, inside, &there, AT_NO_AUTOMOUNT) &&
           !stat(file->local_path, &mapped) && there.st_dev == mapped.st_dev &&
           there.st_ino == mapped.st_ino;
}
