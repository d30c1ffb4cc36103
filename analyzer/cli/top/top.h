/** @file Room `cli/top`: `pystack-core top`, a living process as a table in the terminal. */
#ifndef PSC_TOP_H
#define PSC_TOP_H

#include "command_line.h"

extern const struct command_spec top_command;
int command_top(int argc, char **argv);

#endif
