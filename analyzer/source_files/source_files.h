/**
 * @file
 * Room `source_files`: text of source files that a target names, by lines or whole.
 *
 * Shown is a regular file alone, inside of the root of the target, that the target's user may read
 * himself.
 */
#ifndef PSC_SOURCE_FILES_H
#define PSC_SOURCE_FILES_H

#include "base.h"
#include "target.h"

/* ---- source_text.c ---- */

enum source_encoding {
    SOURCE_UTF8,
    SOURCE_UTF8_MARKED, /**< Behind a byte order mark. */
    SOURCE_CONVERTED,   /**< `ret` is the text in UTF-8, malloc'd. */
    SOURCE_UNKNOWN /**< It names an encoding that iconv does not know, or does not keep to it. */
};

/** What a source file says of its encoding, as PEP 263 has it. */
enum source_encoding source_decode(const char *text, size_t size, char **ret, size_t *ret_size);
/** Bytes of the first line with its end: "\n", "\r\n" or "\r". */
size_t source_line_length(const char *text, size_t size);

/* ---- source_files.c ---- */

struct sources;

struct sources *sources_create(struct target *target, struct arena *arena);
void sources_destroy(struct sources *sources);
/**
 * Line `line` (from 1) of a source file as the target names it; not terminated,
 * valid until sources_destroy(). NULL when the file or the line is not there.
 */
const char *sources_find_line(struct sources *sources, const char *path, uint32_t line,
                              size_t *ret_size);
/** The line without indentation and end, at most 400 bytes, in the arena; NULL if none. */
const char *sources_copy_line(struct sources *sources, const char *path, uint32_t line);

/**
 * The whole text of a source file as the target names it, in UTF-8.
 * @param ret_size  bytes of it, 64 MiB at most.
 * @return malloc'd, not terminated; NULL: there is none, or it is not to be shown.
 */
char *sources_read_file(struct target *target, const char *path, size_t *ret_size);

#endif
