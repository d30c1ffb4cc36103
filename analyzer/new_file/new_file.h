/**
 * @file
 * Room `new_file`: a file that appears as a whole, or not at all. For the library and the program;
 * needs nothing of either.
 *
 * The program is run by root in folders where others may write: no link that somebody else has put
 * there leads to what is written, and nobody reads what was for the owner alone.
 */
#ifndef PSC_NEW_FILE_H
#define PSC_NEW_FILE_H

#include <sys/types.h>

enum new_file_flag {
    /** Only its owner may read it, whatever the file that it replaces allowed. */
    NEW_FILE_PRIVATE = 1,
    /**
     * The user has given the name: a link that is his own or root's is followed. Without this, and
     * other users' links always, the link is replaced.
     */
    NEW_FILE_FOLLOWS_OWN_LINKS = 2
};

struct new_file {
    int fd;          /**< -1: none. */
    char *path;      /**< Where it shall be. */
    char *temporary; /**< Where it is; NULL: it has no name yet. */
    mode_t mode;     /**< That it will have. */
};

/**
 * Makes a file beside `path`, of which nobody knows a name where the file system can do that, so
 * that nothing stays behind when the program is killed. It will have the rights of the file that it
 * replaces, if that is the user's, else what the umask leaves; of a file of another user's no more
 * than that allows.
 * @param flags  enum new_file_flag bits.
 * @return 0 or errno: EISDIR for a folder, EINVAL for what is no regular file otherwise.
 */
int new_file_open(struct new_file *file, const char *path, unsigned int flags);
/** Puts the file in its place, over what is there; closes it in any case. 0 or errno. */
int new_file_keep(struct new_file *file);
/** Closes the file, and leaves nothing; also when there is none. */
void new_file_drop(struct new_file *file);

/**
 * Opens for writing what is there and no regular file: a terminal, a pipe, /dev/null.
 * @return the descriptor, or -1: errno says why. EPERM: a pipe that another user has put into a
 * folder where everybody may; EEXIST: a regular file by now.
 */
int new_file_open_special(const char *path);

/**
 * A file that never has a name: in memory (memfd_create(2)), or, where a container's filter refuses
 * that, below TMPDIR, in /tmp or in /var/tmp.
 * @param name  what /proc shows of it.
 * @return its descriptor, close-on-exec; -1 and errno, of memory.
 */
int new_file_open_unnamed(const char *name);

#endif
