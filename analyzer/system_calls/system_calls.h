/**
 * @file
 * Room `system_calls`: the names of Linux's system calls, and a call as text, its arguments in it.
 *
 * The tables are generate_table.py's; a machine has its own, in system_calls.c.
 */
#ifndef PSC_SYSTEM_CALLS_H
#define PSC_SYSTEM_CALLS_H

#include "target.h"

#define SYSTEM_CALL_ARGUMENTS 6

/** NULL: the machine has no call of this number that we know. */
const char *system_call_name(const struct target_machine *machine, uint32_t number);

/**
 * The arguments as a thread has them that is in the call, or that the kernel has refused it: no
 * machine changes their registers. False: the machine's are not known.
 */
bool system_call_get_arguments(const struct target_machine *machine,
                               const struct target_registers *registers,
                               uint64_t ret[SYSTEM_CALL_ARGUMENTS]);

/**
 * Adds "openat(AT_FDCWD, "/etc/passwd", 0x0, 0)": paths are read from the target and cut where they
 * are long, other pointers are addresses. Of a call without known arguments only its name,
 * "system call 999" of one without a name.
 */
void system_call_add_text(struct target *target, uint32_t number,
                          const uint64_t arguments[SYSTEM_CALL_ARGUMENTS], struct text *ret);

#endif
