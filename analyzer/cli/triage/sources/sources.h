/**
 * @file
 * Room `cli/triage/sources`: lines of source files, and which frames are of the repository whose
 * tests or jobs have died.
 */
#ifndef PSC_TRIAGE_SOURCES_H
#define PSC_TRIAGE_SOURCES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/** A repository, and source files that were read lately. */
struct sources;

/**
 * @param repository  its folder; NULL: what GITHUB_WORKSPACE names, else the working directory.
 * @return NULL: out of memory.
 */
struct sources *sources_open(const char *repository);
void sources_close(struct sources *sources);
/** @param words  options of a single report, as "--source-map=FROM=TO"; they stay in use. */
void sources_take_options(struct sources *sources, char *const *words, size_t count);
/**
 * What sources_frame_line() gives is masked from now on (room `redact`), with what this report says
 * is secret, where it is not masked itself. false: out of memory.
 */
bool sources_mask(struct sources *sources, const char *report);
/** The repository's folder, without links; NULL: there is none, or it is the root of all. */
const char *sources_folder(const struct sources *sources);

/**
 * A line of a file without its end and without the blanks before it; NULL: there is no such file
 * or line here. Valid until the next call.
 */
const char *sources_line(struct sources *sources, const char *path, long long line,
                         size_t *ret_size);
/** The same of a frame, whose file may be another's within the repository. */
const char *sources_frame_line(struct sources *sources, const json_t *frame, size_t *ret_size);

/**
 * The file of a frame, below the repository. A process that ran elsewhere (in a container) named
 * it otherwise: then it is the file with the longest equal end of the name that has the frame's
 * line and names its function. Valid until the next call; NULL: it is none of the repository's.
 */
const char *sources_path(struct sources *sources, const json_t *frame);
/** The innermost visible frame of the repository, and its path as above; NULL: there is none. */
const json_t *sources_nearest(struct sources *sources, const json_t *frames, const char **ret_path);

/**
 * Whether a frame is of the program itself: Python's, Cython's, outside of the interpreter's
 * library and of installed packages.
 */
bool frame_is_own(const json_t *frame);

#endif
