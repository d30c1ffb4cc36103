/* `pystack-core demangle`: symbols as they were written, alone or inside lines, as c++filt. */
#include "commands.h"
#include "demangle_filter.h"
#include "messages.h"
#include "sandbox.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct option_spec option_list[] = {OPTION_HELP};

const struct command_spec demangle_command = {
    .name = "demangle",
    .summary = "Cython, C++ and Rust symbols as they were written",
    .usage = "[SYMBOL...]",
    .about =
        "Shows Cython, C++ and Rust symbols as they were written: Cython's as Python's "
        "__qualname__,\n"
        "C++ and Rust ones without parameters. Everything else stays as it is. Without SYMBOL it\n"
        "copies standard input and replaces the symbols in it, as c++filt does.\n"
        "\n"
        "What one Cython symbol leaves open, others of the same input or command line tell: the\n"
        "symbol table of the module is best. Lines with such symbols are shown when the input "
        "ends\n"
        "or pauses.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "pystack-core demangle _ZNSt6vectorIiSaIiEE9push_backERKi\n"
                "nm MODULE.so | pystack-core demangle\n"
                "perf report --stdio | pystack-core demangle",
    .exit_status =
        "Exit status: 0 done, 1 names would be too long: some symbols stayed as they are, "
        "2 the input\ncould not be read, 64 wrong usage.",
    .words = WORDS_TEXT,
};

int command_demangle(int argc, char **argv)
{
    int first;
    enum options_result result = command_line_parse(&demangle_command, NULL, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    sandbox_close_all();
    struct psc_symbols *symbols = psc_symbols_create();
    bool good = symbols != NULL;
    for (int i = first; good && i < argc; i++)
        good = psc_symbols_add(symbols, argv[i]) == PSC_OK;
    int code = good && first == argc ? demangle_stdin(symbols) : EXIT_COMPLETE;
    for (int i = first; good && i < argc; i++) {
        (void)demangle_word(symbols, argv[i], strlen(argv[i]));
        putchar('\n');
    }
    if (!good) {
        complain("out of memory");
        code = EXIT_NOTHING;
    }
    psc_symbols_destroy(symbols);
    return code;
}
