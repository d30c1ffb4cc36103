/** A child that makes reports of cores, one after the other as it is told. */
#ifndef PSC_CORE_CHILD_H
#define PSC_CORE_CHILD_H

#include "triage_private.h"

#include "sandbox.h"

/** A child's exit code: what it was to look at is no core. */
#define EXIT_NO_CORE 5

/** What it answers for the number of a core. */
struct core_answer {
    int code; /**< As an exit code. */
    int more; /**< 0: it ends: it has looked at the core itself, and takes no other one. */
};

struct core_child {
    const struct triage_options *options;
    const struct core_list *cores;
    int orders; /**< SOCK_SEQPACKET: numbers of cores, as uint32_t. */
    int output, said;
    int keeper; /**< -1: none. */
    pid_t parent;
};

/** In the child; ends it. */
_Noreturn void core_child_run(const struct core_child *child);
/** Starts a keeper for all children; false: there is none. */
bool core_child_start_keeper(const struct triage_options *options, struct sandbox_keeper *ret);

#endif
