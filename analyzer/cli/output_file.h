/** Where reports go: a file is there whole or not at all. */
#ifndef PSC_OUTPUT_FILE_H
#define PSC_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/** Standard output, a special file, or a temporary one to be renamed. */
struct output_file {
    int fd;
    int error;       /**< errno of the write that failed. */
    char *path;      /**< NULL: nothing to rename. */
    char *temporary; /**< Or NULL. */
};

/** NULL is standard output. False: errno says why; to be closed nevertheless. */
bool open_output(struct output_file *file, const char *path);
/** Keeps the file only when all went well; else file->error says why. */
bool close_output(struct output_file *file, bool good);
/** A psc_write_fn; `context` is a struct output_file. */
int write_output(void *context, const char *bytes, size_t size);

#endif
