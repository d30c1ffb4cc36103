/*
 * The parent's end: which files a parser may have. Code it may have all, for a core names whatever
 * was mapped; text only that the owner of the process may read himself, and that is either readable
 * for all or source by its name or begin. So neither /etc/shadow nor a private key is one, nor
 * another's core file, nor anything of /proc.
 */
#include "broker.h"
#include "elf.h"
#include "foreign_file.h"
#include "messages.h"
#include "passed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

struct broker {
    int socket;
    pid_t parser;
    const struct sandbox_rules *rules;
};

/* A file or folder that was opened, and how. */
struct opened {
    int fd;
    int root; /* What the path begins at; -1: this machine. */
    const char *path;
    bool in_root; /* A root whose folders have other names here. */
};

/* ---- what a file is ---- */

/* What the kernel makes up: /proc/kcore is an ELF file, too. */
static bool is_made_up(int fd)
{
    static const unsigned long kinds[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC,        DEBUGFS_MAGIC,
                                          TRACEFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                          SECURITYFS_MAGIC, PSTOREFS_MAGIC,     BPF_FS_MAGIC};
    struct statfs status;
    if (fstatfs(fd, &status))
        return true;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if ((unsigned long)status.f_type == kinds[i])
            return true;
    return false;
}

/* Programs, libraries, debug information; a core file is somebody's memory. */
static bool is_code(int fd)
{
    uint8_t bytes[ELF_TYPE_SIZE];
    uint16_t type;
    if (pread(fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes) ||
        !parse_elf_type(bytes, sizeof(bytes), &type))
        return false;
    return type == ET_REL || type == ET_EXEC || type == ET_DYN;
}

static bool is_source_name(const char *name)
{
    static const char *const endings[] = {
        "py",  "pyw", "pyi", "pyx", "pxd", "pxi", "px",  "tp",   "c",   "cc",   "cpp", "cxx",
        "c++", "C",   "h",   "hh",  "hpp", "hxx", "h++", "inc",  "inl", "ipp",  "tcc", "cu",
        "cuh", "rs",  "go",  "f",   "f90", "f95", "for", "F90",  "s",   "S",    "asm", "m",
        "mm",  "y",   "l",   "zig", "nim", "pas", "d",   "java", "kt",  "swift"};
    const char *dot = strrchr(name, '.');
    if (!strncmp(name, "cython_debug_info_", strlen("cython_debug_info_")))
        return true;
    for (size_t i = 0; dot && i < sizeof(endings) / sizeof(*endings); i++)
        if (!strcmp(dot + 1, endings[i]))
            return true;
    return !strncmp(name, "perf-", 5) && dot && !strcmp(dot, ".map");
}

/* That which the file has itself, whatever link led to it. */
static bool get_name(const struct opened *file, char path[PATH_MAX])
{
    return foreign_file_get_name(file->fd, file->root, file->path, path);
}

/* What a package says of itself, beside it: RECORD, METADATA; a file *.egg-info; conda's records.
 */
static bool is_of_package(const char *path)
{
    static const char egg[] = ".egg-info", record[] = ".json";
    size_t size = strlen(path);
    return strstr(path, ".dist-info/") || strstr(path, ".egg-info/") ||
           strstr(path, ".egg/EGG-INFO/") ||
           (size > sizeof(egg) && !strcmp(path + size - (sizeof(egg) - 1), egg)) ||
           (strstr(path, "/conda-meta/") && !strcmp(path + size - (sizeof(record) - 1), record));
}

/* By its name; or a script. */
static bool is_source(const struct opened *file)
{
    char path[PATH_MAX], begin[2];
    if (!get_name(file, path))
        return false;
    const char *slash = strrchr(path, '/');
    return (slash && is_source_name(slash + 1)) || is_of_package(path) ||
           (pread(file->fd, begin, sizeof(begin), 0) == (ssize_t)sizeof(begin) &&
            !memcmp(begin, "#!", sizeof(begin)));
}

/* By the rights of the file, and of the folders on the way where they are of this machine. */
static bool may_read(const struct opened *file, uid_t user, gid_t group)
{
    char name[PATH_MAX];
    return foreign_file_user_may_read(file->fd, user, group) &&
           (file->in_root ||
            (get_name(file, name) && foreign_file_user_may_reach(name, user, group)));
}

static bool may_all_read(const struct opened *file)
{
    const uid_t nobody = (uid_t)-1;
    return may_read(file, nobody, nobody);
}

static bool may_owner_read(const struct sandbox_rules *rules, const struct opened *file)
{
    size_t count;
    const struct sandbox_owner *owners = broker_owners(rules, &count);
    for (size_t i = 0; i < count; i++) {
        const struct sandbox_owner *owner = &owners[i];
        if (!owner->user || owner->user == geteuid() || may_read(file, owner->user, owner->group))
            return true;
    }
    return false;
}

/* Whether a path without links is that of a folder, or below it. */
static bool is_below(const char *path, const char *folder)
{
    char named[PATH_MAX];
    if (!folder || !realpath(folder, named))
        return false;
    const size_t size = strlen(named);
    return !strncmp(path, named, size) && (!path[size] || path[size] == '/' || size == 1);
}

