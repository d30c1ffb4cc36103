/** Where reports go: a file is there whole or not at all. */
#ifndef PSC_OUTPUT_FILE_H
#define PSC_OUTPUT_FILE_H

#include "base.h"
#include "new_file.h"

#include <stdbool.h>
#include <stddef.h>

/** Standard output, a special file, or a new one that will replace what has its name. */
struct output_file {
    int fd;
    int error;      /**< errno of what failed. */
    uint64_t taken; /**< Bytes that were given to write_output() or write_masked(). */
    bool is_new;    /**< `replacing` is in use. */
    struct new_file replacing;
};

/**
 * NULL is standard output. False: file->error says why; to be closed nevertheless.
 * @param is_private  nobody but the owner may read a file that is made.
 */
bool open_output(struct output_file *file, const char *path, bool is_private);
/** Keeps the file only when all went well; else file->error says why. */
bool close_output(struct output_file *file, bool good);
/** What goes to a file once it is masked (room `redact`): all of it at the end. */
struct masked_output {
    struct output_file *file;
    struct text held;
};
/** A psc_write_fn; `context` is a struct masked_output. */
int write_masked(void *context, const char *bytes, size_t size);
/** Masks and writes what is held, which is freed. False: file->error says why. */
bool end_masked(struct masked_output *output);

/** A psc_write_fn; `context` is a struct output_file. */
int write_output(void *context, const char *bytes, size_t size);

#endif
