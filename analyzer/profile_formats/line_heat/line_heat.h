/** @file Room `profile_formats/line_heat`: own and total time of each line of each source file. */
#ifndef PSC_PROFILE_LINE_HEAT_H
#define PSC_PROFILE_LINE_HEAT_H

#include "profile_formats.h"

profile_write_fn write_lines;
/** The same as a page, each line in its place in the source. */
profile_write_fn write_heat;

#endif
