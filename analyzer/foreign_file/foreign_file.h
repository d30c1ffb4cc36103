/**
 * @file
 * Room `foreign_file`: opening a file that somebody else has named or put there. A core file, a
 * process and its files say which files are read, and the reader may have more rights than they.
 */
#ifndef PSC_FOREIGN_FILE_H
#define PSC_FOREIGN_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Opens a regular file for reading, without waiting for anybody (a FIFO is none).
 * @param root  a folder that nothing leads out of: neither "..", nor a link, which begins there
 *              when it is absolute (openat2(2), RESOLVE_IN_ROOT). NULL: any file of this machine.
 * @param path  below `root`, with or without a slash at its beginning.
 * @return the descriptor, close-on-exec; or -1 and errno: EINVAL for what is no regular file.
 */
int foreign_file_open(const char *root, const char *path);
/** The same of a folder, whose names can be read then; EINVAL for what is none. */
int foreign_folder_open(const char *root, const char *path);
/** The two below a folder whose descriptor is given, which stays the caller's; -1: no root. */
int foreign_file_open_at(int root, const char *path);
int foreign_folder_open_at(int root, const char *path);
/** foreign_file_open() by steps, as where the kernel has no openat2(2) (before Linux 5.6). */
int foreign_file_open_by_steps(const char *root, const char *path);
/** foreign_file_open() as where /proc is not mounted, by which a found name is opened else. */
int foreign_file_open_without_proc(const char *root, const char *path);

/**
 * For "/proc/self/fd/NUMBER" where /proc is not mounted: another descriptor of what that one has
 * open, with the same place in it; close-on-exec. -1 and errno: ENOENT for any other path.
 */
int foreign_file_duplicate(const char *path);

/**
 * The name that the kernel gives an opened file, in which there are no links; where /proc is not
 * mounted, that which `path` below `root` (-1: of this machine) leads to, if it is the same file.
 * @return false: not known.
 */
bool foreign_file_get_name(int fd, int root, const char *path, char ret[PATH_MAX]);

/**
 * A copy of an opened file in memory, which nobody can make shorter (memfd_create(2), sealed): a
 * mapping of a file that becomes shorter kills whoever reads it (SIGBUS, mmap(2)). Holes stay
 * holes.
 * @return the copy's descriptor, close-on-exec, the file's own being closed; the file's own where
 *         it has more than FILE_COPY_LIMIT bytes beside its holes, or where memory is missing.
 */
int foreign_file_copy(int fd);

/** Bytes of one file that are copied into memory. */
#define FILE_COPY_LIMIT ((uint64_t)512 * 1024 * 1024)

/**
 * The same for a file that has to be mapped: one that does not fit into memory is copied into a
 * file without a name, below TMPDIR or in /var/tmp.
 * @return the copy's descriptor, the file's own being closed in any case; -1 and errno: it is empty
 *         (EINVAL), it has more than FILE_DISK_LIMIT bytes beside its holes (EFBIG), or than half
 * of what is free there (ENOSPC).
 */
int foreign_file_copy_to_map(int fd);

/** Bytes of one file that are copied into a file. */
#define FILE_DISK_LIMIT ((uint64_t)16 * 1024 * 1024 * 1024)

/**
 * Whether a user may read an opened file by its rights alone (inode(7)); groups beside his first
 * one are not asked for, nor access control lists. (uid_t)-1, (gid_t)-1: whether everybody may.
 */
bool foreign_file_user_may_read(int fd, uid_t user, gid_t group);
/** Whether he may search all folders of a name that foreign_file_get_name() has given. */
bool foreign_file_user_may_reach(const char *name, uid_t user, gid_t group);

#endif
