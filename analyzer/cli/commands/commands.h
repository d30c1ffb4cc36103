/**
 * @file
 * Room `cli/commands`: small commands. To add one: a file command_NAME.c with the table of its
 * command line, and its row in main.c.
 */
#ifndef PSC_COMMANDS_H
#define PSC_COMMANDS_H

#include "command_line.h"

extern const struct command_spec demangle_command;
extern const struct command_spec summary_command;
extern const struct command_spec schema_command;

/** `pystack-core demangle`. argv[0] is the command's name. @return the exit code. */
int command_demangle(int argc, char **argv);
/** `pystack-core summary`; the same. */
int command_summary(int argc, char **argv);
/** `pystack-core schema`; the same. */
int command_schema(int argc, char **argv);

#endif
