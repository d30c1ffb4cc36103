/* The archive that is written. */
#include "archive_calls.h"
#include "bundle.h"
#include "member_path.h"
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIED_AT_ONCE ((size_t)256 * 1024)

enum filter { FILTER_NONE, FILTER_GZIP, FILTER_ZSTD };

struct ending {
    const char *text;
    enum filter filter;
};

static const struct ending endings[] = {
    {".tar", FILTER_NONE},     {".tar.gz", FILTER_GZIP}, {".tgz", FILTER_GZIP},
    {".tar.zst", FILTER_ZSTD}, {".tzst", FILTER_ZSTD},   {NULL, FILTER_NONE},
};

struct writer {
    const struct archive_calls *calls;
    struct archive *archive;
    char **names; /* Of the members that are there, and how many. */
    size_t count;
    size_t unread;
    struct bundle_error *error;
    struct bundle_error *unread_error;
    char *buffer;
};

static const struct ending *find_ending(const char *path)
{
    const struct ending *ending = endings;
    for (; ending->text; ending++) {
        size_t size = strlen(path), length = strlen(ending->text);
        if (size > length && !strcmp(path + size - length, ending->text))
            break;
    }
    return ending->text ? ending : NULL;
}

bool bundle_can_write(const char *path)
{
    return find_ending(path) != NULL;
}

static bool fail(struct bundle_error *error, const char *path, const char *why)
{
    snprintf(error->message, sizeof(error->message), "%.200s: %.150s", path, why);
    return false;
}

static bool fail_in_archive(const struct writer *writer, const char *path)
{
    const char *why = writer->calls->archive_error_string(writer->archive);
    return fail(writer->error, path, why ? why : "the archive cannot be written");
}

/* ---- a member ---- */

static bool has_member(const struct writer *writer, const char *name)
{
    for (size_t i = 0; i < writer->count; i++)
        if (!strcmp(writer->names[i], name))
            return true;
    return false;
}

/* One that cannot be read is counted, and the first one named. */
static bool pass_over(struct writer *writer, const char *path, const char *why)
{
    if (!writer->unread++)
        fail(writer->unread_error, path, why);
    return true;
}

/* As many bytes as the header says: what a file that shrinks lacks are zeros. */
static bool copy_bytes(struct writer *writer, int fd, const char *path, size_t size)
{
    bool shrank = false;
    while (size) {
        size_t want = size < COPIED_AT_ONCE ? size : COPIED_AT_ONCE;
        ssize_t got = shrank ? 0 : read(fd, writer->buffer, want);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            memset(writer->buffer, 0, want);
            got = (ssize_t)want;
            if (!shrank)
                pass_over(writer, path, "could not be read to its end");
            shrank = true;
        }
        if (writer->calls->archive_write_data(writer->archive, writer->buffer, (size_t)got) < 0)
            return fail_in_archive(writer, path);
        size -= (size_t)got;
    }
    return true;
}

static bool write_member(struct writer *writer, int fd, const char *path, const struct stat *status)
{
    const struct archive_calls *calls = writer->calls;
    struct archive_entry *entry = calls->archive_entry_new();
    if (!entry)
        return fail(writer->error, path, "out of memory");
    calls->archive_entry_set_pathname(entry, writer->names[writer->count - 1]);
    calls->archive_entry_set_filetype(entry, AE_IFREG);
    calls->archive_entry_set_perm(entry, status->st_mode & 0111 ? 0755 : 0644);
    calls->archive_entry_set_size(entry, status->st_size);
    calls->archive_entry_set_mtime(entry, status->st_mtime, 0);
    bool good = calls->archive_write_header(writer->archive, entry) == ARCHIVE_OK ||
                fail_in_archive(writer, path);
    calls->archive_entry_free(entry);
    return good && copy_bytes(writer, fd, path, (size_t)status->st_size);
}

