/**
 * @file
 * Room `jit`: code that was made at run time and described to debuggers as their manuals ask
 * (gdb's, "JIT Compilation Interface"): LLVM and with it numba, Julia and others register ELF
 * images in memory, with symbols, call frame information and lines.
 *
 * The list is read when some address lies in no other module but is code. Images are foreign:
 * what is wrong about one makes it one that is not there.
 */
#ifndef PSC_JIT_H
#define PSC_JIT_H

#include "base.h"

struct jit_images;
struct named_code;
struct module;
struct modules;

/** The image whose code holds the address, read and opened; NULL: none. */
struct module *jit_find(struct modules *modules, psc_addr address);
/** The target has gone on since: the list is read again. Modules that were given stay. */
void jit_forget(struct modules *modules);
/** Those that jit_find() gave, for who frees what was made of them. */
size_t jit_module_count(const struct modules *modules);
struct module *jit_module_at(const struct modules *modules, size_t index);
/** NULL is none. */
void jit_destroy(struct jit_images *images);
void jit_names_destroy(struct named_code *code);

#endif
