/**
 * @file
 * A path below a root, gone step by step, as where the kernel does not do it.
 */
#ifndef PSC_PATH_STEPS_H
#define PSC_PATH_STEPS_H

/**
 * Opens what a path below a folder leads to; neither ".." nor a link leads out of that.
 * @param root  descriptor of the folder, which stays the caller's.
 * @param flags  of open(2); with O_PATH anything, else a regular file or a folder alone.
 * @param ret_name  its path below `root`, with a slash at its beginning and without links, PATH_MAX
 *                  bytes; NULL: not asked for.
 * @return the descriptor, close-on-exec; or -1 and errno: EINVAL for what is neither.
 */
int path_steps_open(int root, const char *path, int flags, char *ret_name);

#endif
