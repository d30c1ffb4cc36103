/** What --help prints, made of option_list.h. */
#ifndef PSC_HELP_H
#define PSC_HELP_H

void help_print(void);

#endif
