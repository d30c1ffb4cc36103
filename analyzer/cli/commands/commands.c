#include "commands.h"

#include <stddef.h>

const struct command commands[] = {
    {"demangle", "Cython, C++ and Rust symbols as they were written"},
    {"summary", "reports of many processes as one tree of stacks"},
    {"triage", "many cores, put together by their causes"},
    {NULL, NULL},
};
