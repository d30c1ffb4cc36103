/**
 * @file
 * Room `base`: what all rooms use. Knows nothing of targets, ELF or Python.
 *
 * - status.h: how a function fails;
 * - arena.h: memory, arrays that grow;
 * - text.h: growing text, UTF-8;
 * - sorted.h: the binary search;
 * - hash_table.h: the hash table;
 * - cursor.h: reading forward through bytes, LEB128;
 * - file_bytes.h: a file's bytes, copied;
 * - warnings.h: sentences about what could not be done.
 */
#ifndef PSC_BASE_H
#define PSC_BASE_H

#include "arena.h"
#include "cursor.h"
#include "file_bytes.h"
#include "hash_table.h"
#include "sorted.h"
#include "status.h"
#include "text.h"
#include "warnings.h"

#endif
