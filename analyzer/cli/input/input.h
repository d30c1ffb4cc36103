/**
 * @file
 * Room `cli/input`: files that the user named, and standard input, read as a whole.
 */
#ifndef PSC_INPUT_H
#define PSC_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** What was read so far. Zero-initialise. */
struct input {
    char *bytes; /**< With a zero behind the last one once anything was read. */
    size_t size;
    size_t capacity;
};

/**
 * Reads a file, or "-" for standard input, to its end; pipes and FIFOs are waited for.
 * @param label  what names the file in the sentence that says what is wrong, "--rules"; or NULL.
 * @param limit  bytes; a larger file is wrong.
 * @return false, and said so on standard error: it is a folder, not there, not readable, too large.
 */
bool input_read(struct input *input, const char *label, const char *path, size_t limit);
/** The same of an open file, from where it stands. @return 0 or errno; EFBIG: too large. */
int input_read_all(struct input *input, int fd, size_t limit);
/** Adds what one read(2) gives, which may be less than there is. @return as that; errno is set. */
ssize_t input_read_some(struct input *input, int fd);
void input_deinit(struct input *input);

/* ---- shrunk_files.c ---- */

/**
 * From now on an access behind the end of a mapped file that became shorter (SIGBUS, mmap(2)) ends
 * the program with a sentence that names the file, and with EXIT_NOTHING. A living process runs on,
 * as it does whenever its tracer ends. For the program alone: what a signal does is the business of
 * the program, not of the library.
 */
void shrunk_files_watch(void);

/**
 * Instead of that, for who works for long: what is missing of such a file reads as zeros from then
 * on, as it does in a copy. To be called where it is read: a child has its own handlers.
 */
void shrunk_files_fill(void);

/** How messages name a path: "-" is standard input. */
const char *input_name(const char *path);

#endif
