/** Shared by the files of room `cli/triage` only. */
#ifndef PSC_TRIAGE_PRIVATE_H
#define PSC_TRIAGE_PRIVATE_H

#include "outputs.h"
#include "grouping.h"
#include "output.h"
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
    struct stored_core *stored; /**< Malloc'd; NULL: nobody says that it is one. */
    int64_t modified;           /**< When the file was, in seconds; 0: not known. */
};

struct core_list {
    struct found_core *items; /**< Sorted by path, each once; malloc'd like the paths. */
    size_t count;
    size_t capacity;
    size_t missed; /**< Words that are neither, each said on standard error. */
    size_t others; /**< Files in directories that are no cores. */
    /** Whose all files are; `several`: not one user's. For the rights of who reads their reports.
     */
    uid_t owner;
    gid_t group;
    bool several;
};

/**
 * The files that are named, and the ELF cores below directories, packed ones too. false: out of
 * memory.
 */
bool find_cores(const struct triage_options *options, struct core_list *ret);
void core_list_deinit(struct core_list *list);

/* ---- stored_core.c ---- */

/** What a file's attributes say, as bytes; malloc'd, to be freed as one. NULL: none, or no memory.
 */
struct stored_core *stored_core_read(const char *path);
/**
 * Adds what systemd-coredump says of a core that it stored, by its name and its attributes (or
 * NULL), to target.coredump of the report. false: out of memory.
 */
bool stored_core_describe(const struct stored_core *stored, struct core_report *report);

/* ---- report_lines.c ---- */

/** Where reports go as they come, one a line. */
struct report_lines {
    const char *path; /**< NULL: standard output. */
    int fd;           /**< -1: nowhere. */
    bool redacts;     /**< The lines are masked. */
    bool resumes;     /**< What is there is gone on with. */
};

/** Opens those of the options. false, and said so: one cannot be written. */
bool report_lines_open(const struct triage_options *options, struct report_lines **ret,
                       size_t *ret_count);
/** Reads what is there, where the run goes on with it. false, and said so: it cannot be. */
bool report_lines_take_over(const struct report_lines *lines, size_t count,
                            struct core_report *reports, size_t report_count);
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

/** The file of an output. Whoever writes it may have no rights to give it its name. */
struct result_file {
    struct output_file file;
    bool open;
    bool *good; /**< It is written whole; shared with children. */
};

/** Opens all but those of NDJSON; says which cannot be written. NULL: out of memory, said so. */
struct result_file *result_files_open(const struct triage_options *options);
/** Writes one; false, and said so: it could not be. */
bool result_file_write(struct result_file *file, const struct triage_result *result,
                       const struct triage_output *output);
/** Puts what is whole in its place. false, and said so: not all are there. */
bool result_files_close(struct result_file *files, const struct triage_options *options);

/* ---- gather.c ---- */

/** What is at hand when the reports begin to come. */
struct gathering {
    const struct triage_options *options;
    const struct core_list *cores;
    const struct core_runs *runs; /**< NULL: there are no cores. */
    struct report_lines *lines;
    size_t line_count;
    struct kept_reports kept;
    struct result_file *files; /**< Of the outputs. */
    struct sources *sources;
};

/**
 * Reads the reports, groups them, writes the outputs into their files: reports can be anybody's, so
 * this is done without rights. `context` is a struct gathering. @return the exit code.
 */
int gather(void *context);

#endif
