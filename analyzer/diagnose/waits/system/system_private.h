/** @file What the files of room `diagnose/waits/system` share. */
#ifndef PSC_SYSTEM_PRIVATE_H
#define PSC_SYSTEM_PRIVATE_H

#include "system.h"

/** A process that may have an other end. */
struct system_relative {
    int32_t pid;
    int32_t parent;
    int32_t session;
    bool stopped; /**< By a signal. */
    char name[32];
};

/** A descriptor of one of them that is a pipe or a socket. */
struct system_open {
    uint64_t inode;
    bool socket;
    bool reads;
    bool writes;
    size_t relative; /**< Whose it is. */
};

struct system {
    int32_t pid;
    bool same_network; /**< As this program: sock_diag can be asked. */
    unsigned patience; /**< Milliseconds that are waited for threads that run. */
    bool listed;       /**< The next members are there. */
    struct system_relative *relatives;
    size_t relative_count;
    struct system_open *opened;
    size_t open_count;
};

/** At most size - 1 bytes of a file of /proc, terminated; false: it cannot be read. */
bool system_read_file(const char *path, char *buffer, size_t size);
/** What a descriptor leads to, without its text; false: it is not there. */
bool system_read_link(int32_t pid, int fd, struct system_descriptor *ret);
/** Bits of how it was opened. */
void system_read_mode(int32_t pid, int fd, struct system_descriptor *ret);
/** Fills text and peer of a socket. */
void system_describe_socket(struct system *system, struct system_descriptor *ret);

#endif
