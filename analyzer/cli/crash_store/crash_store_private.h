/** @file What the files of room `cli/crash_store` share. */
#ifndef PSC_CRASH_STORE_PRIVATE_H
#define PSC_CRASH_STORE_PRIVATE_H

#include "crash_store.h"

#define CRASH_ID_PID 16 /* Where it stands in an id. */

/** Whether a name is one that crash_store_begin() makes. */
bool crash_id_is_good(const char *name);
/** The time in such a name. */
int64_t crash_id_time(const char *name);

#endif
