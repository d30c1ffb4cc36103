/** @file Filters of system calls (seccomp(2)), as tables. */
#ifndef PSC_CALL_FILTERS_H
#define PSC_CALL_FILTERS_H

#include <stdbool.h>

/**
 * For the whole program: forbids what nothing in it does (network, other programs, other processes'
 * memory and signals, the kernel's own affairs).
 */
bool system_calls_forbid_foreign(void);

/**
 * Beside that one, for who traces: forbids all that changes files, and to open any for writing.
 * What is open stays as it is.
 */
bool system_calls_forbid_changes(void);

/** What a parser may do beside reading what it has. */
struct parsing_calls {
    int broker;       /**< The socket to the broker; -1: there is none. */
    int heard;        /**< Another one that messages are received by; 0: there is none. */
    bool asks_system; /**< Asks for what /proc and sock_diag(7) say of a process, too. */
    bool terminal;    /**< Changes how the terminal works. */
};

/**
 * For a parser: allows what works with memory and with what is open already. open(2) and its like
 * raise SIGSYS where a broker is asked, else they fail with EPERM, as all others do.
 */
bool system_calls_allow_parsing(const struct parsing_calls *calls);

/**
 * For the parent of parsers: the same, and processes like it, which give that up in their turn,
 * pipes, and messages from a second socket.
 */
bool system_calls_allow_keeping(int broker, int control);

#endif
