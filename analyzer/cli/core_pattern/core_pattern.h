/**
 * @file
 * Room `cli/core_pattern`: where the kernel puts core files, by /proc/sys/kernel/core_pattern and
 * core_uses_pid (core(5), "Naming of core dump files"; fs/coredump.c of Linux).
 */
#ifndef PSC_CORE_PATTERN_H
#define PSC_CORE_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

enum core_destination {
    CORE_NOWHERE,  /**< An empty pattern: none is written. */
    CORE_RELATIVE, /**< In the working directory of the process that dies. */
    CORE_ABSOLUTE,
    CORE_PIPE,  /**< To the standard input of a program. */
    CORE_SOCKET /**< To who listens at a socket (Linux 6.16). */
};

struct core_pattern {
    enum core_destination destination;
    bool adds_pid;  /**< ".PID" is put behind a name without %p. */
    char text[256]; /**< Without the end of its line; the kernel takes 127 bytes. */
};

/** Asks the kernel; false, with errno, when it does not tell. */
bool core_pattern_read(struct core_pattern *ret);
/** The same of a text. */
void core_pattern_take(struct core_pattern *ret, const char *text, bool adds_pid);
/** Whether cores of two processes in one folder have different names for sure. */
bool core_pattern_names_pid(const struct core_pattern *pattern);
/** The program behind a pipe, malloc'd; NULL: out of memory. */
char *core_pattern_program(const struct core_pattern *pattern);
/**
 * What glob(3) finds the core of a process with, malloc'd; NULL: out of memory, or it is no file's.
 * @param folder  its working directory.
 * @param pid     0: of any process.
 */
char *core_pattern_glob(const struct core_pattern *pattern, const char *folder, int32_t pid);
/** The folder that a core goes to, malloc'd; NULL as above, and where its name is not fixed. */
char *core_pattern_folder(const struct core_pattern *pattern, const char *folder);

#endif
