/** @file What the files of room `target/debugger` share. */
#ifndef PSC_DEBUGGER_PRIVATE_H
#define PSC_DEBUGGER_PRIVATE_H

#include "debugger.h"

/**
 * Fills the name of the process that sent the target's signal: while it lives, of a target on this
 * machine that numbers processes as we do.
 */
void debugger_name_sender(struct target *target, const struct psc_debugger *debugger);

#endif
