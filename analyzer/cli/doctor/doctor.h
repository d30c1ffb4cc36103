/**
 * @file
 * Room `cli/doctor`: why no core file would be written here, or no process be looked at, and what
 * helps.
 */
#ifndef PSC_DOCTOR_H
#define PSC_DOCTOR_H

#include "command_line.h"

extern const struct command_spec doctor_command;

/** `pystack-core doctor`. argv[0] is the command's name. @return the exit code. */
int command_doctor(int argc, char **argv);

#endif
