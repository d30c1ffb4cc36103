/* The archive that is read: an index of its members, whose bytes are in a file without a name. */
#include "bundle_private.h"
#include "member_path.h"
#include "sandbox.h"
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Unpacked bytes in all: more than the libraries of a large program with their debug files. */
#define SIZE_LIMIT ((uint64_t)64 << 30)
/* As many in any case, and for each byte of the archive: files of code become a fifth at best. */
#define SIZE_FREE     ((uint64_t)512 << 20)
#define SIZE_PER_BYTE 40
/* path_resolution(7): the kernel follows so many links in one path. */
#define LINK_LIMIT   40
#define READ_AT_ONCE ((size_t)64 * 1024)

/* Where a member can be opened, once it was asked for. */
struct opened_member {
    char *path;
    int fd;
};

struct bundle {
    struct member_list members; /* Sorted by name. */
    char *text;                 /* Their names and links. */
    struct opened_member *opened;
    int bytes;
};

static bool fail(struct bundle_error *error, const char *path, const char *why)
{
    snprintf(error->message, sizeof(error->message), "%.200s: %.150s", path, why);
    return false;
}

/* In the folder for such files, or in memory; open(2), O_TMPFILE. */
static int open_without_name(void)
{
    const char *folder = getenv("TMPDIR");
    int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("pystack-core bundle", MFD_CLOEXEC);
}

/* They are asked for one by one, and stay open. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* ---- unpacking ---- */

static uint64_t limit_size(int fd)
{
    struct stat status;
    uint64_t size = fstat(fd, &status) ? 0 : (uint64_t)status.st_size;
    return size < (SIZE_LIMIT - SIZE_FREE) / SIZE_PER_BYTE ? SIZE_FREE + size * SIZE_PER_BYTE
                                                           : SIZE_LIMIT;
}

static bool unpack(struct bundle *bundle, struct unpacking *to, struct bundle_error *error)
{
    const struct sandbox_rules nothing = {0};
    struct bundle_error *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return fail(error, to->path, "out of memory");
    to->error = shared;
    bool good = sandbox_run(&nothing, bundle_unpack, to) == 0;
    shared->message[sizeof(shared->message) - 1] = '\0';
    if (!good && shared->message[0])
        *error = *shared;
    else if (!good)
        fail(error, to->path, "it could not be unpacked");
    munmap(shared, sizeof(*shared));
    if (good && !members_read(to->index, &bundle->members, &bundle->text))
        return fail(error, to->path, "out of memory");
    bundle->opened = good ? calloc(bundle->members.count + 1, sizeof(*bundle->opened)) : NULL;
    if (good && !bundle->opened)
        return fail(error, to->path, "out of memory");
    return good;
}

static void close_file(int fd)
{
    if (fd >= 0)
        close(fd);
}

struct bundle *bundle_open(const char *path, struct bundle_error *error)
{
    const char *problem;
    struct bundle *bundle = calloc(1, sizeof(*bundle));
    struct unpacking to = {.path = path, .calls = archive_calls_load(&problem)};
    if (!bundle || !to.calls) {
        fail(error, path, bundle ? problem : "out of memory");
        free(bundle);
        return NULL;
    }
    bundle->bytes = to.bytes = open_without_name();
    to.index = new_file_open_unnamed("pystack-core index");
    to.archive = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    to.size_limit = limit_size(to.archive);
    bool good = to.bytes >= 0 && to.index >= 0 && to.archive >= 0
                    ? unpack(bundle, &to, error)
                    : fail(error, path, strerror(errno));
    close_file(to.archive);
    close_file(to.index);
    if (!good) {
        bundle_close(bundle);
        return NULL;
    }
    allow_many_files();
    return bundle;
}

void bundle_close(struct bundle *bundle)
{
    if (!bundle)
        return;
    for (size_t i = 0; bundle->opened && i < bundle->members.count; i++) {
        if (bundle->opened[i].path)
            close(bundle->opened[i].fd);
        free(bundle->opened[i].path);
    }
    close_file(bundle->bytes);
    free(bundle->opened);
    free(bundle->members.items);
    free(bundle->text);
    free(bundle);
}

/* ---- finding ---- */

/* The last one of that name. */
static const struct member *find_member(const struct bundle *bundle, const char *name)
{
    size_t low = 0, high = bundle->members.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(bundle->members.items[middle].name, name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && !strcmp(bundle->members.items[low - 1].name, name)
               ? &bundle->members.items[low - 1]
               : NULL;
}

/* The first part of a name that is a link: its member, and how long the part is. */
static const struct member *find_link(const struct bundle *bundle, char *name, size_t *ret_size)
{
    for (char *at = strchrnul(name, '/');; at = strchrnul(at + 1, '/')) {
        char behind = *at;
        *at = '\0';
        const struct member *member = find_member(bundle, name);
        *at = behind;
        *ret_size = (size_t)(at - name);
        if (member && member->link)
            return member;
        if (!behind)
            return NULL;
    }
}

/* The name with one link in it replaced; false when it becomes too long, or nothing. */
static bool follow(const struct member *link, const char *name, size_t size, char *ret)
{
    char joined[3 * MEMBER_PATH_SIZE];
    const char *slash = strrchr(link->name, '/');
    int folder = slash && !link->from_root && link->link[0] != '/' ? (int)(slash - link->name) : 0;
    int length =
        snprintf(joined, sizeof(joined), "%.*s/%s%s", folder, link->name, link->link, name + size);
    return length > 0 && (size_t)length < sizeof(joined) && member_path(joined, ret);
}

static const struct member *resolve(const struct bundle *bundle, const char *path)
{
    char name[MEMBER_PATH_SIZE], next[MEMBER_PATH_SIZE];
    size_t size;
    if (!member_path(path, name))
        return NULL;
    for (int i = 0; i < LINK_LIMIT; i++) {
        const struct member *link = find_link(bundle, name, &size);
        if (!link)
            return find_member(bundle, name);
        if (!follow(link, name, size, next))
            return NULL;
        memcpy(name, next, sizeof(name));
    }
    return NULL;
}

static bool copy_out(const struct bundle *bundle, const struct member *member, int fd)
{
    off_t from = (off_t)member->offset;
    uint64_t left = member->size;
    char bytes[READ_AT_ONCE];
    for (uint64_t at = 0; left;) {
        size_t want = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
        ssize_t got = pread(bundle->bytes, bytes, want, from + (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        // The end of the last one may be a hole.
        if (!got)
            return !ftruncate(fd, (off_t)member->size);
        if (!unpacked_write_at(fd, bytes, (size_t)got, at))
            return false;
        at += (uint64_t)got;
        left -= (uint64_t)got;
    }
    return true;
}

const char *bundle_find(void *context, const char *path)
{
    struct bundle *bundle = context;
    const struct member *member = resolve(bundle, path);
    if (!member)
        return NULL;
    struct opened_member *opened = &bundle->opened[member - bundle->members.items];
    if (opened->path)
        return opened->path;
    int fd = open_without_name();
    if (fd < 0 || !copy_out(bundle, member, fd) ||
        asprintf(&opened->path, "/proc/self/fd/%d", fd) < 0) {
        opened->path = NULL;
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    opened->fd = fd;
    return opened->path;
}
