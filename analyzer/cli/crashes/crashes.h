/** @file Room `cli/crashes`: what `pystack-core handle` has kept. */
#ifndef PSC_CRASHES_H
#define PSC_CRASHES_H

#include "command_line.h"

extern const struct command_spec crashes_command;

/** `pystack-core crashes`. argv[0] is the command's name. @return the exit code. */
int command_crashes(int argc, char **argv);

#endif
