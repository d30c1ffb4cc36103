/* The archive that is read: an index of its members, whose bytes are in a file without a name. */
#include "archive_calls.h"
#include "bundle.h"
#include "member_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* An archive of a whole system has some hundred thousand. */
#define MEMBER_LIMIT ((size_t)2000000)
/* Unpacked bytes in all: more than the libraries of a large program with their debug files. */
#define SIZE_LIMIT ((uint64_t)64 << 30)
/* As many in any case, and for each byte of the archive: files of code become a fifth at best. */
#define SIZE_FREE     ((uint64_t)512 << 20)
#define SIZE_PER_BYTE 40
/* Bytes of all names and links. */
#define NAMES_LIMIT ((size_t)64 << 20)
/* path_resolution(7): the kernel follows so many links in one path. */
#define LINK_LIMIT   40
#define READ_AT_ONCE ((size_t)64 * 1024)

struct member {
    char *name;      /* As member_path() makes it. */
    char *link;      /* What a link says; NULL: a file. */
    bool from_root;  /* The link's text begins at the root: a hard link. */
    uint64_t offset; /* In the unpacked bytes. */
    uint64_t size;
    size_t number; /* The last of a name counts. */
    char *opened;  /* Where it can be opened, once it was asked for. */
    int fd;
};

struct bundle {
    struct member *members; /* Sorted by name. */
    size_t count;
    size_t capacity;
    int bytes;
    uint64_t size;
    uint64_t size_limit;
    size_t names; /* Bytes of all names and links. */
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

/* ---- reading ---- */

struct reader {
    const struct archive_calls *calls;
    struct archive *archive;
    struct bundle *bundle;
    const char *path;
    struct bundle_error *error;
};

/* The bytes of a member go behind those of the ones before it; holes stay holes. */
static bool unpack(struct reader *reader, struct member *member)
{
    struct bundle *bundle = reader->bundle;
    const void *block;
    size_t size;
    la_int64_t offset;
    for (;;) {
        int result =
            reader->calls->archive_read_data_block(reader->archive, &block, &size, &offset);
        if (result == ARCHIVE_EOF)
            break;
        if (result == ARCHIVE_RETRY)
            continue;
        if (result < ARCHIVE_WARN)
            return fail(reader->error, reader->path, "the archive is damaged or cut off");
        uint64_t end = (uint64_t)offset + size;
        if (offset < 0 || end > bundle->size_limit - bundle->size)
            return fail(reader->error, reader->path,
                        "too large when it is unpacked: more than 64 GB, or than 512 MB and 40 "
                        "times the archive");
        if (!unpacked_write_at(bundle->bytes, block, size, bundle->size + (uint64_t)offset))
            return fail(reader->error, reader->path,
                        errno == ENOSPC
                            ? "no space for what is in it; TMPDIR can name a larger place"
                            : strerror(errno));
        if (end > member->size)
            member->size = end;
    }
    member->offset = bundle->size;
    bundle->size += member->size;
    return true;
}

/* malloc'd; NULL, and said so. */
static char *keep_name(struct reader *reader, const char *name)
{
    struct bundle *bundle = reader->bundle;
    size_t size = strlen(name) + 1;
    char *copy = size <= NAMES_LIMIT - bundle->names ? strdup(name) : NULL;
    if (copy)
        bundle->names += size;
    else
        fail(reader->error, reader->path,
             size > NAMES_LIMIT - bundle->names ? "too many names in it" : "out of memory");
    return copy;
}

static struct member *add_member(struct reader *reader, const char *name)
{
    struct bundle *bundle = reader->bundle;
    if (bundle->count == bundle->capacity) {
        size_t capacity = bundle->capacity ? bundle->capacity * 2 : 256;
        struct member *grown = reallocarray(bundle->members, capacity, sizeof(*grown));
        if (!grown || bundle->count >= MEMBER_LIMIT) {
            fail(reader->error, reader->path, grown ? "too many files in it" : "out of memory");
            if (grown)
                bundle->members = grown;
            return NULL;
        }
        bundle->members = grown;
        bundle->capacity = capacity;
    }
    struct member *member = &bundle->members[bundle->count];
    *member = (struct member){.name = keep_name(reader, name), .number = bundle->count, .fd = -1};
    if (!member->name)
        return NULL;
    bundle->count++;
    return member;
}

/* Folders, devices and the like are passed over. */
static bool take_member(struct reader *reader, struct archive_entry *entry)
{
    char name[MEMBER_PATH_SIZE];
    const char *path = reader->calls->archive_entry_pathname(entry);
    const char *hard = reader->calls->archive_entry_hardlink(entry);
    const char *soft = reader->calls->archive_entry_symlink(entry);
    bool is_file = reader->calls->archive_entry_filetype(entry) == AE_IFREG;
    if (!path || (!is_file && !hard && !soft) || !member_path(path, name))
        return true;
    struct member *member = add_member(reader, name);
    if (!member)
        return false;
    if (!hard && !soft)
        return unpack(reader, member);
    member->link = keep_name(reader, hard ? hard : soft);
    member->from_root = hard != NULL;
    return member->link != NULL;
}

static bool read_members(struct reader *reader)
{
    struct archive_entry *entry;
    for (;;) {
        int result = reader->calls->archive_read_next_header(reader->archive, &entry);
        if (result == ARCHIVE_EOF)
            return true;
        if (result == ARCHIVE_RETRY)
            continue;
        if (result < ARCHIVE_WARN)
            return fail(reader->error, reader->path,
                        reader->bundle->count ? "the archive is damaged or cut off"
                                              : "neither a directory nor an archive (tar)");
        if (!take_member(reader, entry))
            return false;
    }
}

static int compare_members(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : left->number < right->number ? -1 : left->number > right->number;
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

static bool read_archive(struct reader *reader, int fd)
{
    const struct archive_calls *calls = reader->calls;
    reader->archive = calls->archive_read_new();
    if (!reader->archive)
        return fail(reader->error, reader->path, "out of memory");
    // A filter that this libarchive lacks is ARCHIVE_WARN: it runs a program, which nobody asked
    // for.
    calls->archive_read_support_format_tar(reader->archive);
    calls->archive_read_support_filter_gzip(reader->archive);
    calls->archive_read_support_filter_zstd(reader->archive);
    calls->archive_read_support_filter_xz(reader->archive);
    calls->archive_read_support_filter_bzip2(reader->archive);
    calls->archive_read_support_filter_lz4(reader->archive);
    bool good = calls->archive_read_open_fd(reader->archive, fd, READ_AT_ONCE) == ARCHIVE_OK
                    ? read_members(reader)
                    : fail(reader->error, reader->path, "neither a directory nor an archive (tar)");
    calls->archive_read_free(reader->archive);
    return good;
}

static void limit_size(struct bundle *bundle, int fd)
{
    struct stat status;
    uint64_t size = fstat(fd, &status) ? 0 : (uint64_t)status.st_size;
    bundle->size_limit = SIZE_LIMIT;
    if (size < (SIZE_LIMIT - SIZE_FREE) / SIZE_PER_BYTE)
        bundle->size_limit = SIZE_FREE + size * SIZE_PER_BYTE;
}

struct bundle *bundle_open(const char *path, struct bundle_error *error)
{
    const char *problem;
    struct bundle *bundle = calloc(1, sizeof(*bundle));
    struct reader reader = {.bundle = bundle, .path = path, .error = error};
    reader.calls = archive_calls_load(&problem);
    if (!bundle || !reader.calls) {
        fail(error, path, bundle ? problem : "out of memory");
        free(bundle);
        return NULL;
    }
    bundle->bytes = open_without_name();
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        limit_size(bundle, fd);
    bool good = fd >= 0 && bundle->bytes >= 0 ? read_archive(&reader, fd)
                                              : fail(error, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!good) {
        bundle_close(bundle);
        return NULL;
    }
    if (bundle->count)
        qsort(bundle->members, bundle->count, sizeof(*bundle->members), compare_members);
    allow_many_files();
    return bundle;
}

void bundle_close(struct bundle *bundle)
{
    if (!bundle)
        return;
    for (size_t i = 0; i < bundle->count; i++) {
        if (bundle->members[i].fd >= 0)
            close(bundle->members[i].fd);
        free(bundle->members[i].name);
        free(bundle->members[i].link);
        free(bundle->members[i].opened);
    }
    if (bundle->bytes >= 0)
        close(bundle->bytes);
    free(bundle->members);
    free(bundle);
}

/* ---- finding ---- */

/* The last one of that name. */
static struct member *find_member(const struct bundle *bundle, const char *name)
{
    size_t low = 0, high = bundle->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(bundle->members[middle].name, name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && !strcmp(bundle->members[low - 1].name, name) ? &bundle->members[low - 1] : NULL;
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

static struct member *resolve(const struct bundle *bundle, const char *path)
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
    struct member *member = resolve(bundle, path);
    if (!member || member->opened)
        return member ? member->opened : NULL;
    int fd = open_without_name();
    if (fd < 0 || !copy_out(bundle, member, fd) ||
        asprintf(&member->opened, "/proc/self/fd/%d", fd) < 0) {
        member->opened = NULL;
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    member->fd = fd;
    return member->opened;
}
