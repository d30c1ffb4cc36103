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
#include <stdint.h>
#include <sys/types.h>

/** Whose process or core it is: text that he may not read himself is not opened. */
struct sandbox_owner {
    uid_t user;
    gid_t group;
    pid_t pid; /**< Of a living process, whose root is looked into; 0: none. */
    /** Its folder in /proc, opened before it was looked at: no other has it; or -1. */
    int folder;
};

/** Processes that a parser is told of at once, when it looks at some again and again. */
#define SANDBOX_TRACED 4096

/**
 * Processes that this one traces for a parser: the first of them, and with `children` those that
 * the kernel tells as children of one of them when the parser asks for these.
 */
struct sandbox_traced {
    struct sandbox_owner owners[SANDBOX_TRACED];
    /** Of each of them, for when it has ended; inode 0: not known. */
    struct sandbox_root {
        dev_t device;
        ino_t inode;
    } roots[SANDBOX_TRACED];
    size_t count;
    bool children;
    /**
     * Does what sandbox_order() has asked for, while the parser waits, with a process that is one
     * of them.
     * @param what  whatever it has sent.
     * @return 0 or errno.
     */
    int (*serve)(void *context, const struct sandbox_owner *owner, uint32_t what);
    void *context;
};

/** Adds a process, if there is one and there is room. */
void sandbox_trace(struct sandbox_traced *traced, int32_t pid);
/** Adds none any more, and closes what is open. */
void sandbox_trace_end(struct sandbox_traced *traced);

/** What the child may ask for; all of it is the caller's. */
struct sandbox_rules {
    const struct sandbox_owner *owners;
    size_t owner_count;
    struct sandbox_traced *traced; /**< In their place; or NULL. */
    bool terminal;                 /**< It may change how the terminal works. */
    void (*killed)(void);          /**< Before it is told that a signal has ended it; or NULL. */
    const char *sysroot;           /**< Or NULL. */
    const char *const *folders;    /**< That the user named, to be looked through. */
    size_t folder_count;
    const char *const *files; /**< That the user named, to be read whatever is in them. */
    size_t file_count;
    bool own_only; /**< Files that another user but root can write are not opened. */
    /** The user's own folder of sources, which are read whoever else may; or NULL. */
    const char *sources;
    int heard; /**< A socket by which it may receive messages, with files in them; 0: none. */
};

/**
 * For the whole program, before anything of others is read: no new rights (execve(2) of files with
 * more), no network, no program started, nothing written to another process, none signalled, no
 * capability but those that looking at a process and writing a file need. For good.
 */
void sandbox_begin(void);
/**
 * The same for one who traces a process for long: no file is written but what is open, none made,
 * named, removed or changed, and of the capabilities only those that tracing and reading need
 * stay. Landlock would forbid to trace (landlock(7)). Done by sandbox_run() with the rules of such
 * a one.
 */
void sandbox_begin_tracing(void);

/**
 * Runs the work in a child (here, where that was done) that can open nothing but what the rules
 * allow, for reading.
 * @param work  its return value, 0 to 255, is the child's exit code. What it changes in memory is
 *              lost but for what is mapped as shared.
 * @return that; EXIT_NOTHING, and said so, when the child died. Where no child can be made the work
 *         is done here.
 */
int sandbox_run(const struct sandbox_rules *rules, int (*work)(void *context), void *context);

/**
 * Of a parser whose rules have processes that are traced: asks for `what`, a number that both know,
 * with one of them. False: it was refused, or nobody is left who could.
 */
bool sandbox_order(int32_t pid, uint32_t what);

/** Closes what is open here but standard streams and those of a list, of which -1 is none. */
void sandbox_close_others(const int *kept, size_t count);

/* ---- a parser that was prepared ---- */

/** What a parser is to look at. */
struct sandbox_task {
    const void *text; /**< The asker's. */
    size_t size;
    int file;             /**< That he has opened. */
    int lessons;          /**< Of the parser alone: to be written, for learn(). */
    unsigned int seconds; /**< SIGALRM ends the parser then; 0: never. */
};

/** Bytes of a task's text, and of lessons. */
#define SANDBOX_TASK_LIMIT   16384
#define SANDBOX_LESSON_LIMIT ((size_t)1 << 20)

/**
 * What a keeper does. It is a process without rights that reads nothing but files of this machine,
 * and makes a child of itself for each task: what it keeps in memory its children have, and nothing
 * that they change is seen by it or by the next one.
 */
struct sandbox_keeping {
    bool (*begin)(void *context); /**< In the keeper; false: it ends. */
    void (*learn)(void *context, const void *bytes, size_t size); /**< The same. */
    /** In a child; its return value, 0 to 255, is the exit code. */
    int (*work)(void *context, const struct sandbox_task *task);
    void *context;
};

struct sandbox_keeper {
    pid_t pid;   /**< Of the one who opens its files; 0: there is none. */
    int control; /**< -1: the same. */
};

/**
 * Starts one, which ends with sandbox_keeper_end(), or with this process.
 * @param rules  for what it learns; a child asks for files by those of its task.
 * @return false where it cannot be shut in; it may end later for whatever reason.
 */
bool sandbox_keeper_start(const struct sandbox_rules *rules, const struct sandbox_keeping *keeping,
                          struct sandbox_keeper *ret);
void sandbox_keeper_end(struct sandbox_keeper *keeper);
/**
 * As sandbox_run(), in a child of the keeper: its standard output and error are those of here, its
 * limit of memory that of here beside what the keeper has.
 * @return false: there is no keeper any more, and maybe something was written.
 */
bool sandbox_run_kept(int control, const struct sandbox_rules *rules,
                      const struct sandbox_task *task, int *ret_code);

/** Gives up all rights to open anything, here and for good: for what reads only what is open. */
void sandbox_close_all(void);

/** One line on what has been given up here; "" when nothing was. */
const char *sandbox_describe(void);

#endif
