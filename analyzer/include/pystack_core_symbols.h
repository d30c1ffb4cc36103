/** @file pystack-core: symbols as they were written. Included by pystack_core.h. */
#ifndef PYSTACK_CORE_SYMBOLS_H
#define PYSTACK_CORE_SYMBOLS_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The name that a person wrote, from a linker's symbol: Cython names as Python's __qualname__
 * ("Solver.steps"; "f [parallel]" for the body of a parallel block), C++ and Rust names qualified
 * but without parameters.
 * @param buffer  takes at most size - 1 bytes and a terminating zero; may be NULL when size is 0.
 * @return bytes of the whole name without the zero; 0, and an empty buffer, when it is no such
 *         symbol or when memory ran out.
 */
PSC_API size_t psc_demangle(const char *symbol, char *buffer, size_t size);

/**
 * Symbols of one file, stack or text. A Cython symbol alone may leave open where a name begins
 * (`4free_list`: the fourth entry `free_list`, or `list` in a scope `free`), and that of a
 * generator does not name the function; others seen with it tell.
 */
struct psc_symbols;
PSC_API struct psc_symbols *psc_symbols_create(void); /**< NULL: out of memory. */
PSC_API void psc_symbols_destroy(struct psc_symbols *symbols);
/** Takes a copy of a symbol; those that tell nothing are passed over. */
PSC_MUST_CHECK PSC_API enum psc_status psc_symbols_add(struct psc_symbols *symbols,
                                                       const char *symbol);
/** psc_demangle() with what the others tell, which need not be told of this one. */
PSC_API size_t psc_symbols_demangle(struct psc_symbols *symbols, const char *symbol, char *buffer,
                                    size_t size);

#ifdef __cplusplus
}
#endif
#endif
