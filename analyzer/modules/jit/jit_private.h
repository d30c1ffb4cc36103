/** @file What the files of room `jit` share. */
#ifndef PSC_JIT_PRIVATE_H
#define PSC_JIT_PRIVATE_H

#include "jit.h"
#include "modules_private.h"

/** Bytes of struct jit_descriptor and of struct jit_code_entry on 64-bit machines. */
#define JIT_DESCRIPTOR_SIZE 24
#define JIT_ENTRY_SIZE      32

/** Modules with a list of their own; two of LLVM in one process are common. */
#define JIT_DESCRIPTOR_LIMIT 64

/** An image that some list has. */
struct jit_entry {
    psc_addr next; /**< 0: the last one. */
    psc_addr address;
    uint64_t size;
};

/** The first entry of the list; 0: none, or of a version that is not known. */
psc_addr parse_jit_descriptor(const uint8_t bytes[JIT_DESCRIPTOR_SIZE]);
void parse_jit_entry(const uint8_t bytes[JIT_ENTRY_SIZE], struct jit_entry *ret);

/** Where modules have a `__jit_debug_descriptor`, in the target. @return how many, at most `limit`.
 */
size_t jit_find_descriptors(struct modules *modules, size_t limit, psc_addr *ret);

#endif
