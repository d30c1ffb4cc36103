/* Which cores are unpacked, and into what. */
#include "packed_core.h"

#include "archive_calls.h"
#include "messages.h"
#include "sandbox.h"
#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Address space of the child that unpacks: xz allows a dictionary of 1.5 GB (xz-file-format). */
#define UNPACK_MEMORY ((rlim_t)2 << 30)
/* Of what is free where the unpacked core goes, it may take one part in so many. */
#define FREE_SHARE 2u

#define STANDARD_INPUT "standard input"

/* RFC 1952, 2.3.1; .xz file format 2.1.1.1; RFC 8878, 3.1.1 (and 3.1.2, frames to be skipped);
 * LZ4 frame format, and its legacy one; bzip2's blocks. */
static const struct {
    uint8_t size;
    uint8_t begins[6];
} formats[] = {
    {3, {0x1f, 0x8b, 0x08}},       {6, {0xfd, '7', 'z', 'X', 'Z', 0}},
    {4, {0x28, 0xb5, 0x2f, 0xfd}}, {4, {0x04, 0x22, 0x4d, 0x18}},
    {4, {0x02, 0x21, 0x4c, 0x18}}, {3, {'B', 'Z', 'h'}},
};

bool packed_core_is_packed(const unsigned char *bytes, uint64_t size)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (size >= formats[i].size && !memcmp(bytes, formats[i].begins, formats[i].size))
            return true;
    return false;
}

static bool is_gzip(const unsigned char *bytes, size_t size)
{
    return size >= formats[0].size && !memcmp(bytes, formats[0].begins, formats[0].size);
}

/* ---- where it comes from ---- */

/* Pipes that a shell made: "<(...)", "/dev/stdin". Others have no writer yet, maybe never. */
static bool is_open_already(const char *path)
{
    return !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/self/fd/", 14) ||
           !strcmp(path, "/dev/stdin");
}

/* The number that an attribute has as text (systemd-coredump, submit_coredump()); false: none. */
static bool read_attribute(int fd, const char *name, uint32_t *ret)
{
    char text[24], *end;
    ssize_t size = fgetxattr(fd, name, text, sizeof(text) - 1);
    if (size <= 0)
        return false;
    text[size] = '\0';
    unsigned long number = strtoul(text, &end, 10);
    *ret = (uint32_t)number;
    return !*end && number < UINT32_MAX;
}

/* systemd-coredump stores the cores of all as root's files, and says whose they are. */
static void find_owner(int fd, const struct stat *status, struct packed_core *core)
{
    core->user = status->st_uid;
    core->group = status->st_gid;
    core->owner_known = !status->st_uid && read_attribute(fd, "user.coredump.uid", &core->user) &&
                        read_attribute(fd, "user.coredump.gid", &core->group);
}

/* So many bytes tell a format, and of an ELF file its type. */
#define BEGIN_SIZE ((size_t)64)

