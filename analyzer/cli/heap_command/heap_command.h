/**
 * @file
 * Room `cli/heap_command`: `pystack-core heap`: what fills the memory of a process, who holds it,
 * what is damaged.
 *
 * To add an option: a row in heap_options.c, and what it asks for in psc_heap_print_options.
 */
#ifndef PSC_HEAP_COMMAND_H
#define PSC_HEAP_COMMAND_H

#include "command_line.h"

extern const struct command_spec heap_command;

int command_heap(int argc, char **argv);

#endif
