/**
 * @file
 * Room `cli/bundle`: the files that reports need, in one archive (tar; gzip and Zstandard by the
 * name's ending) for a machine that does not have them. Written by libarchive, and read by it:
 * whoever made an archive may have put anything into it.
 *
 * Nothing of it is written under a name: what is read goes to files that have none.
 */
#ifndef PSC_BUNDLE_H
#define PSC_BUNDLE_H

#include <pystack_core.h>

#include <stdbool.h>
#include <stddef.h>

/** One sentence on what went wrong. */
struct bundle_error {
    char message[400];
};

/** Whether a name ends as one that can be written: .tar, .tar.gz, .tgz, .tar.zst, .tzst. */
bool bundle_can_write(const char *path);

struct new_file;

struct bundle_traces {
    struct psc_trace *const *items;
    size_t count;
};

/**
 * Makes the file, and loads what is needed to write it: the writing itself needs no rights but to
 * read what goes into it. For bundle_keep() or new_file_drop().
 */
bool bundle_create(struct new_file *file, const char *path, struct bundle_error *error);
/**
 * Writes all files that are here of those that the traces list (psc_capture_options.list_files),
 * each once, under its path on the target. Only its owner may read it.
 * @param path        by whose ending it is packed, and for messages.
 * @param ret_unread  sentence on files that could not be read any more; "" without.
 */
bool bundle_write(int fd, const char *path, const struct bundle_traces *traces,
                  struct bundle_error *ret_unread, struct bundle_error *error);
/** new_file_keep() with a sentence. */
bool bundle_keep(struct new_file *file, const char *path, struct bundle_error *error);

struct bundle;

/** Reads the whole archive into a file without a name. NULL: *error says why. */
struct bundle *bundle_open(const char *path, struct bundle_error *error);
void bundle_close(struct bundle *bundle);
/**
 * A psc_open_options.find_file; `bundle` is the context. Links in the archive lead to what is in
 * it, never out of it.
 */
const char *bundle_find(void *bundle, const char *path);

#endif
