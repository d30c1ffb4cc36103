/**
 * @file
 * Room `cli/commands`: what the program does besides printing a core; each command has its own
 * arguments. To add one: a file command_NAME.c, a row in commands.c and one in main.c.
 */
#ifndef PSC_COMMANDS_H
#define PSC_COMMANDS_H

struct command {
    const char *name; /**< NULL ends the list. */
    const char *summary;
};

extern const struct command commands[];

/** `pystack-core demangle`. argv[0] is the command's name. @return the exit code. */
int command_demangle(int argc, char **argv);
/** `pystack-core summary`; the same. */
int command_summary(int argc, char **argv);

#endif
