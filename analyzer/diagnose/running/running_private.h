/** @file What the files of room `diagnose/running` share. */
#ifndef PSC_RUNNING_PRIVATE_H
#define PSC_RUNNING_PRIVATE_H

#include "running.h"

#include "live.h"

/* ---- variable_names.c ---- */

/** Whether a variable is one of those that a report may show, the first `size` bytes its name. */
bool running_shows_variable(const char *name, size_t size);

/* ---- environment.c ---- */

/** Variables of the list, each once; malloc'd. */
struct running_variables {
    struct trace_variable *items; /**< Their strings are in the arena that was given. */
    size_t count;
    size_t capacity;
};

/** False: the environment cannot be read as it is now, for nothing tells where it lies. */
bool running_read_environment(struct modules *modules, struct arena *arena,
                              struct running_variables *ret);
/** The same of the one that the process began with. */
bool running_read_initial(struct target *target, struct arena *arena,
                          struct running_variables *ret);
/** Takes the variables of "NAME=VALUE" strings, each with its zero; the last may lack it. */
void parse_environment(const char *text, size_t size, struct arena *arena,
                       struct running_variables *ret);
/** The value of a variable, or NULL. */
const char *running_find_variable(const struct trace_running *running, const char *name);

/* ---- memory_kinds.c ---- */

/**
 * Fills the memory of *ret, in the arena.
 * @param facts  of a living process, or NULL.
 */
void running_sum_memory(const struct target *target, const struct live_facts *facts,
                        struct arena *arena, struct trace_running *ret);

/* ---- packages.c ---- */

/** Fills the packages of *ret, in the trace's arena. */
void running_find_packages(struct modules *modules, const struct psc_trace *trace,
                           struct trace_running *ret);

/* ---- package_files.c ---- */

/**
 * Whether the RECORD of an installed distribution lists a file (packaging.python.org, "Recording
 * installed projects": lines of CSV, a path first, which is quoted where it has a comma or quote).
 * @param path  relative to the folder that the distribution is installed in.
 */
bool parse_record(const char *text, size_t size, const char *path);
/**
 * A field of the header of METADATA or PKG-INFO ("Core metadata specifications": "Name: numpy"),
 * which ends at the first empty line.
 * @param name  in the file's spelling, "Version".
 * @return its first byte in the text, with its length, or NULL.
 */
const char *parse_metadata_field(const char *text, size_t size, const char *name,
                                 size_t *ret_length);
/** Whether a line of text is just these words: of top_level.txt. */
bool parse_has_line(const char *text, size_t size, const char *line);

/* ---- current_test.c ---- */

/** Test, worker and rank, by the environment. */
void running_name_test(struct arena *arena, struct trace_running *running);

#endif
