/** Shared by the files of room `cli/triage` only. */
#ifndef PSC_TRIAGE_PRIVATE_H
#define PSC_TRIAGE_PRIVATE_H

#include "outputs.h"
#include "grouping.h"
#include "triage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- find_cores.c ---- */

struct found_core {
    char *path;
    bool packed; /**< Found in a directory, and packed: there may be no core in it. */
};

struct core_list {
    struct found_core *items; /**< Sorted by path, each once; malloc'd like the paths. */
    size_t count;
    size_t capacity;
    size_t missed; /**< Words that are neither, each said on standard error. */
    size_t others; /**< Files in directories that are no cores. */
};

/**
 * The files that are named, and the ELF cores below directories, packed ones too. false: out of
 * memory.
 */
bool find_cores(const struct triage_options *options, struct core_list *ret);
void core_list_deinit(struct core_list *list);

/* ---- core_runs.c ---- */

/* ---- stored_core.c ---- */

/**
 * Adds what systemd-coredump says of a core that it stored, by its name and its attributes, to
 * target.coredump of the report. false: out of memory.
 */
bool stored_core_describe(struct core_report *report);

/** Called in the parent with each report that is there; false ends the run. */
typedef bool report_fn(void *context, struct core_report *report);

/**
 * Makes the reports that have no JSON yet, each in a child process; `done` is called in the order
 * in which they end. @return false: out of memory, no process could be made, or `done` said so.
 */
bool run_cores(const struct triage_options *options, struct core_report *reports, size_t count,
               report_fn *done, void *context);

/* ---- report_lines.c ---- */

/** Where reports go as they come, one a line. */
struct report_lines {
    const char *path; /**< NULL: standard output. */
    int fd;           /**< -1: nowhere. */
    bool redacts;     /**< The lines are masked. */
};

/**
 * Opens those of the options, and takes over what was there before where the run goes on with it.
 * false, and said so: it cannot be read or written.
 */
bool report_lines_open(const struct triage_options *options, struct core_report *reports,
                       size_t count, struct report_lines **ret, size_t *ret_count);
/** false, and said so: it cannot be written. */
bool report_lines_add(const struct report_lines *lines, size_t count,
                      const struct core_report *report);
void report_lines_close(struct report_lines *lines, size_t count);

/* ---- given_reports.c ---- */

/** Reports that other runs have made, as the `exits` of the options. */
struct given_reports {
    char **files; /**< Their bytes, in lines that are terminated; malloc'd, as the array. */
    size_t file_count;
    const char **lines;
    size_t count;
    bool cut; /**< There are more. */
};

/** Reads the files that the options name. false, and said so: one cannot be read. */
bool given_reports_read(const struct triage_options *options, struct given_reports *ret);
void given_reports_deinit(struct given_reports *given);

/* ---- output_files.c ---- */

/** Writes the file of one output; false, and said so: it could not be. */
bool write_output_file(const struct triage_result *result, const struct triage_output *output);

#endif
