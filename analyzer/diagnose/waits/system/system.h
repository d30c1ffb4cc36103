/**
 * @file
 * Room `diagnose/waits/system`: what the system tells of a living process, by /proc and sock_diag:
 * where a thread sleeps, what a descriptor is, and who has its other end. Shown, not relied upon:
 * what cannot be read is not known. Nothing here waits for long: files of /proc and a socket of
 * netlink, and some milliseconds for threads that were stopped to be where they were.
 */
#ifndef PSC_SYSTEM_H
#define PSC_SYSTEM_H

#include "base.h"

#define SYSTEM_TEXT 256

enum system_file {
    SYSTEM_UNKNOWN,
    SYSTEM_PIPE,
    SYSTEM_SOCKET,
    SYSTEM_TERMINAL,
    SYSTEM_EPOLL,
    SYSTEM_EVENT,   /**< eventfd */
    SYSTEM_TIMER,   /**< timerfd */
    SYSTEM_PROCESS, /**< pidfd */
    SYSTEM_OTHER,   /**< Another without a path: inotify, signalfd, io_uring. */
    SYSTEM_PATH
};

/** A descriptor of a process. */
struct system_descriptor {
    enum system_file kind;
    uint64_t inode; /**< Of pipes and sockets. */
    bool reads;     /**< How it was opened. */
    bool writes;
    char text[SYSTEM_TEXT]; /**< "/dev/pts/0", "pipe", "TCP 127.0.0.1:80 to 127.0.0.1:5000". */
    bool has_peer;          /**< Of a socket: the inode of the other end is known. */
    uint64_t peer;
    int32_t process;    /**< Of a pidfd; 0: none. */
    bool has_time_left; /**< Of a timer: seconds. */
    double time_left;
};

struct system;

/** NULL: out of memory. */
struct system *system_create(int32_t pid);
/** Frees all; NULL is none. */
void system_destroy(struct system *system);

/** False: it is not there, or may not be looked at. */
bool system_describe(struct system *system, int fd, struct system_descriptor *ret);
/** Whether a path is a FIFO to the process, beginning with a folder that it has open (or AT_FDCWD).
 */
bool system_is_fifo(const struct system *system, int folder, const char *path);
/** The descriptors that an epoll watches, at most `limit`. @return how many. */
size_t system_list_epoll(struct system *system, int fd, int *ret, size_t limit);

/** A process that has the other end of a pipe or socket. */
struct system_end {
    int32_t pid;   /**< 0: nobody who could be found. */
    bool only;     /**< Nobody else of those who could be asked has it. */
    bool stopped;  /**< By a signal. */
    char name[32]; /**< Of the program. */
};

/**
 * Who has the other end: the process itself, its relatives, and those of its session.
 * @param for_reading  the descriptor is read from.
 */
void system_find_end(struct system *system, const struct system_descriptor *descriptor,
                     bool for_reading, struct system_end *ret);

/** The name of a process; false: it is not there. `ret_stopped`: a signal has stopped it. */
bool system_name_process(int32_t pid, char ret[32], bool *ret_stopped);
/** The process of a thread, and the parent of this system's process; 0: not known. */
int32_t system_find_process(const struct system *system, int32_t tid, int32_t *ret_parent);
/** A child of the process; the number of its children. */
size_t system_find_child(struct system *system, int32_t *ret);
/** Who has the lock on a file that the process waits for (/proc/locks); 0: not known. */
int32_t system_find_lock_owner(const struct system *system);

#define SYSTEM_SHARED_TEXT 64
/**
 * Which memory of those that processes share an address is, alike in all of them: device, inode and
 * offset, "0:1b:1453+0"; false: it is not shared.
 */
bool system_find_shared(const struct system *system, psc_addr address,
                        char ret[SYSTEM_SHARED_TEXT]);

/** Whether a thread is still in a system call with that first argument, and where it sleeps. */
bool system_find_place(struct system *system, int32_t tid, uint64_t argument, char ret[64]);
/** Where in the kernel a thread sleeps (wchan); false: it does not, or that is not told. */
bool system_find_function(const struct system *system, int32_t tid, char ret[64]);

#endif
