/**
 * @file
 * Room `cli/passed_files`: messages with open files in them, between processes of this program
 * (unix(7), SCM_RIGHTS). Calls only what signal-safety(7) lists.
 */
#ifndef PSC_PASSED_FILES_H
#define PSC_PASSED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/** Files of one message at most. */
#define PASSED_FILES 8

/**
 * Sends one message.
 * @param parts  of its bytes, one behind the other.
 * @param files  which stay the caller's.
 * @return false and errno: nothing was sent. No signal is raised where nobody is left to receive.
 */
bool passed_files_send(int socket, const struct iovec *parts, size_t part_count, const int *files,
                       size_t file_count);
/**
 * Receives one message.
 * @param ret_files  `file_count` descriptors, close-on-exec, the caller's; -1 each where the
 *                   message has not just so many.
 * @return its bytes; 0: nobody sends any more; -1 and errno: EMFILE where there was no room for the
 *         files.
 */
ssize_t passed_files_receive(int socket, void *bytes, size_t size, int *ret_files,
                             size_t file_count);

#endif
