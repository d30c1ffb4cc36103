/**
 * @file
 * A file's bytes, copied: a mapping of a file that becomes shorter meanwhile kills whoever reads it
 * (SIGBUS, mmap(2)), and sources are what people edit while they look at a process.
 */
#ifndef PSC_FILE_BYTES_H
#define PSC_FILE_BYTES_H

#include <stddef.h>

/**
 * The bytes of a regular file, as many as there are when it is read, malloc'd; NULL when it is
 * another kind of file, empty, larger than `limit`, not readable, or when there is no memory.
 */
char *file_bytes_read(int fd, size_t limit, size_t *ret_size);

#endif
