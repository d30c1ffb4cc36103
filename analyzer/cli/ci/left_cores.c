/* The cores that processes leave, wherever the kernel puts them. */
#include "ci_private.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDERS_LIMIT 10000u
#define CORES_LIMIT   10000u
/* A handler behind a pipe goes on when the process is gone. */
#define HANDLER_SECONDS 5.

/* Where handlers keep them: systemd-coredump(8); apport, apport/fileutils.py, get_core_path(). */
static const struct store {
    const char *program, *folder;
    bool is_own; /* A folder for each crash. */
} stores[] = {{"systemd-coredump", "/var/lib/systemd/coredump", false},
              {"apport", "/var/lib/apport/coredump", false},
              {"pystack-core", "/var/lib/pystack-core/crashes", true}};

void left_cores_init(struct left_cores *cores, const char *keep)
{
    *cores = (struct left_cores){.keep = keep};
    cores->pattern_known = core_pattern_read(&cores->pattern);
    clock_gettime(CLOCK_REALTIME_COARSE, &cores->since); // As file systems take the time.
}

bool left_cores_is_new(const struct left_cores *cores, const struct stat *status)
{
    return status->st_mtim.tv_sec > cores->since.tv_sec ||
           (status->st_mtim.tv_sec == cores->since.tv_sec &&
            status->st_mtim.tv_nsec >= cores->since.tv_nsec);
}

static bool is_known(const struct left_cores *cores, const struct stat *status)
{
    struct stat other;
    for (size_t i = 0; i < cores->count; i++)
        if (!stat(cores->paths[i], &other) && other.st_dev == status->st_dev &&
            other.st_ino == status->st_ino)
            return true;
    return false;
}

/* An ELF core, or (in a store) a compressed file. */
static bool is_core(const char *path, bool is_stored)
{
    unsigned char head[18] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof(head));
    if (fd >= 0)
        close(fd);
    return got == (ssize_t)sizeof(head) &&
           (is_stored ||
            (!memcmp(head, ELFMAG, SELFMAG) && (head[16] == ET_CORE || head[17] == ET_CORE)));
}

static bool add(struct left_cores *cores, char *path)
{
    char **grown = path && cores->count < CORES_LIMIT
                       ? reallocarray(cores->paths, cores->count + 1, sizeof(*grown))
                       : NULL;
    if (!grown) {
        free(path);
        return false;
    }
    cores->paths = grown;
    cores->paths[cores->count++] = path;
    return true;
}

static bool take(struct left_cores *cores, const char *path, const struct descendant *process,
                 bool is_stored)
{
    struct stat status;
    if (lstat(path, &status) || !S_ISREG(status.st_mode) || !left_cores_is_new(cores, &status) ||
        is_known(cores, &status) || !is_core(path, is_stored))
        return false;
    // One that nobody has seen die is the last of its name.
    bool has_own_name = is_stored || !process->pid || core_pattern_names_pid(&cores->pattern);
    return add(cores, core_name_own(path, cores->keep, process, has_own_name));
}

/* Several may match where the name has more than the process in it: the new ones are taken. */
static bool take_matches(struct left_cores *cores, const char *name,
                         const struct descendant *process, bool is_stored)
{
    glob_t found = {0};
    bool some = false;
    if (!glob(name, GLOB_NOSORT, NULL, &found))
        for (size_t i = 0; i < found.gl_pathc; i++)
            some |= take(cores, found.gl_pathv[i], process, is_stored);
    globfree(&found);
    return some;
}

/* ---- behind a pipe ---- */

static const struct store *find_store(const struct left_cores *cores)
{
    char *program = core_pattern_program(&cores->pattern);
    const char *slash = program ? strrchr(program, '/') : NULL;
    const struct store *found = NULL;
    for (size_t i = 0; slash && i < sizeof(stores) / sizeof(stores[0]); i++)
        if (!strcmp(slash + 1, stores[i].program) && !access(program, X_OK))
            found = &stores[i];
    free(program);
    return found;
}

