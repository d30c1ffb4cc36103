/** Shared by the files of room `cli/doctor` only. */
#ifndef PSC_DOCTOR_PRIVATE_H
#define PSC_DOCTOR_PRIVATE_H

#include "core_pattern.h"
#include "doctor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum finding_state {
    FINDING_GOOD,
    FINDING_WARNING, /**< Something is limited. */
    FINDING_STOPS    /**< No core would be written, or it would hold too little. */
};

/** What one check found. */
struct finding {
    const char *name; /**< "core limit" */
    enum finding_state state;
    char *message; /**< Malloc'd, as the next. */
    char *remedy;  /**< What to type or to set; NULL: nothing is to be done. */
};

#define FINDINGS_LIMIT 32u

struct findings {
    struct finding items[FINDINGS_LIMIT];
    size_t count;
    bool failed; /**< Out of memory. */
    /* What several checks ask for. */
    bool limit_can_be_raised; /**< What stops is the soft limit of cores. */
    bool pattern_known;
    struct core_pattern pattern;
    char *folder;          /**< Where a core of a process in this folder goes; or NULL. */
    const char *container; /**< What it runs in, "docker"; NULL: none that is known. */
};

/** Takes both texts over, which asprintf(3) made; a NULL message is out of memory. */
void findings_add(struct findings *findings, const char *name, enum finding_state state,
                  char *message, char *remedy);
/** As printf(3), malloc'd; NULL: out of memory. */
char *finding_text(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
size_t findings_stop(const struct findings *findings); /**< How many would. */
void findings_deinit(struct findings *findings);

/** What the limits of this process allow. */
void check_limits(struct findings *findings);
/** Where the kernel puts cores. */
void check_pattern(struct findings *findings);
/** What is in them. */
void check_contents(struct findings *findings);
/** A program behind a pipe. */
void check_handler(struct findings *findings);
/** Whether processes may be looked at. */
void check_tracing(struct findings *findings);
/** A child that crashes, where nothing else is in the way and a file is expected. */
void check_by_trial(struct findings *findings);
/** What ci needs to tell of memory that ran out. */
void check_cgroup(struct findings *findings);

/** The first line of a file, without its end; false: it cannot be read. */
bool read_first_line(const char *path, char *ret, size_t size);

void print_findings(FILE *file, const struct findings *findings);
/** false: out of memory, or it cannot be written. */
bool print_findings_json(FILE *file, const struct findings *findings);

#endif
