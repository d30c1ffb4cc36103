/** Scripts that let a shell complete the command line, made of option_list.h. */
#ifndef PSC_COMPLETION_H
#define PSC_COMPLETION_H

#include "options.h"

void completion_print(enum shell shell);

#endif
