/* `pystack-core demangle`: symbols as they were written, alone or inside lines, as c++filt. */
#include "commands.h"
#include "demangle_filter.h"
#include "messages.h"
#include "sandbox.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char help_text[] =
    "Usage: pystack-core demangle [SYMBOL...]\n"
    "\n"
    "Shows Cython, C++ and Rust symbols as they were written: Cython's as Python's __qualname__,\n"
    "C++ and Rust ones without parameters. Everything else stays as it is. Without SYMBOL it\n"
    "copies standard input and replaces the symbols in it.\n"
    "\n"
    "What one Cython symbol leaves open, others of the same input or command line tell: the\n"
    "symbol table of the module is best (nm MODULE.so | pystack-core demangle). Lines with such\n"
    "symbols are shown when the input ends or pauses.\n"
    "\n"
    "  -h, --help                  this text\n";

int command_demangle(int argc, char **argv)
{
    int first = 1;
    if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        fputs(help_text, stdout);
        return EXIT_COMPLETE;
    }
    if (argc > 1 && !strcmp(argv[1], "--")) {
        first = 2;
    } else if (argc > 1 && argv[1][0] == '-') {
        fprintf(stderr, "pystack-core: unknown option '%s'; see pystack-core demangle --help\n",
                argv[1]);
        return EXIT_USAGE;
    }
    sandbox_close_all();
    struct psc_symbols *symbols = psc_symbols_create();
    bool good = symbols != NULL;
    for (int i = first; good && i < argc; i++)
        good = psc_symbols_add(symbols, argv[i]) == PSC_OK;
    int code = good && first == argc ? demangle_stdin(symbols) : EXIT_COMPLETE;
    for (int i = first; good && i < argc; i++) {
        demangle_word(symbols, argv[i], strlen(argv[i]));
        putchar('\n');
    }
    if (!good) {
        fputs("pystack-core: out of memory\n", stderr);
        code = EXIT_NOTHING;
    }
    psc_symbols_destroy(symbols);
    return code;
}
