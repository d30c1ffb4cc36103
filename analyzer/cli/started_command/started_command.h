/**
 * @file
 * Room `cli/started_command`: a program that is started to be looked at, and its end.
 */
#ifndef PSC_STARTED_COMMAND_H
#define PSC_STARTED_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

/* As the shell and env(1) have them. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127
#define EXIT_SIGNAL     128

struct started_command {
    pid_t pid; /**< 0: none. */
    bool ended;
    int status; /**< As waitpid() has it. */
};

/**
 * Starts it, with the signals that this program ignores as they are by default.
 * @param words   NULL behind the last.
 * @param output  what it prints goes there, and it reads nothing; -1: as this program.
 * @return 0 once it runs, or errno of what failed.
 */
int started_command_begin(struct started_command *command, char **words, int output);
/** Whether it has ended; waits for that if `wait`. */
bool started_command_ended(struct started_command *command, bool wait);
/** The exit code of one that has ended, as a shell has it. */
int started_command_code(const struct started_command *command);
/** The exit code where it could not be started. */
int started_command_error_code(int error);

#endif
