/* The folder: opened, locked, added to. */
#include "crash_store_private.h"

#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OWN_FOLDER (S_IRUSR | S_IWUSR | S_IXUSR)
#define OWN_FILE   (S_IRUSR | S_IWUSR)
#define LOCK       "lock"
#define TRIES      100

/* ---- opening ---- */

/* All that leads to it; what is made of it may be looked through by everybody. */
static bool make_parents(const char *path)
{
    char *copy = strdup(path);
    bool good = copy != NULL;
    for (char *slash = copy ? strchr(copy + 1, '/') : NULL; good && slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        good = !mkdir(copy, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH) || errno == EEXIST;
        *slash = '/';
    }
    free(copy);
    return good;
}

bool crash_store_open(struct crash_store *store, const char *path, bool makes)
{
    struct stat status;
    *store = (struct crash_store){.path = path, .folder = -1, .lock = -1};
    if (makes && make_parents(path))
        (void)mkdir(path, OWN_FOLDER);
    store->folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store->folder < 0 || fstat(store->folder, &status)) {
        const int error = errno;
        complain("%s: the store of crashes cannot be opened: %s%s", path,
                 error == ELOOP || error == ENOTDIR ? "it is a link, or no folder"
                                                    : strerror(error),
                 error == EACCES   ? "; it is root's: run it as root, or name another by --store"
                 : error == ENOENT ? "; pystack-core handle --install makes it, or name another by "
                                     "--store"
                                   : "");
        return false;
    }
    if (status.st_uid == geteuid() && !(status.st_mode & (S_IRWXG | S_IRWXO)))
        return true;
    complain("%s: the store of crashes is %s; chmod 700 and chown it, or name another by --store",
             path, status.st_uid != geteuid() ? "another user's" : "open to others");
    crash_store_close(store);
    return false;
}

void crash_store_close(struct crash_store *store)
{
    crash_store_unlock(store);
    if (store->folder >= 0)
        close(store->folder);
    store->folder = -1;
}

bool crash_store_lock(struct crash_store *store, double seconds)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    if (store->lock < 0)
        store->lock =
            openat(store->folder, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, OWN_FILE);
    for (double waited = 0; store->lock >= 0; waited += 0.01) {
        if (!flock(store->lock, LOCK_EX | LOCK_NB))
            return true;
        if (waited >= seconds)
            break;
        nanosleep(&pause, NULL);
    }
    return false;
}

void crash_store_unlock(struct crash_store *store)
{
    if (store->lock >= 0)
        close(store->lock);
    store->lock = -1;
}

/* ---- adding ---- */

/* DATE-TIME-PID, and a number where that is taken. */
bool crash_id_is_good(const char *name)
{
    const char digits[] = "0123456789";
    size_t length = strlen(name);
    return length < CRASH_ID_SIZE && strspn(name, digits) == 8 && name[8] == '-' &&
           strspn(name + 9, digits) == 6 && name[15] == '-' &&
           strspn(name + CRASH_ID_PID, digits) && name[strspn(name, "0123456789-")] == '\0';
}

/* timegm(3) of its parts, which are digits: DATE-TIME. */
int64_t crash_id_time(const char *name)
{
    int date = 0, clock = 0;
    if (sscanf(name, "%8d-%6d", &date, &clock) != 2)
        return 0;
    struct tm parts = {.tm_year = date / 10000 - 1900,
                       .tm_mon = date / 100 % 100 - 1,
                       .tm_mday = date % 100,
                       .tm_hour = clock / 10000,
                       .tm_min = clock / 100 % 100,
                       .tm_sec = clock % 100};
    return (int64_t)timegm(&parts);
}

/* One that is not whole is hidden. */
static void hidden_name(const char *id, char ret[CRASH_ID_SIZE + 1])
{
    snprintf(ret, CRASH_ID_SIZE + 1, ".%s", id);
}

int crash_store_begin(const struct crash_store *store, struct crash_record *record)
{
    char name[CRASH_ID_SIZE + 1], date[24];
    struct tm parts;
    struct stat status;
    time_t when = (time_t)record->time;
    if (!gmtime_r(&when, &parts) || !strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &parts) ||
        date[15])
        return -1;
    for (int i = 0; i < TRIES; i++) {
        if (i)
            snprintf(record->id, sizeof(record->id), "%s-%d-%d", date, record->pid, i + 1);
        else
            snprintf(record->id, sizeof(record->id), "%s-%d", date, record->pid);
        hidden_name(record->id, name);
        if (!fstatat(store->folder, record->id, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        if (!mkdirat(store->folder, name, OWN_FOLDER))
            return openat(store->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (errno != EEXIST)
            break;
    }
    complain("%s: a folder cannot be made in it: %s", store->path, strerror(errno));
    return -1;
}

int crash_file_make(int folder, const char *name)
{
    return openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, OWN_FILE);
}

bool crash_store_end(const struct crash_store *store, int folder, const struct crash_record *record)
{
    char name[CRASH_ID_SIZE + 1];
    char *text = crash_record_print(record);
    int fd = text ? crash_file_make(folder, CRASH_RECORD) : -1;
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
                write(fd, "\n", 1) == 1;
    free(text);
    if (fd >= 0)
        good = !close(fd) && good;
    hidden_name(record->id, name);
    good = good && !renameat(store->folder, name, store->folder, record->id);
    if (!good)
        complain("%s/%s: cannot be finished: %s", store->path, record->id, strerror(errno));
    return good;
}
