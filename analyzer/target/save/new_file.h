/** @file A file that appears as a whole, or not at all. */
#ifndef PSC_NEW_FILE_H
#define PSC_NEW_FILE_H

#include "base.h"

struct new_file {
    int fd;          /**< -1: none. */
    char *path;      /**< Where it shall be. */
    char *temporary; /**< Where it is; NULL: it has no name yet. */
};

/**
 * Makes a file beside `path` that only its owner may read. It has no name where the file system can
 * do that, so that nothing stays behind when the program is killed.
 */
PSC_MUST_CHECK enum psc_status new_file_open(struct new_file *file, const char *path,
                                             struct psc_error *err);
/** Puts the file in its place, over what is there; closes it in any case. 0 or errno. */
int new_file_keep(struct new_file *file);
/** Closes the file, and leaves nothing; also when there is none. */
void new_file_drop(struct new_file *file);

#endif
