/**
 * @file
 * Room `cli/messages`: what the program says on standard error, one line each, and by its exit
 * code.
 */
#ifndef PSC_MESSAGES_H
#define PSC_MESSAGES_H

#include <stdio.h>

/** As eu-stack. */
enum exit_code { EXIT_COMPLETE = 0, EXIT_PARTIAL = 1, EXIT_NOTHING = 2, EXIT_USAGE = 64 };

/** Whatever bytes a target's names hold: control characters cannot act. */
void complain(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
/** Whose help complain_of_usage() names: a command's, or the program's (NULL). Lives on. */
void messages_set_command(const char *name);
/** From now on what is said is masked (room `redact`). */
void messages_redact(void);
/** Of a wrong command line: says where help is. */
void complain_of_usage(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
/** "LABEL: MESSAGE", or MESSAGE alone where it begins with the label. */
void complain_about(const char *label, const char *message);

/**
 * The same of a process, with "process PID" as label unless the message names the process. Where it
 * advises to call this program, the command that was called is named.
 */
void complain_of_process(int pid, const char *message);

/* ---- progress of work that a child does ---- */

/**
 * From the first second on a line of a terminal says "WHAT NAME, 3 s", until a message comes or
 * progress_end() is called, here or in a child; once a program.
 * @param path  its last part is the name. Both live on.
 */
void progress_begin(const char *what, const char *path);
/** Milliseconds until progress_tell() has something to say; -1: it has not. */
int progress_wait(void);
void progress_tell(void);
/** Erases the line; before anything else is written. Nothing is told from then on. */
void progress_end(void);

/** Text of a target, with no character that could drive a terminal: text_add_escaped(). */
void put_safely(FILE *file, const char *text);

#endif
