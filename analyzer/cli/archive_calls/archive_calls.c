#include "archive_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef PSC_LINKS_LIBARCHIVE

#define LINKED(name) .name = name,
const struct archive_calls *archive_calls_load(const char **ret_problem)
{
    static const struct archive_calls calls = {ARCHIVE_CALLS(LINKED)};
    *ret_problem = NULL;
    return &calls;
}

#else

/* The name has been its since version 3.0 of 2011. */
#define LIBRARY    "libarchive.so.13"

/* A data pointer to one to a function, as POSIX (dlsym) has it. */
#define LOAD(name) good = good && (*(void **)(&calls.name) = dlsym(library, #name)) != NULL;

const struct archive_calls *archive_calls_load(const char **ret_problem)
{
    static struct archive_calls calls;
    static bool good;
    *ret_problem = NULL;
    if (good)
        return &calls;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    good = library != NULL;
    ARCHIVE_CALLS(LOAD)
    if (good)
        return &calls;
    *ret_problem = library ? LIBRARY " is too old: version 3.3.3 or later is needed"
                           : LIBRARY " is not installed (Debian: libarchive13)";
    return NULL;
}

#endif
