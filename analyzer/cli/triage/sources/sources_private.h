/** Shared by the files of room `cli/triage/sources` only. */
#ifndef PSC_TRIAGE_SOURCES_PRIVATE_H
#define PSC_TRIAGE_SOURCES_PRIVATE_H

#include "base.h"
#include "redact.h"
#include "sources.h"

#include <stdint.h>

/* Files that are kept in memory. */
#define CACHE_SIZE 32u

/* A file that was read, or (without text) one that could not be. */
struct source_file {
    char *path;
    char *text;
    size_t size;
    size_t *lines; /* Where each begins. */
    size_t line_count;
};

struct sources {
    char *folder; /* As it was named, absolute; NULL: it is not there. */
    char *real;   /* The same without links. */
    struct source_file cache[CACHE_SIZE];
    size_t next;        /* Of the cache: to be replaced. */
    char *found;        /* What sources_path() gave. */
    uint64_t searched;  /* What that has cost so far. */
    bool exhausted;     /* It was said that no more is looked for. */
    char *const *words; /* Options of a report, see sources_take_options(). */
    size_t word_count;
    struct redact_secrets *secrets; /* NULL: nothing is masked. */
    struct text masked;             /* What sources_frame_line() gave. */
};

/* Bytes that are read or searched count as one. */
#define SOURCE_COST_BYTES 1024u

/** Whether nothing more is looked for; said once. */
bool sources_are_exhausted(struct sources *sources);
/** The file, from the cache; its text is NULL where it cannot be read. NULL: out of memory. */
const struct source_file *read_source(struct sources *sources, const char *path);
/**
 * The file that stands here for one of the target, by --source-map, --sysroot and --source-dir, in
 * this order as for a single report. malloc'd; NULL: there is none, or no memory.
 */
char *sources_find_local(struct sources *sources, const char *path);
/** Whether the name stands in the text, not as a part of another. */
bool source_names(const struct source_file *file, const char *name);

#endif
