/**
 * @file
 * Room `cli/archive_calls`: libarchive, loaded when it is first needed: linked to the program it
 * would load a dozen further libraries (libxml2, ICU, nettle, ...) at every start, which takes
 * longer than the start itself.
 */
#ifndef PSC_ARCHIVE_CALLS_H
#define PSC_ARCHIVE_CALLS_H

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is used of it; a member of struct archive_calls each, of the header's type. */
#define ARCHIVE_CALLS(X)                       \
    X(archive_error_string)                    \
    X(archive_read_new)                        \
    X(archive_read_support_format_tar)         \
    X(archive_read_support_format_raw)         \
    X(archive_read_support_filter_gzip)        \
    X(archive_read_support_filter_zstd)        \
    X(archive_read_support_filter_xz)          \
    X(archive_read_support_filter_bzip2)       \
    X(archive_read_support_filter_lz4)         \
    X(archive_filter_code)                     \
    X(archive_read_open)                       \
    X(archive_read_open_fd)                    \
    X(archive_read_next_header)                \
    X(archive_read_data_block)                 \
    X(archive_read_free)                       \
    X(archive_write_new)                       \
    X(archive_write_set_format_pax_restricted) \
    X(archive_write_add_filter_gzip)           \
    X(archive_write_add_filter_zstd)           \
    X(archive_write_open_fd)                   \
    X(archive_write_header)                    \
    X(archive_write_data)                      \
    X(archive_write_close)                     \
    X(archive_write_free)                      \
    X(archive_entry_new)                       \
    X(archive_entry_free)                      \
    X(archive_entry_pathname)                  \
    X(archive_entry_filetype)                  \
    X(archive_entry_size)                      \
    X(archive_entry_symlink)                   \
    X(archive_entry_hardlink)                  \
    X(archive_entry_set_pathname)              \
    X(archive_entry_set_filetype)              \
    X(archive_entry_set_perm)                  \
    X(archive_entry_set_size)                  \
    X(archive_entry_set_mtime)

#define ARCHIVE_MEMBER(name) __typeof__(name) *name;
struct archive_calls {
    ARCHIVE_CALLS(ARCHIVE_MEMBER)
};

/** Loaded once, for good; NULL: *ret_problem is a sentence. */
const struct archive_calls *archive_calls_load(const char **ret_problem);

/**
 * Writes unpacked bytes to their place in a file; what lies before it and was never written is a
 * hole. False: errno says why.
 */
bool unpacked_write_at(int fd, const void *bytes, size_t size, uint64_t offset);

#endif