/* The first bytes, of a pipe too; fewer at its end. */
static bool read_begin(int fd, bool seekable, struct unpack_source *source)
{
    size_t most = seekable ? BEGIN_SIZE : sizeof(source->buffer);
    while (source->size < BEGIN_SIZE) {
        ssize_t got = seekable ? pread(fd, source->buffer + source->size, most - source->size,
                                       (off_t)source->size)
                               : read(fd, source->buffer + source->size, most - source->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (!got)
            break;
        source->size += (size_t)got;
    }
    return true;
}

/* ---- where it goes ---- */

/* A file that never had a name (open(2), O_TMPFILE), or memory; and how much it may take. */
static int make_file(uint64_t *ret_limit)
{
    const char *named = getenv("TMPDIR");
    const char *const folders[] = {named && *named ? named : "/var/tmp", "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        struct statvfs status;
        int fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
            continue;
        if (!fstatvfs(fd, &status)) {
            *ret_limit = (uint64_t)status.f_bavail * status.f_frsize / FREE_SHARE;
            return fd;
        }
        close(fd);
    }
    struct sysinfo memory;
    if (sysinfo(&memory))
        return -1;
    *ret_limit = ((uint64_t)memory.freeram + memory.bufferram) * memory.mem_unit / FREE_SHARE;
    return memfd_create("pystack-core core", MFD_CLOEXEC);
}

/* ---- unpacking ---- */

static int unpack_in_child(void *context)
{
    return unpack(context);
}

/* With little memory, in the child alone: a limit that is lowered can be lifted again. */
static int run_unpack(struct unpack_work *work)
{
    const struct sandbox_rules nothing = {0};
#ifndef __SANITIZE_ADDRESS__ // Whose shadow memory is terabytes of address space.
    struct rlimit before, during;
    bool limited = !getrlimit(RLIMIT_AS, &before);
    during = before;
    if (limited && during.rlim_cur > UNPACK_MEMORY)
        during.rlim_cur = UNPACK_MEMORY;
    limited = limited && !setrlimit(RLIMIT_AS, &during);
    int code = sandbox_run(&nothing, unpack_in_child, work);
    if (limited)
        (void)setrlimit(RLIMIT_AS, &before);
    return code;
#else
    return sandbox_run(&nothing, unpack_in_child, work);
#endif
}

static bool load_library(const char *name, struct unpack_work *work)
{
    const char *problem;
    work->is_gzip = is_gzip(work->source.buffer, work->source.size);
    if (work->is_gzip || !packed_core_is_packed(work->source.buffer, work->source.size))
        return true;
    work->calls = archive_calls_load(&problem);
    if (!work->calls)
        complain("%s: compressed: %s; or decompress it first", name, problem);
    return work->calls != NULL;
}

static bool unpack_to_file(struct packed_core *core, struct unpack_work *work)
{
    struct unpack_result *result =
        mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    work->sink.file = make_file(&work->sink.stored_limit);
    core->file = work->sink.file;
    if (result == MAP_FAILED || core->file < 0) {
        complain("%s: no place to unpack it: %s", core->name, strerror(errno));
        return false;
    }
    work->result = result;
    work->name = core->name;
    bool good = run_unpack(work) == EXIT_COMPLETE;
    result->problem[sizeof(result->problem) - 1] = '\0';
    if (result->problem[0])
        snprintf(core->own_warning, sizeof(core->own_warning), "%s", result->problem);
    core->is_none = good && !result->is_core && !result->problem[0];
    munmap(result, sizeof(*result));
    snprintf(core->own_path, sizeof(core->own_path), "/proc/self/fd/%d", core->file);
    core->path = core->own_path;
    core->warning = core->own_warning[0] ? core->own_warning : NULL;
    if (good && core->warning && !lseek(core->file, 0, SEEK_END)) {
        complain("%s: %s", core->name, core->warning);
        good = false;
    }
    return good;
}

static bool look_at(int fd, bool is_input, struct packed_core *core)
{
    struct stat status;
    if (fstat(fd, &status))
        return true;
    bool is_pipe = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
    if (!is_pipe && !S_ISREG(status.st_mode)) {
        if (is_input)
            complain("%s: neither a file nor a pipe; name a core file", core->name);
        return !is_input; // What else there is, the one who reads a core says.
    }
    struct unpack_work *work = calloc(1, sizeof(*work));
    if (!work) {
        complain("out of memory");
        return false;
    }
    find_owner(fd, &status, core);
    work->source.fd = fd;
    bool good = true;
    if (!read_begin(fd, !is_pipe, &work->source)) {
        complain("%s: %s", core->name, strerror(errno));
        good = false;
    } else if (is_pipe || packed_core_is_packed(work->source.buffer, work->source.size)) {
        core->owner_known = true;
        if (!is_pipe)
            lseek(fd, (off_t)work->source.size, SEEK_SET);
        good = load_library(core->name, work) && unpack_to_file(core, work);
    }
    free(work);
    return good;
}

bool packed_core_open(const char *path, struct packed_core *ret)
{
    bool is_input = !strcmp(path, "-");
    *ret = (struct packed_core){.name = path, .path = path, .file = -1};
    if (is_input) {
        ret->name = STANDARD_INPUT;
        ret->path = "/proc/self/fd/0";
        return look_at(STDIN_FILENO, true, ret);
    }
    struct stat status;
    if (stat(path, &status) || (!S_ISREG(status.st_mode) && !is_open_already(path)))
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return true;
    bool good = look_at(fd, false, ret);
    close(fd);
    return good;
}

void packed_core_close(struct packed_core *core)
{
    if (core->file >= 0)
        close(core->file);
    core->file = -1;
}
