/**
 * @file
 * Room `cli/slim_cores`: cores made small, with what a report reads of them
 * (psc_write_slim_core()).
 */
#ifndef PSC_SLIM_CORES_H
#define PSC_SLIM_CORES_H

#include "command_line.h"

#include <stdbool.h>

extern const struct command_spec slim_command;

/** What is to be made small; strings are the caller's. */
struct slim_job {
    const char *core;  /**< A path; "-": standard input. */
    const char *small; /**< Where it goes. */
    char **words;      /**< Options of a report, on where the dead machine's files are. */
    int word_count;
    const char *executable; /**< Or NULL. */
    bool with_files;
    bool redacts;
    bool no_sandbox;
};

/** @return the exit code; what is wrong is said. The sandbox has begun, unless without. */
int slim_core_make(const struct slim_job *job);

/** `pystack-core slim`. argv[0] is the command's name. @return the exit code. */
int command_slim(int argc, char **argv);

#endif
