/** @file Room `cli/recording`: `pystack-core record`, a living process over time. */
#ifndef PSC_RECORDING_H
#define PSC_RECORDING_H

#include "command_line.h"

extern const struct command_spec record_command;
int command_record(int argc, char **argv);

#endif
