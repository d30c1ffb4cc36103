/**
 * @file
 * The one who makes processes that look at cores, and what it tells of them. It keeps rights, and
 * reads nothing of what they write.
 */
#ifndef PSC_CORE_RUNS_H
#define PSC_CORE_RUNS_H

#include "triage_private.h"

#define SAID_SIZE 1000u /**< Of what a child says of a core, with a zero behind it. */

/** A core was looked at. The report comes with it: a file, to be read before core_runs_release().
 */
struct core_end {
    uint32_t core;  /**< Index in the list. */
    uint32_t run;   /**< For core_runs_release(). */
    int32_t status; /**< Of waitpid(2). */
    char said[SAID_SIZE];
};

/** In the one who started it, and in its children. */
struct core_runs {
    pid_t pid;  /**< 0: there is none. */
    int socket; /**< SOCK_SEQPACKET; -1: none. */
};

/**
 * Starts it. false, and said so: it cannot be.
 * @param waits  it begins when core_runs_begin() says which cores are wanted; else with all.
 */
bool core_runs_start(const struct triage_options *options, const struct core_list *cores,
                     bool waits, struct core_runs *ret);
/** Ends it with all its children, after core_runs_close() of a child that had its socket. */
void core_runs_end(struct core_runs *runs);

/* ---- core_ends.c: for the one who reads the reports, which needs no rights ---- */

/** `wanted` has an item for each core of the list. false: there is nobody to be told. */
bool core_runs_begin(const struct core_runs *runs, const bool *wanted, size_t count);
/** Waits for the next one. @return its file; -1: there is none, for whatever reason. */
int core_runs_next(const struct core_runs *runs, struct core_end *ret);
/** The run may look at another core. */
void core_runs_release(const struct core_runs *runs, const struct core_end *end);
/** Takes the report out of such a file, or says why there is none. false: out of memory. */
bool core_end_take(const struct triage_options *options, const struct core_end *end, int file,
                   struct core_report *report);

#endif
