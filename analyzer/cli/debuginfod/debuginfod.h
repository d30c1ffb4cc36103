/**
 * @file
 * Room `cli/debuginfod`: programs, libraries, debug files and sources by their build-ids, from
 * where debuginfod-find(1) gets and keeps them. The tool is run by a child of this program, made
 * before the program gives up the right to run others; it is asked through a pipe, also by a parser
 * without rights, whose questions it checks.
 */
#ifndef PSC_DEBUGINFOD_H
#define PSC_DEBUGINFOD_H

#include <pystack_core.h>

#include <stdbool.h>

struct debuginfod_request {
    const char *urls; /**< Servers, separated by blanks; NULL: those of DEBUGINFOD_URLS. */
    unsigned seconds; /**< That all of it may take; 0: DEBUGINFOD_SECONDS. */
};

/** For all files of a report together. */
#define DEBUGINFOD_SECONDS 120

/** Whether the user's configuration asks for it: PYSTACK_CORE_DEBUGINFOD is on. */
bool debuginfod_is_configured(void);

/**
 * Makes the child. It ends with this program.
 * @return NULL, and said so, where there is no debuginfod-find or no server.
 */
struct debuginfod *debuginfod_begin(const struct debuginfod_request *request);

/** For psc_open_options: the path of a file, good until the next call; `context` is the above. */
const char *debuginfod_fetch(void *context, enum psc_fetched what, const char *build_id,
                             const char *path);

/** Lets the child end, which says what it has fetched. NULL is allowed. */
void debuginfod_end(struct debuginfod *debuginfod);

#endif
