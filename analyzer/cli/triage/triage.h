/**
 * @file
 * Room `cli/triage`: many cores, each looked at by a child process, put into groups by their
 * signatures. What the groups are made of is the reports' JSON, so reports of other machines are
 * grouped alike.
 */
#ifndef PSC_TRIAGE_H
#define PSC_TRIAGE_H

#include "options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const struct command_spec triage_command;

/** Prints the report of one core. @return the exit code. */
typedef int report_one_fn(struct options *options);

/** --fail-on */
enum fail_on { FAIL_ON_NONE, FAIL_ON_NEW, FAIL_ON_ANY };

/** The exit code where a rule of --fail-on applies. */
#define EXIT_FAIL_ON 3

/** A row of the table in outputs/formats.c. */
struct output_format;

struct triage_output {
    const struct output_format *format;
    const char *path; /**< NULL: standard output. */
};

/** What to look at and what to write. Strings belong to the caller. */
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
    bool skips_others; /**< Files that are named, too, are left out when they are no cores. */
    bool redacts;      /**< What is written is masked. */
    bool shows_values; /**< A report holds values of the program. */
    bool hides_source; /**< No lines of source. */
    report_one_fn *report_one;
    enum fail_on fail_on;
    const char **report_files; /**< NDJSON of other runs, whose reports are put in the groups. */
    size_t report_file_count;
    const char *baseline;    /**< A file of known signatures; or NULL. */
    const char *repository;  /**< The folder of the sources; NULL: GITHUB_WORKSPACE, else here. */
    const char *junit_merge; /**< A JUnit file that junit outputs go on with; or NULL. */
    /**
     * Deaths that left no core: a report each as JSON, of pystack-core-1.schema.json with
     * "target": {"kind": "exit", ...}; target.path, where there is one, is what names it.
     */
    const char *const *exits;
    size_t exit_count;
    bool sorts_all; /**< All in the order of their paths; else the deaths without a core last. */
    bool may_find_nothing; /**< No core at all is a result, too: it is written, and code 0. */
};

/** Reads argv; prints help or what is wrong with it. At least one word has to be there. */
enum options_result triage_options_parse(struct triage_options *options, int argc, char **argv);
void triage_options_deinit(struct triage_options *options);

/**
 * Looks at all, writes the outputs. @return the exit code.
 * Children are made: to be called while there is one thread.
 */
int triage_run(const struct triage_options *options);

/**
 * `pystack-core triage`. argv[0] is the command's name. @return the exit code.
 * @param report_one is called in child processes.
 */
int command_triage(int argc, char **argv, report_one_fn *report_one);

#endif
