/** @file What the files of room `cli/sandbox` share. */
#ifndef PSC_SANDBOX_PRIVATE_H
#define PSC_SANDBOX_PRIVATE_H

#include "sandbox.h"

/**
 * sandbox_run(), always by a child where one can be made.
 * @param control  -1, or the socket of a keeper, which the child is to be.
 */
int sandbox_run_child(const struct sandbox_rules *rules, int control, int (*work)(void *context),
                      void *context);
/** Whether this process can open nothing any more. */
bool sandbox_is_shut(void);
/** The exit code for what waitpid(2) says of a child; what ended it otherwise is said. */
int sandbox_end_of(int status);

#endif
