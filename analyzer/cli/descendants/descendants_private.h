/** Shared by the files of room `cli/descendants` only. */
#ifndef PSC_DESCENDANTS_PRIVATE_H
#define PSC_DESCENDANTS_PRIVATE_H

#include "descendants.h"

/** A file that counts kills for lack of memory in a cgroup. */
struct kill_counter {
    char *path;
    uint64_t told; /**< As many are known. */
};

struct kill_counters {
    struct kill_counter **items;
    size_t count;
    size_t capacity;
};

/** One whose end was told, but which is in the list of processes until its parent has waited. */
struct zombie {
    pid_t pid;
    uint64_t started;
};

struct descendants {
    struct descendant *items;
    size_t count;
    size_t capacity;
    struct kill_counters counters;
    descendant_fn *on_end;
    void *context;
    uint64_t changes;
    struct zombie *zombies;
    size_t zombie_count;
    size_t zombie_capacity;
    pid_t hidden; /**< A child that is none of them. */
    int events;   /**< The kernel's connector, or -1. */
};

/* ---- process_facts.c ---- */

/** What /proc/PID/stat has. */
struct process_stat {
    char state;
    pid_t parent;
    uint64_t ticks;
    uint64_t started;
    uint64_t image; /**< Where its stack began: 0 where that is not told. */
    char name[32];
    int exit_code; /**< Of a zombie, as wait(2) has it; else 0, as for those without the right. */
};

/** false: there is no such process. */
bool process_stat_read(pid_t pid, struct process_stat *ret);
/** A file of /proc/PID, at most `limit` bytes, with a zero behind; malloc'd, or NULL. */
char *process_file_read(pid_t pid, const char *name, size_t limit, size_t *ret_size);
/** It runs another one now, and nothing is known of that. */
void process_forget_program(struct descendant *process);
/** Takes the name over; what it contradicts is forgotten. */
void process_name_take(struct descendant *process, const struct process_stat *stat);
/** How much it has written (proc_pid_io(5)). false: that is not told. */
bool process_written_read(struct descendant *process);
/** Seconds of processors that it has used, of a zombie, too. 0: that is not told. */
double process_used(pid_t pid);
/** Seconds that its threads could have run, but others did. 0: that is not told. */
double process_starved(pid_t pid);
/** Reads what may have changed since the last look. */
void process_facts_read(struct descendant *process, const struct process_stat *stat);

/* ---- last_test.c ---- */

/** Looks which test it is at, if it has set one itself. */
void last_test_read(struct descendant *process, double now);
/** Whether it is worth to look at it often. */
bool last_test_is_near(const struct descendant *process);
/** descendant's cut_short. @param is_there  nobody has waited for it. */
bool last_test_was_cut_short(struct descendant *process, bool is_there, double now);

/* ---- kill_counters.c ---- */

/** The counter of a process' cgroup; NULL: none that can be read. */
struct kill_counter *kill_counters_find(struct kill_counters *counters, pid_t pid);
/** Whether one more was counted than is known; it is known then. */
bool kill_counter_take(struct kill_counters *counters, const char *path);
void kill_counters_deinit(struct kill_counters *counters);

/* ---- process_events.c ---- */

/** A socket that tells of forks and ends of all processes; -1: not to us. */
int process_events_open(void);
/** Takes what the socket has told. */
void process_events_take(struct descendants *all);

/* ---- process_list.c ---- */

/** Index, or SIZE_MAX. */
size_t descendants_find(const struct descendants *all, pid_t pid);
void descendant_deinit(struct descendant *process);
/** Reads what may have changed of one. */
void descendants_look_at(struct descendants *all, size_t index);

/* ---- process_ends.c ---- */

/** It has ended with this status; it is told and forgotten. */
void descendants_end(struct descendants *all, size_t index, int status, const char *known_by);
/** It has ended, as its pidfd says: finds out how. */
void descendants_find_end(struct descendants *all, size_t index);

#endif
