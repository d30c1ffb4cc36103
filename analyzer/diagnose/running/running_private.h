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

/* ---- package_site.c ---- */

/** Of all files that are read for one module. */
#define PACKAGE_SITE_BYTES ((size_t)128 << 20)

/** A folder in which packages are installed. */
struct package_site {
    const struct target *target;
    const char *here;   /**< Its path on this machine. */
    const char *inside; /**< The module's path below it. */
    char **names;       /**< malloc'd, of those files in it that tell of packages. */
    size_t count;
    size_t capacity;
    size_t bytes_left;
};

/** Whether a name ends so, and has more in front of that. */
bool package_name_ends(const char *name, const char *ending);
/**
 * Reads a file of a folder in the site.
 * @param name  empty: the folder's name is that of the file.
 * @return malloc'd, or NULL: it cannot be read.
 */
char *package_site_read(struct package_site *site, const char *folder, const char *name,
                        size_t *ret_size);
/** Takes those names of an opened folder that are wanted; false where there is none. */
bool package_site_list(struct package_site *site, int folder_fd, bool (*wanted)(const char *name));
void package_site_deinit(struct package_site *site);
/** Whether the file of that path from an opened folder on is the one that the process has mapped.
 */
bool package_is_same_file(int folder_fd, const char *inside, const struct target_file *file);

/* ---- conda_packages.c ---- */

/** The package of conda's that a mapped file has come with, its strings in the arena. */
bool running_find_conda_package(const struct target *target, const struct target_file *file,
                                struct arena *arena, struct trace_package *ret);

/* ---- conda_record.c ---- */

/**
 * The package of a file conda-meta/NAME-VERSION-BUILD.json (conda's PrefixRecord: "files", and in
 * "paths_data" the same with more), where that lists a file.
 * @param path  of the file, from the prefix on.
 * @param ret   its strings are in the arena.
 */
bool parse_conda_record(const char *text, size_t size, const char *path, struct arena *arena,
                        struct trace_package *ret);

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
