/* What is in the store: listed, opened, removed. */
#include "crash_store_private.h"
#include "messages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CRASHES_LIMIT ((size_t)1000000)
#define RECORD_LIMIT  ((size_t)64 * 1024) /* Bytes. */
#define FILES_LIMIT   100
/* What was begun so long ago will not be finished any more. */
#define LEFT_SECONDS 3600

static int open_crash(const struct crash_store *store, const char *name)
{
    return openat(store->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static DIR *list_folder(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (copy >= 0 && !list)
        close(copy);
    return list;
}

static uint64_t sum_files(int folder)
{
    uint64_t bytes = 0;
    DIR *list = list_folder(folder);
    struct stat status;
    const struct dirent *entry;
    for (int i = 0; list && i < FILES_LIMIT && (entry = readdir(list)); i++)
        if (!fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
            S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_blocks * 512;
    if (list)
        closedir(list);
    return bytes;
}

static void read_record(int folder, struct kept_crash *crash)
{
    char text[RECORD_LIMIT];
    int fd = openat(folder, CRASH_RECORD, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (fd >= 0)
        close(fd);
    crash->record = got > 0 ? malloc((size_t)got) : NULL;
    if (!crash->record)
        return;
    memcpy(crash->record, text, (size_t)got);
    crash->record_size = (size_t)got;
}

static bool read_crash(const struct crash_store *store, const char *name, bool with_record,
                       struct kept_crash *ret)
{
    int folder = open_crash(store, name);
    if (folder < 0)
        return false;
    *ret = (struct kept_crash){.time = crash_id_time(name), .bytes = sum_files(folder)};
    memcpy(ret->id, name, strnlen(name, sizeof(ret->id) - 1));
    if (with_record)
        read_record(folder, ret);
    close(folder);
    return true;
}

static int compare_ids(const void *left, const void *right)
{
    const struct kept_crash *a = left, *b = right;
    return strcmp(a->id, b->id);
}

void crash_store_free_list(struct kept_crash *crashes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(crashes[i].record);
    free(crashes);
}

struct kept_crash *crash_store_list(const struct crash_store *store, bool with_records,
                                    size_t *ret_count)
{
    size_t count = 0, capacity = 64;
    struct kept_crash *crashes = calloc(capacity, sizeof(*crashes));
    DIR *list = list_folder(store->folder);
    const struct dirent *entry;
    while (crashes && list && (entry = readdir(list))) {
        if (!crash_id_is_good(entry->d_name))
            continue;
        if (count == CRASHES_LIMIT) {
            complain("%s: it has more than %zu crashes; the others are left out", store->path,
                     count);
            break;
        }
        if (count == capacity) {
            struct kept_crash *grown = reallocarray(crashes, 2 * capacity, sizeof(*crashes));
            if (!grown) {
                crash_store_free_list(crashes, count);
                crashes = NULL;
                break;
            }
            crashes = grown;
            capacity *= 2;
        }
        count += read_crash(store, entry->d_name, with_records, &crashes[count]);
    }
    if (list)
        closedir(list);
    if (crashes)
        qsort(crashes, count, sizeof(*crashes), compare_ids);
    *ret_count = crashes ? count : 0;
    return crashes;
}

int crash_store_open_file(const struct crash_store *store, const char *id, const char *name)
{
    if (!crash_id_is_good(id)) {
        errno = ENOENT;
        return -1;
    }
    int folder = open_crash(store, id);
    int fd = folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (folder >= 0)
        close(folder);
    return fd;
}

/* ---- removing ---- */

static bool remove_folder(const struct crash_store *store, const char *name)
{
    int folder = open_crash(store, name);
    DIR *list = folder < 0 ? NULL : list_folder(folder);
    const struct dirent *entry;
    for (int i = 0; list && i < FILES_LIMIT && (entry = readdir(list)); i++)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(folder, entry->d_name, 0);
    if (list)
        closedir(list);
    if (folder >= 0)
        close(folder);
    return !unlinkat(store->folder, name, AT_REMOVEDIR);
}

bool crash_store_remove(const struct crash_store *store, const char *id)
{
    return crash_id_is_good(id) && remove_folder(store, id);
}

/* What a handler that was killed has left behind. */
static void remove_left(const struct crash_store *store, time_t now)
{
    struct stat status;
    const struct dirent *entry;
    DIR *list = list_folder(store->folder);
    for (size_t i = 0; list && i < CRASHES_LIMIT && (entry = readdir(list)); i++)
        if (entry->d_name[0] == '.' && crash_id_is_good(entry->d_name + 1) &&
            !fstatat(store->folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
            status.st_mtim.tv_sec < now - LEFT_SECONDS)
            (void)remove_folder(store, entry->d_name);
    if (list)
        closedir(list);
}

size_t crash_store_prune(const struct crash_store *store, const struct crash_limits *limits)
{
    size_t count, removed = 0;
    uint64_t bytes = 0;
    time_t now = time(NULL);
    struct kept_crash *crashes = crash_store_list(store, false, &count);
    for (size_t i = 0; i < count; i++)
        bytes += crashes[i].bytes;
    for (size_t i = 0; i < count; i++) {
        bool old = limits->seconds && crashes[i].time < now - limits->seconds;
        bool many = (limits->bytes && bytes > limits->bytes) ||
                    (limits->count && count - i > limits->count);
        if ((!old && !many) || !crash_store_remove(store, crashes[i].id))
            continue;
        bytes -= crashes[i].bytes;
        removed++;
    }
    remove_left(store, now);
    crash_store_free_list(crashes, count);
    return removed;
}
