/** @file What a process may do beside single system calls: capabilities, user, files, network. */
#ifndef PSC_RIGHTS_H
#define PSC_RIGHTS_H

#include <stdbool.h>

/** Sets no_new_privs (prctl(2)), which filters need, too; false where the kernel has none. */
bool rights_allow_no_new(void);
/**
 * Gives up all capabilities but those that looking at processes and writing files need: all of them
 * where CAP_SYS_PTRACE is not among them.
 */
bool rights_keep_needed(void);
/** Of those the ones stay that tracing a process and reading its files need, likewise. */
void rights_keep_tracing(void);
/**
 * Gives up all capabilities, and, of root, the user: nobody's alone stays. A signal that comes when
 * the parent ends comes as before.
 */
bool rights_give_up(void);
/** No file can be opened by a name any more, and no TCP port be used (landlock(7)). */
bool rights_close_files(void);

#endif
