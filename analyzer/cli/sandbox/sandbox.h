/**
 * @file
 * Room `cli/sandbox`: what is parsed is parsed without rights. The program forks once files and
 * memory are at hand; the child gives up all that it does not need, and asks the parent for each
 * file. The parent opens what may be shown, and parses nothing.
 *
 * Where the kernel has no seccomp(2), or a container forbids it, the rest serves; where nothing of
 * it is possible the work is done all the same.
 */
#ifndef PSC_SANDBOX_H
#define PSC_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Whose process or core it is: text that he may not read himself is not opened. */
struct sandbox_owner {
    uid_t user;
    gid_t group;
    pid_t pid; /**< Of a living process, whose root is looked into; 0: none. */
    /** Its folder in /proc, opened before it was looked at: no other has it; or -1. */
    int folder;
};

/** What the child may ask for; all of it is the caller's. */
struct sandbox_rules {
    const struct sandbox_owner *owners;
    size_t owner_count;
    const char *sysroot;        /**< Or NULL. */
    const char *const *folders; /**< That the user named, to be looked through. */
    size_t folder_count;
    const char *const *files; /**< That the user named, to be read whatever is in them. */
    size_t file_count;
};

/**
 * For the whole program, before anything of others is read: no new rights (execve(2) of files with
 * more), no network, no program started, nothing written to another process, none signalled, no
 * capability but those that looking at a process and writing a file need. For good.
 */
void sandbox_begin(void);

/**
 * Runs the work in a child that can open nothing but what the rules allow, for reading.
 * @param work  its return value, 0 to 255, is the child's exit code. What it changes in memory is
 *              lost but for what is mapped as shared.
 * @return that; EXIT_NOTHING, and said so, when the child died. Where no child can be made the work
 *         is done here.
 */
int sandbox_run(const struct sandbox_rules *rules, int (*work)(void *context), void *context);

/** Gives up all rights to open anything, here and for good: for what reads only what is open. */
void sandbox_close_all(void);

/** One line on what has been given up here; "" when nothing was. */
const char *sandbox_describe(void);

#endif
