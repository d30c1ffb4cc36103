#include "command_line.h"

#include <stdio.h>
#include <string.h>

/* Where the words on an option or a command begin. */
#define HELP_COLUMN 30

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

/*
 * What follows `width` columns of a line: the first of the lines beside it where there is room, the
 * others below.
 */
static void print_words(int width, const char *lines)
{
    if (width >= HELP_COLUMN) {
        putchar('\n');
        width = 0;
    }
    for (const char *line = lines; line; width = 0) {
        const char *end = strchr(line, '\n');
        int size = end ? (int)(end - line) : (int)strlen(line);
        printf("%*s%.*s\n", HELP_COLUMN - width, "", size, line);
        line = end ? end + 1 : NULL;
    }
}

/* Each line after the same beginning. */
static void print_usage(const struct command_spec *command)
{
    const char *start = "Usage:";
    for (const char *line = command->usage; line; start = "      ") {
        const char *end = strchr(line, '\n');
        int size = end ? (int)(end - line) : (int)strlen(line);
        printf("%s pystack-core %s%s%.*s\n", start, command->name ? command->name : "",
               command->name && size ? " " : "", size, line);
        line = end ? end + 1 : NULL;
    }
}

static void print_lines(const char *heading, const char *indentation, const char *lines)
{
    printf("\n%s", heading);
    for (const char *line = lines; *line;) {
        size_t size = strcspn(line, "\n");
        printf("%s%.*s\n", indentation, (int)size, line);
        line += size + (line[size] == '\n');
    }
}

static void print_commands(const struct command *commands)
{
    fputs("\nCommands, each with a --help of its own (a core file of such a name is ./NAME):\n",
          stdout);
    for (; commands->spec; commands++)
        print_words(printf("  pystack-core %s", commands->spec->name), commands->spec->summary);
}

void help_print(const struct command_spec *command, const struct command *commands)
{
    struct option_spec row;
    print_usage(command);
    print_lines("", "", command->about);
    if (commands)
        print_commands(commands);
    for (size_t i = 0; command_get_row(command, i, &row); i++) {
        if (row.heading || !i)
            putchar('\n');
        if (row.heading && *row.heading)
            puts(row.heading);
        print_words(print_option(&row), row.help);
    }
    if (command->examples)
        print_lines("Examples:\n", "  ", command->examples);
    if (command->exit_status)
        print_lines("", "", command->exit_status);
}
