/* An archive, unpacked: whoever made it may have put anything into it. Needs no rights. */
#include "bundle_private.h"
#include "member_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_AT_ONCE ((size_t)64 * 1024)

struct reader {
    struct unpacking *to;
    struct archive *archive;
    struct member_list members;
};

static bool fail(const struct reader *reader, const char *why)
{
    snprintf(reader->to->error->message, sizeof(reader->to->error->message), "%.200s: %.150s",
             reader->to->path, why);
    return false;
}

/* The bytes of a member go behind those of the ones before it; holes stay holes. */
static bool unpack(struct reader *reader, struct member *member)
{
    struct unpacking *to = reader->to;
    const void *block;
    size_t size;
    la_int64_t offset;
    for (;;) {
        int result =
            reader->to->calls->archive_read_data_block(reader->archive, &block, &size, &offset);
        if (result == ARCHIVE_EOF)
            break;
        if (result == ARCHIVE_RETRY)
            continue;
        if (result < ARCHIVE_WARN)
            return fail(reader, "the archive is damaged or cut off");
        uint64_t end = (uint64_t)offset + size;
        if (offset < 0 || end > to->size_limit - to->size)
            return fail(reader,
                        "too large when it is unpacked: more than 64 GB, or than 512 MB and 40 "
                        "times the archive");
        if (!unpacked_write_at(to->bytes, block, size, to->size + (uint64_t)offset))
            return fail(reader, errno == ENOSPC
                                    ? "no space for what is in it; TMPDIR can name a larger place"
                                    : strerror(errno));
        if (end > member->size)
            member->size = end;
    }
    member->offset = to->size;
    to->size += member->size;
    return true;
}

/* malloc'd; NULL, and said so. */
static char *keep_name(struct reader *reader, const char *name)
{
    struct member_list *list = &reader->members;
    size_t size = strlen(name) + 1;
    char *copy = size <= NAMES_LIMIT - list->names ? strdup(name) : NULL;
    if (copy)
        list->names += size;
    else
        fail(reader, size > NAMES_LIMIT - list->names ? "too many names in it" : "out of memory");
    return copy;
}

static struct member *add_member(struct reader *reader, const char *name)
{
    struct member_list *list = &reader->members;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 256;
        struct member *grown = reallocarray(list->items, capacity, sizeof(*grown));
        if (!grown || list->count >= MEMBER_LIMIT) {
            fail(reader, grown ? "too many files in it" : "out of memory");
            if (grown)
                list->items = grown;
            return NULL;
        }
        list->items = grown;
        list->capacity = capacity;
    }
    struct member *member = &list->items[list->count];
    *member = (struct member){.name = keep_name(reader, name), .number = list->count};
    if (!member->name)
        return NULL;
    list->count++;
    return member;
}

/* Folders, devices and the like are passed over. */
static bool take_member(struct reader *reader, struct archive_entry *entry)
{
    char name[MEMBER_PATH_SIZE];
    const char *path = reader->to->calls->archive_entry_pathname(entry);
    const char *hard = reader->to->calls->archive_entry_hardlink(entry);
    const char *soft = reader->to->calls->archive_entry_symlink(entry);
    bool is_file = reader->to->calls->archive_entry_filetype(entry) == AE_IFREG;
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
        int result = reader->to->calls->archive_read_next_header(reader->archive, &entry);
        if (result == ARCHIVE_EOF)
            return true;
        if (result == ARCHIVE_RETRY)
            continue;
        if (result < ARCHIVE_WARN)
            return fail(reader, reader->members.count ? "the archive is damaged or cut off"
                                                      : "neither a directory nor an archive (tar)");
        if (!take_member(reader, entry))
            return false;
    }
}

static bool read_archive(struct reader *reader)
{
    const struct archive_calls *calls = reader->to->calls;
    reader->archive = calls->archive_read_new();
    if (!reader->archive)
        return fail(reader, "out of memory");
    // A filter that this libarchive lacks is ARCHIVE_WARN: it runs a program, which nobody asked
    // for.
    calls->archive_read_support_format_tar(reader->archive);
    calls->archive_read_support_filter_gzip(reader->archive);
    calls->archive_read_support_filter_zstd(reader->archive);
    calls->archive_read_support_filter_xz(reader->archive);
    calls->archive_read_support_filter_bzip2(reader->archive);
    calls->archive_read_support_filter_lz4(reader->archive);
    bool good = calls->archive_read_open_fd(reader->archive, reader->to->archive, READ_AT_ONCE) ==
                        ARCHIVE_OK
                    ? read_members(reader)
                    : fail(reader, "neither a directory nor an archive (tar)");
    calls->archive_read_free(reader->archive);
    return good;
}

int bundle_unpack(void *context)
{
    struct reader reader = {.to = context};
    bool good = read_archive(&reader);
    if (good && !members_write(&reader.members, reader.to->index))
        good = fail(&reader, strerror(errno));
    for (size_t i = 0; i < reader.members.count; i++) {
        free(reader.members.items[i].name);
        free(reader.members.items[i].link);
    }
    free(reader.members.items);
    return good ? 0 : 2;
}
