/**
 * @file
 * Room `profile_formats`: a finished profile as a file that others open. Reads only profile.h.
 *
 * To add a format: a file (or a room inside) with one function write_NAME of type
 * profile_write_fn, its declaration in profile_formats_private.h (or the room's door), and a row in
 * PROFILE_FORMATS; the option's choices and its help follow from the row. What another tool reads
 * is tested with that tool.
 */
#ifndef PSC_PROFILE_FORMATS_H
#define PSC_PROFILE_FORMATS_H

#include "profile.h"

/** Where a format is written; the bytes come in order. */
struct profile_output {
    psc_write_fn write;
    void *context;       /**< What `write` is given. */
    const char *version; /**< Of this program, for formats that name their maker. */
    /**
     * The text of a source file as profile_function.file names it, malloc'd; NULL: not found. For
     * formats that show sources; may be NULL.
     */
    char *(*read_source)(void *source_context, const char *file, size_t *ret_size);
    void *source_context;
};

/** Writes all of it. Errors: PSC_ERR_IO when `write` stopped it, PSC_ERR_MEMORY. */
typedef enum psc_status profile_write_fn(const struct profile *profile,
                                         const struct profile_output *output,
                                         struct psc_error *err);

struct profile_format {
    const char *name; /**< As in --output NAME=FILE; NULL ends the list. */
    const char *help; /**< Some words. */
    profile_write_fn *write;
};

/** All formats, in the order of --help: name, some words. */
#define PROFILE_FORMATS(ROW)                                                  \
    ROW(collapsed, "one line for each stack, with its count")                 \
    ROW(flamegraph, "a page (HTML) of all stacks, in the order of time, too") \
    ROW(speedscope, "for speedscope.app")                                     \
    ROW(firefox, "for profiler.firefox.com: threads on one time line")        \
    ROW(pprof, "for go tool pprof")                                           \
    ROW(lines, "own and total time of each line of source, as text")          \
    ROW(heat, "the same as a page (HTML), lines in their sources")            \
    ROW(ndjson, "each sample, one JSON object a line")

/** The same, as functions. */
extern const struct profile_format profile_formats[];

#endif
