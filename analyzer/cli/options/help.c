#include "help.h"

#include "option_list.h"

#include <stdio.h>
#include <string.h>

/* Where the words on an option begin. */
#define HELP_COLUMN 30

static const char usage[] =
    "Usage: pystack-core [OPTIONS] CORE [EXECUTABLE]\n"
    "       pystack-core [OPTIONS] --pid PID [--save-core[=full] [FILE]]\n"
    "       pystack-core [OPTIONS] --match REGEX\n"
    "       pystack-core triage [OPTIONS] CORE|DIRECTORY...\n"
    "       pystack-core summary [OPTIONS] FILE...\n"
    "       pystack-core demangle [SYMBOL...]\n"
    "\n"
    "Prints the merged native, Cython and Python stack of every thread of a core file, or of\n"
    "a living process, which is stopped for some milliseconds.\n"
    "EXECUTABLE is needed only when the program is not where the core says it was.\n"
    "triage puts many cores together by what they died of (pystack-core triage --help).\n"
    "summary prints reports (JSON) of many processes as one tree of stacks.\n"
    "demangle shows Cython, C++ and Rust symbols as they were written, as c++filt does; a core\n"
    "file of that name is ./demangle.\n";

static const char exit_status[] =
    "\n"
    "Exit status: 0 everything shown, 1 shown with parts missing (each is named),\n"
    "2 nothing could be shown or a file that was asked for not be written, 64 wrong usage.\n";

/* "  -h, --help": how the option is written. */
static int print_option(const struct option_spec *spec)
{
    int width = spec->short_name ? printf("  -%c", spec->short_name) : printf("    ");
    if (spec->long_name)
        width += printf("%s--%s", spec->short_name ? ", " : "  ", spec->long_name);
    if (spec->value != OPTION_FLAG)
        width += printf(spec->value == OPTION_CHOICE     ? "[=%s]"
                        : spec->value == OPTION_OPTIONAL ? " [%s]"
                                                         : " %s",
                        spec->value_name);
    return width;
}

static void print_row(const struct option_spec *spec)
{
    int width = print_option(spec);
    for (const char *line = spec->help; line; width = 0) {
        const char *end = strchr(line, '\n');
        int size = end ? (int)(end - line) : (int)strlen(line);
        printf("%*s%.*s\n", HELP_COLUMN - width, "", size, line);
        line = end ? end + 1 : NULL;
    }
}

void help_print(void)
{
    fputs(usage, stdout);
    for (size_t i = 0; i < option_count; i++) {
        const char *heading = option_list[i].heading;
        if (heading)
            printf(*heading ? "\n%s\n" : "\n", heading);
        print_row(&option_list[i]);
    }
    fputs(exit_status, stdout);
}
