/**
 * @file
 * Room `cli/ci`: a command is run, and what dies or hangs in it is told: its cores, deaths without
 * one, and the stacks of what did not end, all put together by `cli/triage`.
 */
#ifndef PSC_CI_H
#define PSC_CI_H

#include "triage.h"

extern const struct command_spec ci_command;

/**
 * `pystack-core ci`. argv[0] is the command's name. @return the exit code.
 * @param report_one  as command_triage() has it; also of living processes.
 */
int command_ci(int argc, char **argv, report_one_fn *report_one);

#endif
