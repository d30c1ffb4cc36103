/** Standard input to standard output, with the symbols in it replaced. */
#ifndef PSC_DEMANGLE_FILTER_H
#define PSC_DEMANGLE_FILTER_H

#include <pystack_core.h>

/** Copies until the input ends. @return the exit code; errors of standard input are printed. */
int demangle_stdin(struct psc_symbols *symbols);

/**
 * Prints a word, demangled when it is a symbol. Full stops before and after it are not its own: a
 * sentence's, or those of PowerPC's functions. The byte at word[size] is written to.
 * @return bytes of the name; 0: it is no symbol.
 */
size_t demangle_word(struct psc_symbols *symbols, char *word, size_t size);

#endif
