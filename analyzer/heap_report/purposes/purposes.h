/** @file What objects are for: the text of the program, or its data. */
#ifndef PSC_HEAP_PURPOSES_H
#define PSC_HEAP_PURPOSES_H

#include "heap.h"

enum heap_purpose {
    HEAP_PURPOSE_DATA,
    HEAP_PURPOSE_CODE,   /**< Code, functions, descriptors, and the constants that code alone needs.
                          */
    HEAP_PURPOSE_MODULES /**< Modules, classes and their namespaces. */
};

enum { HEAP_PURPOSES = HEAP_PURPOSE_MODULES + 1 };

struct heap_purpose_sum {
    uint64_t objects;
    uint64_t bytes; /**< With what they keep. */
};

/** False: out of memory. */
bool heap_sum_purposes(struct heap *heap, struct heap_purpose_sum ret[HEAP_PURPOSES]);
const char *heap_purpose_name(enum heap_purpose purpose);

#endif
