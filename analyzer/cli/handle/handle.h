/**
 * @file
 * Room `cli/handle`: the program behind kernel.core_pattern (core(5), "Piping core dumps to a
 * program"). While the kernel holds the process that dies, its report and a small core are made of
 * the head of the core on standard input and of its memory in /proc.
 */
#ifndef PSC_HANDLE_H
#define PSC_HANDLE_H

#include "command_line.h"

extern const struct command_spec handle_command;

/** `pystack-core handle`. argv[0] is the command's name. @return the exit code. */
int command_handle(int argc, char **argv);

#endif
