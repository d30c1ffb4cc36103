/* The manual page, in the macros of man(7): all commands, each with what its table has. */
#include "command_line.h"

#include <stdio.h>
#include <string.h>

/*
 * Text as roff shows it unchanged: a backslash and a minus have a meaning of their own, and so have
 * a dot and a quote where a line begins (groff(7)).
 */
static void print_escaped(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!i && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", stdout);
        if (text[i] == '\\')
            fputs("\\e", stdout);
        else if (text[i] == '-')
            fputs("\\-", stdout);
        else
            putchar(text[i]);
    }
}

static void print_word(const char *text)
{
    print_escaped(text, strlen(text));
}

/* Lines as they are, one paragraph; `after` ends each but the last. */
static void print_lines(const char *lines, const char *after)
{
    for (const char *line = lines; line && *line;) {
        size_t size = strcspn(line, "\n");
        print_escaped(line, size);
        line += size;
        line += *line == '\n';
        puts(*line ? after : "");
    }
}

static void print_option(const struct option_spec *row)
{
    fputs(".TP\n\\fB", stdout);
    if (row->short_name) {
        printf("\\-%c\\fR", row->short_name);
        fputs(row->long_name ? ", \\fB" : "", stdout);
    }
    if (row->long_name) {
        fputs("\\-\\-", stdout);
        print_word(row->long_name);
        fputs("\\fR", stdout);
    }
    if (row->value != OPTION_FLAG) {
        fputs(row->value == OPTION_CHOICE     ? "[=\\fI"
              : row->value == OPTION_OPTIONAL ? " [\\fI"
                                              : " \\fI",
              stdout);
        print_word(row->value_name);
        fputs(command_row_is_optional(row) ? "\\fR]" : "\\fR", stdout);
    }
    putchar('\n');
    print_lines(row->help, "");
}

/* "Output:" as a heading of its own. */
static void print_heading(const char *heading)
{
    fputs(".B ", stdout);
    print_word(heading);
    putchar('\n');
}

static void print_options(const struct command_spec *command)
{
    struct option_spec row;
    for (size_t i = 0; command_get_row(command, i, &row); i++) {
        // What follows a section's heading is a paragraph, and so is each option.
        if (i && row.heading && *row.heading)
            puts(".PP");
        if (row.heading && *row.heading)
            print_heading(row.heading);
        print_option(&row);
    }
}

static void print_synopsis(const struct command_spec *command)
{
    for (const char *line = command->usage; line;) {
        size_t size = strcspn(line, "\n");
        fputs(".B pystack\\-core", stdout);
        if (command->name)
            printf(" %s", command->name);
        fputs("\n", stdout);
        print_escaped(line, size);
        line = line[size] ? line + size + 1 : NULL;
        puts(line ? "\n.br" : "");
    }
}

static void print_examples(const struct command_spec *command)
{
    if (!command->examples)
        return;
    puts(".PP\nExamples:\n.PP\n.RS\n.nf");
    print_lines(command->examples, "");
    puts(".fi\n.RE");
}

static void print_command(const struct command_spec *command)
{
    fputs(".SS ", stdout);
    puts(command->name);
    print_synopsis(command);
    puts(".PP");
    print_lines(command->about, "");
    print_options(command);
    print_examples(command);
    if (command->exit_status) {
        puts(".PP");
        print_lines(command->exit_status, "");
    }
}

void manual_print(const char *version, const struct command_spec *program,
                  const struct command *commands)
{
    printf(".TH PYSTACK\\-CORE 1 \"\" \"pystack\\-core %s\" \"User Commands\"\n", version);
    puts(".SH NAME\npystack\\-core \\- merged Python, Cython and native stacks of core files and "
         "living processes\n.SH SYNOPSIS");
    print_synopsis(program);
    puts(".SH DESCRIPTION");
    print_lines(program->about, "");
    puts(".SH OPTIONS");
    print_options(program);
    puts(".SH COMMANDS\nA core file that is named like one of them is\n.BR ./ \\fINAME\\fR.");
    for (; commands->spec; commands++)
        print_command(commands->spec);
    if (program->examples) {
        puts(".SH EXAMPLES\n.nf");
        print_lines(program->examples, "");
        puts(".fi");
    }
    puts(".SH EXIT STATUS");
    print_lines(program->exit_status, "");
    puts(".SH SEE ALSO\n.BR gdb (1),\n.BR lldb (1),\n.BR core (5),\n.BR coredumpctl (1)");
}
