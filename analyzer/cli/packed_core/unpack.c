#include "gunzip.h"
#include "messages.h"
#include "unpack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void copy_plain(struct unpack_work *work)
{
    ssize_t got;
    while ((got = unpack_next_bytes(&work->source)) > 0)
        if (!unpack_take(work, work->source.buffer, (size_t)got))
            return;
    if (got < 0)
        unpack_stop(work, "the core ends early: %s", strerror(errno));
}

/* An archive_read_callback. */
static la_ssize_t read_packed(struct archive *archive, void *context, const void **ret)
{
    struct unpack_work *work = context;
    (void)archive;
    *ret = work->source.buffer;
    return unpack_next_bytes(&work->source);
}

static struct archive *open_stream(struct unpack_work *work)
{
    const struct archive_calls *calls = work->calls;
    struct archive *archive = calls->archive_read_new();
    if (!archive)
        return NULL;
    calls->archive_read_support_filter_xz(archive);
    calls->archive_read_support_filter_zstd(archive);
    calls->archive_read_support_filter_lz4(archive);
    calls->archive_read_support_filter_bzip2(archive);
    calls->archive_read_support_format_raw(archive);
    return archive;
}

static int copy_packed(struct unpack_work *work)
{
    const struct archive_calls *calls = work->calls;
    struct archive *archive = open_stream(work);
    struct archive_entry *entry;
    if (!archive) {
        complain("out of memory");
        return EXIT_NOTHING;
    }
    int result = calls->archive_read_open(archive, work, NULL, read_packed, NULL);
    if (result == ARCHIVE_OK)
        result = calls->archive_read_next_header(archive, &entry);
    // libarchive takes what is too short for a format that it knows for text that is not packed.
    if (result == ARCHIVE_OK && calls->archive_filter_code(archive, 0) == ARCHIVE_FILTER_NONE) {
        unpack_say_how_it_ended(work, "there is not even its beginning");
        result = ARCHIVE_EOF;
    }
    while (result == ARCHIVE_OK || result == ARCHIVE_WARN || result == ARCHIVE_RETRY) {
        const void *block = NULL;
        size_t size = 0;
        la_int64_t offset;
        result = calls->archive_read_data_block(archive, &block, &size, &offset);
        if ((result == ARCHIVE_OK || result == ARCHIVE_WARN) && !unpack_take(work, block, size))
            break;
    }
    if (result == ARCHIVE_FATAL || result == ARCHIVE_FAILED)
        unpack_say_how_it_ended(work, calls->archive_error_string(archive));
    calls->archive_read_free(archive);
    return EXIT_COMPLETE;
}

int unpack(struct unpack_work *work)
{
    int code = EXIT_COMPLETE;
    if (work->is_gzip)
        code = copy_gzip(work);
    else if (work->calls)
        code = copy_packed(work);
    else
        copy_plain(work);
    if (work->progress_shown)
        fputs("\r\033[K", stderr);
    // A hole may be its end.
    if (ftruncate(work->sink.file, (off_t)work->sink.at))
        unpack_stop(work, "the core cannot be unpacked whole: %s", strerror(errno));
    return code;
}
