/** Shared by the files of room `cli/heap_command` only. */
#ifndef PSC_HEAP_COMMAND_PRIVATE_H
#define PSC_HEAP_COMMAND_PRIVATE_H

#include "heap_command.h"

#include <pystack_core.h>

#define HEAP_OUTPUTS 8u
#define HEAP_FOLDERS 64u

/** Strings belong to argv. */
struct heap_request {
    const char *core; /**< NULL with `pid`. */
    const char *executable;
    const char *older; /**< The core of --diff, or NULL. */
    int32_t pid;       /**< 0: none. */
    bool no_sandbox;
    struct {
        enum psc_heap_format format;
        const char *path; /**< NULL: standard output. */
    } outputs[HEAP_OUTPUTS];
    size_t output_count; /**< The main one first. */
    const char *folders[HEAP_FOLDERS];
    struct psc_open_options open;
    struct psc_heap_print_options print;
};

/** Reads argv; what is wrong is said. */
enum options_result heap_request_parse(struct heap_request *request, int argc, char **argv);

#endif