static void print_names(const struct store *store, pid_t pid, char *ret, size_t size)
{
    if (store->is_own)
        snprintf(ret, size, "%s/*-*-%d/core", store->folder, pid);
    else
        snprintf(ret, size, "%s/core.*.%d.*", store->folder, pid);
}

static bool find_stored(struct left_cores *cores, const struct descendant *process)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    const struct store *store = find_store(cores);
    char name[256];
    if (!store || access(store->folder, R_OK | X_OK))
        return false;
    print_names(store, process->pid, name, sizeof(name));
    for (double until = descendants_now() + HANDLER_SECONDS; descendants_now() < until;) {
        if (take_matches(cores, name, process, true))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* ---- files ---- */

static void note_folder(struct left_cores *cores, const char *folder)
{
    for (size_t i = cores->folder_count; i-- > 0;)
        if (!strcmp(cores->folders[i], folder))
            return;
    char **grown = cores->folder_count < FOLDERS_LIMIT
                       ? reallocarray(cores->folders, cores->folder_count + 1, sizeof(*grown))
                       : NULL;
    char *copy = grown ? strdup(folder) : NULL;
    if (grown)
        cores->folders = grown;
    if (copy)
        cores->folders[cores->folder_count++] = copy;
}

static bool take_from(struct left_cores *cores, const char *folder,
                      const struct descendant *process)
{
    char *name = core_pattern_glob(&cores->pattern, folder, process->pid);
    bool found = name && take_matches(cores, name, process, false);
    free(name);
    return found;
}

/*
 * Of a process that died before anybody saw where it was: the folders below this one. Without its
 * process in the name it may be that of another one that has just died there, too.
 */
static bool take_from_below(struct left_cores *cores, const struct descendant *process)
{
    const struct descendant unknown = {0};
    const bool named = core_pattern_names_pid(&cores->pattern);
    struct folder_list list = {0};
    char *here = getcwd(NULL, 0);
    bool found = false;
    if (here && folder_list_add(&list, here))
        for (size_t i = 0; i < list.count && !found; i++) {
            found = take_from(cores, list.items[i], named ? process : &unknown);
            if (!found)
                folder_list_add_below(&list, i);
        }
    free(here);
    folder_list_deinit(&list);
    return found;
}

bool left_cores_find(struct left_cores *cores, const struct descendant *process)
{
    const char *folder = process->working_directory;
    if (!cores->pattern_known)
        return false;
    if (folder)
        note_folder(cores, folder);
    if (process->status_known && !WCOREDUMP(process->status))
        return false;
    if (cores->pattern.destination == CORE_PIPE)
        return process->status_known && find_stored(cores, process);
    // Without its process in the name it may be any other's: the status has to say that there is
    // one.
    if (!process->status_known && !core_pattern_names_pid(&cores->pattern))
        return false;
    return (folder && take_from(cores, folder, process)) ||
           (process->status_known && cores->pattern.destination == CORE_RELATIVE &&
            take_from_below(cores, process));
}

void left_cores_sweep(struct left_cores *cores)
{
    // Elsewhere lie those of everybody.
    if (!cores->pattern_known || cores->pattern.destination != CORE_RELATIVE)
        return;
    for (size_t i = 0; i < cores->folder_count; i++) {
        const struct descendant unknown = {0};
        char *name = core_pattern_glob(&cores->pattern, cores->folders[i], 0);
        if (name)
            take_matches(cores, name, &unknown, false);
        free(name);
    }
}

void left_cores_remove(const struct left_cores *cores)
{
    for (size_t i = 0; i < cores->count; i++)
        unlink(cores->paths[i]);
}

void left_cores_deinit(struct left_cores *cores)
{
    for (size_t i = 0; i < cores->count; i++)
        free(cores->paths[i]);
    for (size_t i = 0; i < cores->folder_count; i++)
        free(cores->folders[i]);
    free(cores->paths);
    free(cores->folders);
}