static bool is_own_source(const struct sandbox_rules *rules, const struct opened *file)
{
    char path[PATH_MAX];
    return rules->sources && get_name(file, path) && is_below(path, rules->sources);
}

/* Whether nobody else but root could have made it what it is. */
static bool is_own(int fd)
{
    struct stat status;
    return !fstat(fd, &status) && (!status.st_uid || status.st_uid == geteuid()) &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

static int refuse(const struct opened *file)
{
    close(file->fd);
    errno = EACCES;
    return -1;
}

static int check_file(const struct sandbox_rules *rules, const struct opened *file)
{
    if (file->fd < 0)
        return -1;
    if (!is_made_up(file->fd) && (!rules->own_only || is_own(file->fd)) &&
        (is_code(file->fd) || ((may_owner_read(rules, file) || is_own_source(rules, file)) &&
                               (may_all_read(file) || is_source(file)))))
        return file->fd;
    return refuse(file);
}

/* ---- the questions ---- */

/* What the kernel says of the parser itself: it tells whether a thread of it has a processor. */
static int open_own_state(const struct broker *broker, const char *path)
{
    static const char task[] = "/proc/self/task/", self[] = "/proc/thread-self/schedstat";
    char own[96];
    if (!strcmp(path, "/proc/self/statm")) {
        snprintf(own, sizeof(own), "/proc/%d/statm", (int)broker->parser);
    } else if (!strcmp(path, "/proc/self/maps") || !strcmp(path, "/proc/self/pagemap")) {
        snprintf(own, sizeof(own), "/proc/%d/%s", (int)broker->parser, strrchr(path, '/') + 1);
    } else if (!strcmp(path, self)) {
        snprintf(own, sizeof(own), "/proc/%d/schedstat", (int)broker->parser);
    } else {
        const char *number = path + sizeof(task) - 1;
        size_t digits = strncmp(path, task, sizeof(task) - 1) ? 0 : strspn(number, "0123456789");
        if (!digits || digits > 9 ||
            (strcmp(number + digits, "/stat") != 0 && strcmp(number + digits, "/schedstat") != 0))
            return -1;
        snprintf(own, sizeof(own), "/proc/%d/task/%s", (int)broker->parser, number);
    }
    return open(own, O_RDONLY | O_CLOEXEC);
}

/* Whether a folder is one that the user named or below it; links are followed by now. */
static bool is_named_folder(const struct sandbox_rules *rules, const struct opened *folder)
{
    char path[PATH_MAX];
    for (size_t i = 0; get_name(folder, path) && i < rules->folder_count; i++)
        if (is_below(path, rules->folders[i]))
            return true;
    return false;
}

/* Whose names are read: packages are told by what lies beside them. */
static int check_folder(const struct sandbox_rules *rules, const struct opened *folder)
{
    if (folder->fd < 0) {
        errno = EACCES;
        return -1;
    }
    if (!is_made_up(folder->fd) &&
        (is_named_folder(rules, folder) || may_owner_read(rules, folder)))
        return folder->fd;
    return refuse(folder);
}

/* A file, or, by that name, a folder. */
static int open_checked(const struct sandbox_rules *rules, int root, const char *path, bool in_root)
{
    struct opened file = {foreign_file_open_at(root, path), root, path, in_root};
    if (file.fd >= 0 || errno != EINVAL)
        return check_file(rules, &file);
    file.fd = foreign_folder_open_at(root, path);
    return check_folder(rules, &file);
}

static int open_folder(const struct sandbox_rules *rules, const char *path)
{
    bool is_root = rules->sysroot && !strcmp(path, rules->sysroot);
    int fd = broker_open_process_root(rules, path);
    if (fd >= 0)
        return fd;
    fd = open(path, (is_root ? O_PATH : O_RDONLY | O_NONBLOCK) | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || is_root)
        return fd;
    const struct opened folder = {fd, -1, path, false};
    return check_folder(rules, &folder);
}

static bool is_same(const struct stat *status, int folder, const char *path)
{
    struct stat other;
    return !fstatat(folder, path, &other, 0) && other.st_dev == status->st_dev &&
           other.st_ino == status->st_ino;
}

/* A root whose folders have other names here, so that they are not looked at by their names. */
static bool is_other_root(const struct sandbox_rules *rules, int root)
{
    struct stat status;
    if (fstat(root, &status) || is_same(&status, AT_FDCWD, "/"))
        return false;
    bool known = rules->sysroot && is_same(&status, AT_FDCWD, rules->sysroot);
    size_t count;
    const struct sandbox_owner *owners = broker_owners(rules, &count);
    for (size_t i = 0; i < count && !known; i++) {
        const struct sandbox_owner *owner = &owners[i];
        const struct sandbox_root *root_then = rules->traced ? &rules->traced->roots[i] : NULL;
        known = (owner->pid > 0 && is_same(&status, owner->folder, "root")) ||
                (root_then && root_then->inode && root_then->inode == status.st_ino &&
                 root_then->device == status.st_dev);
    }
    return known;
}

static int open_in_root(const struct sandbox_rules *rules, int root, const char *path)
{
    if (root < 0) {
        errno = EBADF;
        return -1;
    }
    return open_checked(rules, root, path, is_other_root(rules, root));
}

/* As he may: a FIFO, too, but not written. */
static int open_named(const struct sandbox_rules *rules, const char *path)
{
    for (size_t i = 0; i < rules->file_count; i++)
        if (!strcmp(rules->files[i], path))
            return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return -1;
}

/* Of /proc alone. */
static int open_below(const struct broker *broker, const char *path, int folder, bool is_folder)
{
    char whole[PATH_MAX];
    return broker_name_process_path(broker->rules, folder, path, whole)
               ? broker_open_process_file(broker->rules, whole, is_folder)
               : -1;
}

static int open_wish(const struct broker *broker, const struct broker_question *question, int root)
{
    int fd = -1;
    if (root >= 0 && (question->wish == BROKER_FILE || question->wish == BROKER_FOLDER))
        return open_below(broker, question->path, root, question->wish == BROKER_FOLDER);
    switch ((enum broker_wish)question->wish) {
    case BROKER_FILE:
        fd = open_own_state(broker, question->path);
        if (fd < 0)
            fd = open_named(broker->rules, question->path);
        if (fd < 0)
            fd = broker_open_process_file(broker->rules, question->path, false);
        return fd >= 0 ? fd : open_checked(broker->rules, -1, question->path, false);
    case BROKER_IN_ROOT:
        return open_in_root(broker->rules, root, question->path);
    case BROKER_FOLDER:
        fd = broker_open_process_file(broker->rules, question->path, true);
        return fd >= 0 ? fd : open_folder(broker->rules, question->path);
    case BROKER_STATUS:
        return openat(root < 0 ? AT_FDCWD : root, question->path, O_PATH | O_CLOEXEC);
    case BROKER_STATUS_OF_LINK:
        return openat(root < 0 ? AT_FDCWD : root, question->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    case BROKER_SOCKETS:
        if (broker_has_process(broker->rules))
            return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
        break;
    case BROKER_LINKS:
        return broker_list_process_links(broker->rules, question->path);
    case BROKER_LINK:  // Its answer is text.
    case BROKER_ORDER: // It has none.
        break;
    }
    errno = EINVAL;
    return -1;
}

/* ---- messages ---- */

static ssize_t receive(int socket, struct broker_question *question, int *ret_root)
{
    ssize_t got = passed_files_receive(socket, question, sizeof(*question) - 1, ret_root, 1);
    if (got > 0)
        ((char *)question)[got] = '\0';
    return got;
}

static bool reply(int socket, int fd, struct broker_answer *answer, size_t text_size)
{
    const struct iovec part = {answer, offsetof(struct broker_answer, text) + text_size};
    return passed_files_send(socket, &part, 1, &fd, fd >= 0);
}

/* Until the parser asks for something, or has ended. */
static void wait_for_question(int socket)
{
    struct pollfd ready = {.fd = socket, .events = POLLIN};
    int wait;
    while ((wait = progress_wait()) >= 0 && poll(&ready, 1, wait) <= 0)
        progress_tell();
}

static ssize_t read_link(const struct broker *broker, const char *path, int root,
                         struct broker_answer *ret)
{
    char whole[PATH_MAX];
    if (root >= 0 && !broker_name_process_path(broker->rules, root, path, whole))
        return -1;
    return broker_read_process_link(broker->rules, root >= 0 ? whole : path, ret->text,
                                    sizeof(ret->text));
}

/* 0 or errno. */
static int serve_order(const struct broker *broker, const struct broker_question *question,
                       size_t size)
{
    struct broker_order order;
    const struct sandbox_traced *traced = broker->rules->traced;
    if (!traced || size != sizeof(order))
        return EINVAL;
    memcpy(&order, question, sizeof(order));
    for (size_t i = 0; order.pid > 0 && i < traced->count; i++)
        if (traced->owners[i].pid == order.pid)
            return traced->serve(traced->context, &traced->owners[i], order.what);
    return EACCES;
}

void broker_serve(int socket, pid_t parser, const struct sandbox_rules *rules)
{
    const struct broker broker = {socket, parser, rules};
    static struct broker_question question;
    static struct broker_answer answer;
    bool goes_on = true;
    while (goes_on) {
        int root, fd = -1;
        wait_for_question(socket);
        ssize_t got = receive(socket, &question, &root), text = -1;
        if (got <= 0)
            break;
        errno = EINVAL;
        bool good = (size_t)got > offsetof(struct broker_question, path);
        if (good && question.wish == BROKER_ORDER)
            errno = serve_order(&broker, &question, (size_t)got);
        else if (good && question.wish == BROKER_LINK)
            text = read_link(&broker, question.path, root, &answer);
        else if (good)
            fd = open_wish(&broker, &question, root);
        answer.error = fd < 0 && text < 0 ? errno : 0;
        goes_on = reply(socket, fd, &answer, text > 0 ? (size_t)text : 0);
        if (fd >= 0)
            close(fd);
        if (root >= 0)
            close(root);
    }
}
