/** Shared by the files of room `cli/ci` only. */
#ifndef PSC_CI_PRIVATE_H
#define PSC_CI_PRIVATE_H

#include "ci.h"
#include "core_pattern.h"
#include "descendants.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/** Strings belong to argv, but for `forwarded`. */
struct ci_options {
    char **command;   /**< The words, with a NULL behind. */
    char **forwarded; /**< Options for triage, each in one malloc'd word. */
    size_t forwarded_count;
    uint64_t hang_seconds;    /**< Without any progress; 0: no limit. */
    uint64_t timeout_seconds; /**< In all; 0: no limit. */
    uint64_t grace_seconds;   /**< From SIGTERM to SIGKILL. */
    const char *keep_cores;   /**< A folder, or NULL. */
    bool slims;               /**< They are made small, in their places. */
    bool prunes;              /**< Cores are removed when they were looked at. */
    bool reports_exits;       /**< All deaths are, not only those that are certain to be ones. */
    bool no_github;
    report_one_fn *report_one;
};

/** Reads argv; prints help or what is wrong with it. */
enum options_result ci_options_parse(struct ci_options *options, int argc, char **argv);
void ci_options_deinit(struct ci_options *options);
/** Whether a word of `forwarded` is an option that a single report has, too. */
bool ci_option_is_of_report(const char *word);

/* ---- left_cores.c ---- */

struct left_cores {
    struct core_pattern pattern;
    bool pattern_known;
    struct timespec since; /**< Older files are somebody else's. */
    const char *keep;      /**< Where they are moved; NULL: they stay. */
    char **paths;          /**< Those that were found. */
    size_t count;
    char **folders; /**< Working directories of processes that ended. */
    size_t folder_count;
};

void left_cores_init(struct left_cores *cores, const char *keep);
/** Whether a file was written since the command was started. */
bool left_cores_is_new(const struct left_cores *cores, const struct stat *status);
/**
 * Looks for the core of a process that has ended, and gives it a name of its own.
 * @return whether it was found.
 */
bool left_cores_find(struct left_cores *cores, const struct descendant *process);
/** Those of processes that nobody has seen. */
void left_cores_sweep(struct left_cores *cores);
void left_cores_remove(const struct left_cores *cores);
/** Makes them small, see cli/slim_cores; says what cannot be. */
void left_cores_slim(const struct left_cores *cores, const struct ci_options *options);
void left_cores_deinit(struct left_cores *cores);

/* ---- folder_list.c ---- */

/** Folders that are looked through, one after the other; their number is limited. */
struct folder_list {
    char **items;
    size_t count;
};

/** Copies the path; false: there are too many, or no memory. */
bool folder_list_add(struct folder_list *list, const char *path);
/** Adds the folders in one of them, but for links and those whose names begin with a dot. */
void folder_list_add_below(struct folder_list *list, size_t index);
void folder_list_deinit(struct folder_list *list);

/* ---- core_names.c ---- */

/**
 * Moves a core into a folder (NULL: where it is), under a name with its process in it.
 * @return the path where it is now, malloc'd; NULL: out of memory.
 */
char *core_name_own(const char *path, const char *folder, const struct descendant *process,
                    bool has_own_name);

/* ---- exit_reports.c ---- */

/** Deaths without a core: reports, and what was only counted. */
struct exit_reports {
    char **items; /**< JSON, malloc'd. */
    size_t count;
    struct {
        char what[64]; /**< "python3.11 (status 3)" */
        size_t count;
    } others[16];
    size_t other_count;
    size_t left; /**< Others, of further kinds. */
};

/** Takes a report over, that was malloc'd (NULL: out of memory, which is said). */
void exit_reports_take(struct exit_reports *reports, char *json);
void exit_reports_deinit(struct exit_reports *reports);
/** Adds the report of a death. */
void exit_reports_add(struct exit_reports *reports, const struct descendant *process,
                      const struct core_pattern *pattern);
void exit_reports_count(struct exit_reports *reports, const struct descendant *process);
/** What was only counted, in one line on standard error. */
void exit_reports_say(const struct exit_reports *reports);

/* ---- run_command.c ---- */

/** A run on its way. */
struct ci_run {
    const struct ci_options *options;
    struct descendants *all;
    struct left_cores cores;
    struct exit_reports exits;
    char *folder; /**< For files in between. */
    pid_t command;
    bool command_ended;
    int command_status; /**< Of wait(2). */
    int start_error;    /**< Of execvp(3); 0: it was started. */
    int passed_signal;  /**< That was passed on to the command; 0: none. */
    bool hung;          /**< It was ended, by this program. */
    bool failed;        /**< The command's end cannot be told. */
};

/** Runs the command to its end. false, and said so: it could not be started. */
bool run_command(struct ci_run *run);

/* ---- hangs.c ---- */

/** Whether anything happens. */
struct hang_watch {
    double started;
    double checked;  /**< When it was looked for progress last. */
    double progress; /**< When there was some. */
    uint64_t changes;
    uint64_t written;
    uint64_t ticks;
};

void hang_watch_init(struct hang_watch *watch);
/** What is too long, as a sentence; NULL: nothing is. */
const char *hang_watch_check(struct hang_watch *watch, const struct ci_run *run);
/** Prints the stacks of all that lives, with the reports for triage and small cores. */
void hang_show(struct ci_run *run, const char *why);

/* ---- ci_triage.c ---- */

/** Whether triage understands what is for it; what is wrong is said. */
enum options_result ci_triage_check(const struct ci_options *options);

/** Puts all together and writes what was asked for. @return the exit code of triage. */
int ci_triage(struct ci_run *run);

#endif
