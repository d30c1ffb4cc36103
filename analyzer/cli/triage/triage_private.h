/** Shared by the files of room `cli/triage` only. */
#ifndef PSC_TRIAGE_PRIVATE_H
#define PSC_TRIAGE_PRIVATE_H

#include "triage.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/** --fail-on */
enum fail_on { FAIL_ON_NONE, FAIL_ON_NEW, FAIL_ON_ANY };

enum triage_format { TRIAGE_TEXT, TRIAGE_NDJSON, TRIAGE_GROUPS, TRIAGE_MARKDOWN, TRIAGE_GITHUB };

struct triage_output {
    enum triage_format format;
    const char *path; /**< NULL: standard output. */
};

/** Strings belong to argv. */
struct triage_options {
    char **words; /**< Cores and directories. */
    size_t word_count;
    struct triage_output *outputs; /**< The main one first. */
    size_t output_count;
    char **forwarded; /**< Options of a single report, as argv has them, without the first word. */
    size_t forwarded_count;
    uint32_t jobs;
    uint32_t seconds;   /**< Of one core. */
    uint64_t megabytes; /**< The same. */
    bool resumes;
    bool shows_values; /**< A report holds values of the program. */
    report_one_fn *report_one;
    enum fail_on fail_on;
    const char *baseline; /**< A file of known signatures; or NULL. */
};

/** Reads argv; prints help or what is wrong with it. */
enum options_result triage_options_parse(struct triage_options *options, int argc, char **argv);
void triage_options_deinit(struct triage_options *options);

/* ---- find_cores.c ---- */

struct core_list {
    char **paths; /**< Sorted, each once; malloc'd like the strings. */
    size_t count;
    size_t capacity;
    size_t missed; /**< Words that are neither, each said on standard error. */
};

/** The files that are named, and the ELF cores below directories. false: out of memory. */
bool find_cores(char *const *words, size_t word_count, struct core_list *ret);
void core_list_deinit(struct core_list *list);

/* ---- core_report.c ---- */

/** The report of one core. */
struct core_report {
    const char *path; /**< The list's. */
    json_t *json;     /**< One object; NULL: not there yet. */
    int code;         /**< The exit code of the one who made it. */
    size_t group;     /**< Index of its group. */
};

void core_report_deinit(struct core_report *report);
/**
 * Takes the report out of what a child wrote; of one that wrote none it is one that says why:
 * `problem` is what it said instead. false: out of memory.
 */
bool core_report_take(struct core_report *report, const char *output, size_t size,
                      const char *problem);
/** The signature's hash; NULL where there is none. Owned by the report. */
const char *core_report_hash(const struct core_report *report);
/** One line for people, never NULL. */
const char *core_report_title(const struct core_report *report);
/** The report in one line without its end; malloc'd, NULL: out of memory. */
char *core_report_line(const struct core_report *report);
/** Forgets all but what the outputs of groups need. false: out of memory. */
bool core_report_slim(struct core_report *report);
/** Takes a line that core_report_line() made for the report of its core; false: for none. */
bool core_report_read(struct core_report *reports, size_t count, const char *line, size_t size);
/** The frames of the thread that died, or of the one that a hang's signature is of; or NULL. */
const json_t *core_report_frames(const struct core_report *report);

/* ---- core_runs.c ---- */

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

/* ---- report_groups.c ---- */

/** Reports with one signature. */
struct report_group {
    const char *hash; /**< NULL: those without a signature. */
    size_t count;
    size_t first; /**< Index of its first report, in the order of their paths. */
    bool known;   /**< The baseline has it. */
};

struct report_groups {
    struct report_group *items; /**< Those with most reports first. */
    size_t count;
    size_t unread; /**< Reports without a signature. */
};

/** Sets report->group of each. false: out of memory. */
bool group_reports(struct core_report *reports, size_t count, struct report_groups *ret);
void report_groups_deinit(struct report_groups *groups);

/** Marks the groups that a file names by their hashes; false, and said so, if it cannot be read. */
bool mark_known(struct report_groups *groups, const char *path);

/* ---- what is written ---- */

/** All that an output is made of. */
struct triage_result {
    const struct core_report *reports;
    size_t report_count;
    const struct report_groups *groups;
    bool has_baseline;
    bool color;
};

void write_group_text(FILE *file, const struct triage_result *result);
void write_group_json(FILE *file, const struct triage_result *result);
void write_markdown(FILE *file, const struct triage_result *result);
/** GitHub's workflow commands, one for a group: the nearest frame in the working directory. */
void write_annotations(FILE *file, const struct triage_result *result);

/** Text of a target, with no character that could drive a terminal. */
void put_safely(FILE *file, const char *text);
/** The visible frames, a line each, at most `limit`; false if there were none. */
bool put_frames(FILE *file, const json_t *frames, const char *indentation, size_t limit);

#endif
