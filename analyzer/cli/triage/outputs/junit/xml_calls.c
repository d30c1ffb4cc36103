#include "xml_calls.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef PSC_LINKS_LIBXML2

#define LINKED(name) .name = name,
const struct xml_calls *xml_calls_load(const char **ret_problem)
{
    static const struct xml_calls calls = {XML_CALLS(LINKED)};
    *ret_problem = NULL;
    return &calls;
}

#else

/* Its name until 2.13, and from 2.14 on; what is used of it has stayed. */
#define LIBRARY       "libxml2.so.2"
#define LATER_LIBRARY "libxml2.so.16"

/* A data pointer to one to a function, as POSIX (dlsym) has it. */
#define LOAD(name)    good = good && (*(void **)(&calls.name) = dlsym(library, #name)) != NULL;

const struct xml_calls *xml_calls_load(const char **ret_problem)
{
    static struct xml_calls calls;
    static bool good;
    *ret_problem = NULL;
    if (good)
        return &calls;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen(LATER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    good = library != NULL;
    XML_CALLS(LOAD)
    if (good)
        return &calls;
    *ret_problem = library ? LIBRARY " is too old" : LIBRARY " is not installed (Debian: libxml2)";
    return NULL;
}

#endif
