/** What the program does when no command is given. */
#ifndef PSC_SHOW_TARGET_H
#define PSC_SHOW_TARGET_H

#include "options.h"

/** Shows what the options name. @return the exit code. */
int show_target(struct options *options);

#endif
