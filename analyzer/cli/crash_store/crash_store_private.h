/** @file What the files of room `cli/crash_store` share. */
#ifndef PSC_CRASH_STORE_PRIVATE_H
#define PSC_CRASH_STORE_PRIVATE_H

#include "crash_store.h"

/** Whether a name is one that crash_store_begin() makes. */
bool crash_id_is_good(const char *name);
/** The record as JSON, malloc'd; NULL: out of memory. */
char *crash_record_print(const struct crash_record *record);
/** Takes a file over; false: it is none. */
bool crash_record_read(int folder, struct crash_record *ret);

#endif
