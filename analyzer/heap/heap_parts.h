/** @file What the memory of a process is used for: all that it has mapped, part by part. */
#ifndef PSC_HEAP_PARTS_H
#define PSC_HEAP_PARTS_H

#include "heap_memory.h"

/** Fills heap->parts. False: out of memory. */
PSC_MUST_CHECK bool heap_parts_find(struct heap *heap);

#endif
