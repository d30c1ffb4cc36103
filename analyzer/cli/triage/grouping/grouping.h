/**
 * @file
 * Room `cli/triage/grouping`: reports as their JSON has them, put into groups by their signatures.
 */
#ifndef PSC_TRIAGE_GROUPING_H
#define PSC_TRIAGE_GROUPING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- core_report.c ---- */

/** The report of one death. */
struct core_report {
    const char *path; /**< The list's: of the core; of a death without one a name for it. */
    json_t *json;     /**< One object; NULL: not there yet. */
    char *stack;      /**< Of a slim one what core_report_stack() returns as JSON, or NULL. */
    int code;         /**< The exit code of the one who made it. */
    bool may_be_none; /**< A packed file that was found: maybe with no core in it. */
    bool is_none;     /**< Such a one without a core: no death is told of. */
    size_t group;     /**< Index of its group. */
    long kept_at;     /**< Where the whole of it is in struct kept_reports; -1: nowhere. */
    int64_t modified; /**< When the core file was, in seconds; 0: not known. */
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
/** It tells of a death: a core could be read, or there is none to be read. */
bool core_report_tells(const struct core_report *report);
/** One line for people, never NULL. */
const char *core_report_title(const struct core_report *report);
/** The report in one line without its end; malloc'd, NULL: out of memory. */
char *core_report_line(const struct core_report *report);
/**
 * Forgets all but what the outputs of groups need: some words and numbers, and a stack as text.
 * false: out of memory.
 */
bool core_report_slim(struct core_report *report);
/**
 * Takes a line that core_report_line() made for the report of its core, of reports that are sorted
 * by path; false: for none.
 */
bool core_report_read(struct core_report *reports, size_t count, const char *line, size_t size);
/** The thread that died, or the one that a hang's signature is of; or NULL. */
const json_t *core_report_thread(const json_t *report);
/**
 * That thread, slim or not, with at least its frames, recursion and other_recursions; a new
 * reference. NULL: none, or out of memory.
 */
json_t *core_report_stack(const struct core_report *report);
/** Its frames alone, a new reference; NULL: none, or out of memory. */
json_t *core_report_frames(const struct core_report *report);
/** The text at a path of members, as "running", "test", "id"; NULL where there is none. */
const char *report_text(const json_t *object, const char *outer, const char *inner,
                        const char *member);

/* ---- kept_reports.c ---- */

/** Whole reports, in a file without a name: those in memory are without most of it. */
struct kept_reports {
    FILE *file; /**< NULL: none are kept. */
};

/** false: errno says why not. */
bool kept_reports_open(struct kept_reports *kept);
void kept_reports_close(struct kept_reports *kept);
/** Keeps the report, if any are kept. false: errno says why not. */
bool kept_reports_add(struct kept_reports *kept, struct core_report *report);
/**
 * The whole report, a new reference; where none was kept what is in memory. NULL: it could not be
 * read, or out of memory.
 */
json_t *kept_reports_get(const struct kept_reports *kept, const struct core_report *report);

/* ---- report_groups.c ---- */

/** Reports with one signature. */
struct report_group {
    const char *hash; /**< NULL: those without a signature. */
    size_t count;
    size_t first; /**< Index of its first report, in the order of their paths. */
    bool unread;  /**< Nothing could be read of its one report. */
    bool known;   /**< The baseline has it. */
};

struct report_groups {
    struct report_group *items; /**< Those with most reports first. */
    size_t count;
    size_t unread;     /**< Reports of which nothing could be read. */
    size_t *members;   /**< Indices of the reports, group by group. */
    size_t *member_at; /**< Where in `members` each group begins; one more at the end. */
};

/** Sets report->group of each. false: out of memory. */
bool group_reports(struct core_report *reports, size_t count, struct report_groups *ret);
void report_groups_deinit(struct report_groups *groups);

/** Marks the groups that a file names by their hashes; false, and said so, if it cannot be read. */
bool mark_known(struct report_groups *groups, const char *path);

#endif
