/** @file What the files that read an archive share. */
#ifndef PSC_BUNDLE_PRIVATE_H
#define PSC_BUNDLE_PRIVATE_H

#include "archive_calls.h"
#include "bundle.h"

/** An archive of a whole system has some hundred thousand. */
#define MEMBER_LIMIT ((size_t)2000000)
/** Bytes of all names and links. */
#define NAMES_LIMIT ((size_t)64 << 20)

/** A file of the archive, or a link. */
struct member {
    char *name;      /**< As member_path() makes it. */
    char *link;      /**< What a link says; NULL: a file. */
    bool from_root;  /**< The link's text begins at the root: a hard link. */
    uint64_t offset; /**< In the unpacked bytes. */
    uint64_t size;
    size_t number; /**< The last of a name counts. */
};

struct member_list {
    struct member *items;
    size_t count;
    size_t capacity;
    size_t names; /**< Bytes of all names and links. */
};

/** Where an archive is unpacked to, by who has no rights. */
struct unpacking {
    const struct archive_calls *calls;
    const char *path; /**< For messages. */
    int archive;
    int bytes; /**< All files, one behind the other. */
    int index; /**< Of members_write(). */
    uint64_t size;
    uint64_t size_limit;
    struct bundle_error *error; /**< Shared with the one who waits. */
};

/** Unpacks all; `context` is a struct unpacking. @return an exit code. */
int bundle_unpack(void *context);

/* ---- members.c ---- */

/** Sorts them by their names, and writes them into an empty file. False: errno says why. */
bool members_write(struct member_list *list, int fd);
/**
 * Takes apart the bytes that members_write() has written, or that somebody else has. Names and
 * links are in them; each ends with a zero, and offset and size together are no more than
 * INT64_MAX.
 * @param ret  its items are to be freed, whatever comes of it.
 * @return false: they are something else, there are too many, or memory is out.
 */
bool parse_members(char *text, size_t size, struct member_list *ret);
/**
 * Reads what members_write() has written; whoever has the file may have written anything.
 * @param ret_text  malloc'd, what the names are in; NULL: it could not be read.
 */
bool members_read(int fd, struct member_list *ret, char **ret_text);

#endif
