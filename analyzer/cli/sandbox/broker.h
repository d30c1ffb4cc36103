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
    BROKER_FILE,          /**< A regular file. */
    BROKER_IN_ROOT,       /**< One below the folder whose descriptor comes with the question. */
    BROKER_FOLDER,        /**< A folder: as a root, or to be looked through. */
    BROKER_STATUS,        /**< Whatever it is, to ask for its status alone (open(2), O_PATH). */
    BROKER_STATUS_OF_LINK /**< The same of a link itself. */
};

/** One message; the path ends with a zero. The answer is 0 and a descriptor, or errno, an int32. */
struct broker_question {
    uint32_t wish; /**< enum broker_wish */
    char path[PATH_MAX];
};

/** Answers until the parser has closed its end. */
void broker_serve(int socket, pid_t parser, const struct sandbox_rules *rules);

/** Whether system calls that are trapped can be answered, on this machine. */
bool broker_can_ask(void);
/** From now on they are, by questions. */
void broker_ask_for_traps(int socket);

#endif
