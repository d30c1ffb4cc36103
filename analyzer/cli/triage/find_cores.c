/* Which files are looked at. */
#include "elf.h"
#include "messages.h"
#include "packed_core.h"
#include "triage_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_LIMIT 16u      /* Folders in folders. */
#define CORE_LIMIT  1000000u /* Of a run. */

enum file_kind { FILE_OTHER, FILE_CORE, FILE_PACKED };

/* By how it begins: what else lies beside a core is left alone. */
static enum file_kind find_kind(int folder, const char *name)
{
    uint8_t head[ELF_TYPE_SIZE];
    uint16_t type;
    struct stat status;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (fd < 0)
        return FILE_OTHER;
    ssize_t got = !fstat(fd, &status) && S_ISREG(status.st_mode) ? read(fd, head, sizeof(head)) : 0;
    close(fd);
    if (got > 0 && packed_core_is_packed(head, (uint64_t)got))
        return FILE_PACKED;
    bool is_core = got > 0 && parse_elf_type(head, (size_t)got, &type) && type == ET_CORE;
    return is_core ? FILE_CORE : FILE_OTHER;
}

static bool add_core(struct core_list *list, char *path, bool packed)
{
    if (!path || list->count >= CORE_LIMIT)
        return false;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct found_core *grown = reallocarray(list->items, capacity, sizeof(*grown));
        if (!grown)
            return false;
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = (struct found_core){.path = path, .packed = packed};
    return true;
}

static char *join(const char *folder, const char *name)
{
    char *path;
    size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

/* Folders that are to be looked at, each with its depth. */
struct folder {
    char *path;
    unsigned depth;
};

struct folder_list {
    struct folder *items;
    size_t count;
    size_t capacity;
};

static bool push_folder(struct folder_list *folders, char *path, unsigned depth)
{
    if (folders->count == folders->capacity) {
        size_t capacity = folders->capacity ? 2 * folders->capacity : 16;
        struct folder *grown = reallocarray(folders->items, capacity, sizeof(*grown));
        if (!grown || !path) {
            free(path);
            return false;
        }
        folders->items = grown;
        folders->capacity = capacity;
    }
    if (!path)
        return false;
    folders->items[folders->count++] = (struct folder){path, depth};
    return true;
}

/* Links are not followed: each core is found once, and no circle is walked. */
static bool look_into(const struct folder *folder, struct folder_list *folders,
                      struct core_list *list)
{
    DIR *directory = opendir(folder->path);
    bool good = true;
    if (!directory) {
        complain("%s: %s", folder->path, strerror(errno));
        list->missed++;
        return true;
    }
    for (struct dirent *entry; good && (entry = readdir(directory));) {
        struct stat status;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        if (S_ISDIR(status.st_mode) && folder->depth < DEPTH_LIMIT)
            good = push_folder(folders, join(folder->path, entry->d_name), folder->depth + 1);
        if (!S_ISREG(status.st_mode))
            continue;
        enum file_kind kind = find_kind(dirfd(directory), entry->d_name);
        if (kind == FILE_OTHER)
            list->others++;
        else
            good = add_core(list, join(folder->path, entry->d_name), kind == FILE_PACKED);
    }
    closedir(directory);
    return good;
}

static bool walk(const char *path, struct core_list *list)
{
    struct folder_list folders = {0};
    bool good = push_folder(&folders, strdup(path), 0);
    while (good && folders.count) {
        struct folder folder = folders.items[--folders.count];
        good = look_into(&folder, &folders, list);
        free(folder.path);
    }
    while (folders.count)
        free(folders.items[--folders.count].path);
    free(folders.items);
    return good;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct found_core *)a)->path, ((const struct found_core *)b)->path);
}

static void drop_repeated(struct core_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_paths);
    for (size_t i = 0; i < list->count; i++) {
        if (kept && !strcmp(list->items[kept - 1].path, list->items[i].path)) {
            list->items[kept - 1].packed &= list->items[i].packed; // One that is named is wanted.
            free(list->items[i].path);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

static bool add_named(const struct triage_options *options, const char *path,
                      struct core_list *list)
{
    enum file_kind kind = options->skips_others ? find_kind(AT_FDCWD, path) : FILE_CORE;
    if (kind != FILE_OTHER)
        return add_core(list, strdup(path), kind == FILE_PACKED);
    list->others++;
    return true;
}

/* What is asked of the files themselves, as long as there are rights to. */
static void describe_files(struct core_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct found_core *core = &list->items[i];
        struct stat status;
        if (stat(core->path, &status)) {
            list->several = true;
            continue;
        }
        core->stored = stored_core_read(core->path);
        core->modified = status.st_mtime;
        list->several |= i && (status.st_uid != list->owner || status.st_gid != list->group);
        list->owner = status.st_uid;
        list->group = status.st_gid;
    }
}

bool find_cores(const struct triage_options *options, struct core_list *ret)
{
    bool good = true;
    *ret = (struct core_list){0};
    for (size_t i = 0; good && i < options->word_count; i++) {
        const char *word = options->words[i];
        struct stat status;
        if (!strcmp(word, "-")) {
            good = add_core(ret, strdup(word), false);
        } else if (stat(word, &status)) {
            complain("%s: %s", word, strerror(errno));
            ret->missed++;
        } else if (S_ISDIR(status.st_mode)) {
            good = walk(word, ret);
        } else {
            good = add_named(options, word, ret);
        }
    }
    drop_repeated(ret);
    describe_files(ret);
    return good;
}

void core_list_deinit(struct core_list *list)
{
    while (list->count) {
        free(list->items[--list->count].path);
        free(list->items[list->count].stored);
    }
    free(list->items);
}
