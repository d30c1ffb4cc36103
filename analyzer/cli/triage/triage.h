/**
 * @file
 * Room `cli/triage`: many cores, each looked at by a child process, put into groups by their
 * signatures. What the groups are made of is the reports' JSON, so reports of other machines are
 * grouped alike.
 */
#ifndef PSC_TRIAGE_H
#define PSC_TRIAGE_H

#include "options.h"

extern const struct command_spec triage_command;

/** Prints the report of one core. @return the exit code. */
typedef int report_one_fn(struct options *options);

/**
 * `pystack-core triage`. argv[0] is the command's name. @return the exit code.
 * @param report_one is called in child processes.
 */
int command_triage(int argc, char **argv, report_one_fn *report_one);

#endif
