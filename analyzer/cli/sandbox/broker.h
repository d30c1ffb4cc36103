/**
 * @file The two ends of a socket: a parser that may open nothing, and the parent that does it.
 * A taken-over parser can send whatever it likes.
 */
#ifndef PSC_BROKER_H
#define PSC_BROKER_H

#include "sandbox.h"

#include <limits.h>
#include <stdint.h>

/** What is asked for. */
enum broker_wish {
    BROKER_FILE,    /**< A regular file. */
    BROKER_IN_ROOT, /**< One below the folder whose descriptor comes with the question. */
    BROKER_FOLDER,  /**< A folder: as a root, or to be looked through. */
    /** Whatever it is, to ask for its status alone (open(2), O_PATH); a folder may come with it. */
    BROKER_STATUS,
    BROKER_STATUS_OF_LINK, /**< The same of a link itself. */
    BROKER_LINK,           /**< What a link of /proc leads to: the answer is text. */
    BROKER_LINKS,          /**< All links of a folder /proc/PID/fd: a file of struct broker_link. */
    BROKER_SOCKETS,        /**< A socket of sock_diag(7), without a path. */
    BROKER_ORDER           /**< See sandbox_order(): struct broker_order. */
};

/** One message; the path ends with a zero. */
struct broker_question {
    uint32_t wish; /**< enum broker_wish */
    char path[PATH_MAX];
};

/** In place of a struct broker_question. */
struct broker_order {
    uint32_t wish; /**< BROKER_ORDER */
    int32_t pid;
    uint32_t what;
};

/** One link of BROKER_LINKS, with its text behind it. */
struct broker_link {
    int32_t descriptor;
    uint32_t size; /**< Of the text; 0: all links up to this one that may be had are told. */
};

/** The other one: a descriptor with it, or text, unless there is an error. */
struct broker_answer {
    int32_t error; /**< errno; 0: none. */
    char text[PATH_MAX];
};

/** Answers until the parser has closed its end. */
void broker_serve(int socket, pid_t parser, const struct sandbox_rules *rules);

/**
 * The file or folder of /proc that a parser of a living process may have: of the process itself
 * what its threads wait for, of its relatives which pipes and sockets they have, of all others what
 * everybody may know. -1 and errno: ENOENT for a path that is none of these.
 */
int broker_open_process_file(const struct sandbox_rules *rules, const char *path, bool folder);
/** The root of a process that is looked at, as the library names it, to open files in; -1. */
int broker_open_process_root(const struct sandbox_rules *rules, const char *path);
/** A file with what the links of such a folder lead to; -1 and errno. */
int broker_list_process_links(const struct sandbox_rules *rules, const char *path);
/** What such a link leads to; the length of the text, or -1 and errno. */
ssize_t broker_read_process_link(const struct sandbox_rules *rules, const char *path, char *ret,
                                 size_t size);
/**
 * Of a file below a folder of /proc, whose descriptor the parser has sent: the path, of a process
 * that is traced. False and errno: it is none.
 */
bool broker_name_process_path(const struct sandbox_rules *rules, int folder, const char *path,
                              char ret[PATH_MAX]);
/** Those of the rules, or that are traced. */
const struct sandbox_owner *broker_owners(const struct sandbox_rules *rules, size_t *ret_count);
/** Whether one of the owners is a living process. */
bool broker_has_process(const struct sandbox_rules *rules);

/**
 * In place of a folder's descriptor, with an absolute path, for which it says nothing: such a call
 * of readlinkat(2) is the handler's own and passes the filter.
 */
#define BROKER_OWN_READLINK (-4711)

/** Whether system calls that are trapped can be answered, on this machine. */
bool broker_can_ask(void);
/** From now on they are, by questions. */
void broker_ask_for_traps(int socket);
/** The socket that is asked by; -1: none. */
int broker_asked_socket(void);

#endif