static bool add_file(struct writer *writer, const struct psc_file_info *file)
{
    char name[MEMBER_PATH_SIZE];
    struct stat status;
    if (!file->here || !member_path(file->path, name) || has_member(writer, name))
        return true;
    int fd = open(file->here, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return pass_over(writer, file->here, strerror(errno));
    bool good = true;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode))
        good = pass_over(writer, file->here, "is no regular file");
    else if (!(writer->names[writer->count] = strdup(name)))
        good = fail(writer->error, file->path, "out of memory");
    else {
        writer->count++;
        good = write_member(writer, fd, file->path, &status);
    }
    close(fd);
    return good;
}

/* ---- the archive ---- */

static bool open_archive(struct writer *writer, const char *path, int fd)
{
    const struct archive_calls *calls = writer->calls;
    writer->archive = calls->archive_write_new();
    if (!writer->archive)
        return fail(writer->error, path, "out of memory");
    enum filter filter = find_ending(path)->filter;
    int result = calls->archive_write_set_format_pax_restricted(writer->archive);
    if (result == ARCHIVE_OK && filter == FILTER_GZIP)
        result = calls->archive_write_add_filter_gzip(writer->archive);
    if (result == ARCHIVE_OK && filter == FILTER_ZSTD)
        result = calls->archive_write_add_filter_zstd(writer->archive);
    if (result == ARCHIVE_OK)
        result = calls->archive_write_open_fd(writer->archive, fd);
    return result == ARCHIVE_OK || fail_in_archive(writer, path);
}

static bool write_files(struct writer *writer, struct psc_trace *const *traces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t files = psc_trace_file_count(traces[i]);
        for (size_t j = 0; j < files; j++) {
            struct psc_file_info file = PSC_FILE_INFO_INIT;
            if (psc_trace_get_file(traces[i], j, &file, NULL) == PSC_OK && !add_file(writer, &file))
                return false;
        }
    }
    return true;
}

static bool write_archive(struct writer *writer, const char *path, int fd,
                          struct psc_trace *const *traces, size_t count)
{
    size_t most = 1;
    for (size_t i = 0; i < count; i++)
        most += psc_trace_file_count(traces[i]);
    writer->names = calloc(most, sizeof(*writer->names));
    writer->buffer = malloc(COPIED_AT_ONCE);
    if (!writer->names || !writer->buffer)
        return fail(writer->error, path, "out of memory");
    bool good = open_archive(writer, path, fd) && write_files(writer, traces, count);
    if (good && writer->calls->archive_write_close(writer->archive) != ARCHIVE_OK)
        good = fail_in_archive(writer, path);
    if (writer->archive)
        writer->calls->archive_write_free(writer->archive);
    return good;
}

static void writer_deinit(struct writer *writer)
{
    for (size_t i = 0; i < writer->count; i++)
        free(writer->names[i]);
    free(writer->names);
    free(writer->buffer);
}

bool bundle_create(struct new_file *file, const char *path, struct bundle_error *error)
{
    const char *problem;
    *file = (struct new_file){.fd = -1};
    if (!archive_calls_load(&problem))
        return fail(error, path, problem);
    int number = new_file_open(file, path, NEW_FILE_PRIVATE | NEW_FILE_FOLLOWS_OWN_LINKS);
    return !number || fail(error, path, strerror(number));
}

bool bundle_write(int fd, const char *path, const struct bundle_traces *traces,
                  struct bundle_error *ret_unread, struct bundle_error *error)
{
    const char *problem;
    struct writer writer = {.error = error, .unread_error = ret_unread};
    ret_unread->message[0] = '\0';
    writer.calls = archive_calls_load(&problem);
    if (!writer.calls)
        return fail(error, path, problem);
    bool good = write_archive(&writer, path, fd, traces->items, traces->count);
    writer_deinit(&writer);
    return good;
}

bool bundle_keep(struct new_file *file, const char *path, struct bundle_error *error)
{
    int number = new_file_keep(file);
    return !number || fail(error, path, strerror(number));
}
