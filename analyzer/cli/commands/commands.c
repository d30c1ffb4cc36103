#include "commands.h"

#include "command_demangle.h"

#include <stddef.h>

const struct command commands[] = {
    {"demangle", "Cython, C++ and Rust symbols as they were written", command_demangle},
    {NULL, NULL, NULL},
};
