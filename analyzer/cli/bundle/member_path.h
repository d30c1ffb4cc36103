/** Paths of members: without a root, without "." and "..". */
#ifndef PSC_MEMBER_PATH_H
#define PSC_MEMBER_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define MEMBER_PATH_SIZE 4096

/**
 * The components of a path, as if it began at the root: "a/b" of "/../a//x/../b/.". False when it
 * is too long, or nothing is left.
 */
bool member_path(const char *path, char ret[MEMBER_PATH_SIZE]);

#endif
