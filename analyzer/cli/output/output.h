/** Where reports go: a file is there whole or not at all. */
#ifndef PSC_OUTPUT_FILE_H
#define PSC_OUTPUT_FILE_H

#include "new_file.h"

#include <stdbool.h>
#include <stddef.h>

/** Standard output, a special file, or a new one that will replace what has its name. */
struct output_file {
    int fd;
    int error;   /**< errno of what failed. */
    bool is_new; /**< `replacing` is in use. */
    struct new_file replacing;
};

/**
 * NULL is standard output. False: file->error says why; to be closed nevertheless.
 * @param is_private  nobody but the owner may read a file that is made.
 */
bool open_output(struct output_file *file, const char *path, bool is_private);
/** Keeps the file only when all went well; else file->error says why. */
bool close_output(struct output_file *file, bool good);
/** A psc_write_fn; `context` is a struct output_file. */
int write_output(void *context, const char *bytes, size_t size);

#endif
