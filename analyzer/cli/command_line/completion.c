/*
 * What makes shells complete command lines. The command is the first word; a core file of such a
 * name is written ./NAME.
 */
#include "command_line.h"

#include <stdio.h>
#include <string.h>

static void print_choices(const struct option_spec *spec)
{
    const char *mark = spec->completion == COMPLETE_FORMATS ? "=" : "";
    for (const struct option_choice *choice = spec->choices; choice->name; choice++)
        printf("%s%s%s", choice == spec->choices ? "" : " ", choice->name, mark);
}

/* What --help says, up to where it goes into details; for use between single quotes. */
static void print_summary(const struct option_spec *spec, const char *escaped)
{
    size_t size = strcspn(spec->help, ";:");
    for (size_t i = 0; i < size; i++) {
        char byte = spec->help[i];
        if (byte == '\'')
            fputs("'\\''", stdout);
        else if (strchr(escaped, byte))
            printf("\\%c", byte);
        else
            putchar(byte == '\n' ? ' ' : byte);
    }
}

/* ---- bash ---- */

static const char bash_start[] =
    "# bash completion of pystack-core; made by: pystack-core --completion bash\n"
    "_pystack_core()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    # --format=json is three words, since = breaks words.\n"
    "    if [[ $word == = ]]; then\n"
    "        word=\n"
    "    elif [[ $option == = ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    local command= options= commands=\n"
    "    if ((COMP_CWORD > 1)); then\n"
    "        case ${COMP_WORDS[1]} in\n";

static const char bash_middle[] = ") command=${COMP_WORDS[1]} ;;\n"
                                  "        esac\n"
                                  "    fi\n"
                                  "    COMPREPLY=()\n"
                                  "    case $command:$option in\n";

static const char bash_end[] =
    "    if [[ $word == -* ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
    "        return\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$word\")\n"
    "    fi\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n"
    "}\n"
    "complete -o filenames -F _pystack_core pystack-core\n";

/* `compgen` of a value; without one, files are offered. */
static void print_bash_value(const struct option_spec *spec)
{
    switch (spec->completion) {
    case COMPLETE_CHOICES:
    case COMPLETE_FORMATS:
        fputs("-W '", stdout);
        print_choices(spec);
        putchar('\'');
        break;
    case COMPLETE_DIRECTORIES:
        fputs("-d", stdout);
        break;
    case COMPLETE_PROCESSES:
        fputs("-W \"$(cd /proc && echo [1-9]*)\"", stdout);
        break;
    case COMPLETE_FILES:
        fputs("-f", stdout);
        break;
    case COMPLETE_NOTHING:
        fputs("-W ''", stdout);
        break;
    }
}

/* "" for the program itself, where no command is named. */
static const char *name_of(const struct command_spec *command)
{
    return command->name ? command->name : "";
}

static void print_bash_case(const char *command, const struct option_spec *spec)
{
    const char *joint = "";
    fputs("    ", stdout);
    if (spec->short_name)
        printf("%s:-%c", command, spec->short_name);
    if (spec->short_name && spec->long_name)
        joint = " | ";
    if (spec->long_name)
        printf("%s%s:--%s", joint, command, spec->long_name);
    fputs(")\n", stdout);
    // A file goes on; it is a word of its own, behind no option, so that files are offered.
    if (spec->completion == COMPLETE_FORMATS)
        fputs("        compopt -o nospace 2>/dev/null\n", stdout);
    fputs("        mapfile -t COMPREPLY < <(compgen ", stdout);
    print_bash_value(spec);
    fputs(" -- \"$word\")\n"
          "        return\n"
          "        ;;\n",
          stdout);
}

static void print_bash_cases(const struct command_spec *command)
{
    struct option_spec row;
    for (size_t i = 0; command_get_row(command, i, &row); i++)
        if (row.take && row.value == OPTION_REQUIRED)
            print_bash_case(name_of(command), &row);
}

static void print_bash_options(const struct command_spec *command)
{
    struct option_spec row;
    printf("    '%s')\n        options='", name_of(command));
    for (size_t i = 0; command_get_row(command, i, &row); i++) {
        if (row.long_name)
            printf("--%s ", row.long_name);
        if (row.short_name)
            printf("-%c ", row.short_name);
    }
    fputs("'\n        ;;\n", stdout);
}

/* The names of all commands, with something between them. */
static void print_names(const struct command *commands, const char *joint)
{
    for (const struct command *command = commands; command->spec; command++)
        printf("%s%s", command == commands ? "" : joint, command->spec->name);
}

static void print_bash(const struct command_spec *program, const struct command *commands)
{
    fputs(bash_start, stdout);
    fputs("        ", stdout);
    print_names(commands, " | ");
    fputs(bash_middle, stdout);
    print_bash_cases(program);
    for (const struct command *command = commands; command->spec; command++)
        print_bash_cases(command->spec);
    fputs("    esac\n    case $command in\n", stdout);
    print_bash_options(program);
    for (const struct command *command = commands; command->spec; command++)
        print_bash_options(command->spec);
    fputs("    esac\n    commands='", stdout);
    print_names(commands, " ");
    fputs("'\n", stdout);
    fputs(bash_end, stdout);
}

/* ---- zsh ---- */

static void print_zsh_value(const struct option_spec *spec)
{
    printf(":%s:", spec->value_name);
    switch (spec->completion) {
    case COMPLETE_CHOICES:
    case COMPLETE_FORMATS:
        putchar('(');
        print_choices(spec);
        putchar(')');
        break;
    case COMPLETE_DIRECTORIES:
        fputs("_files -/", stdout);
        break;
    case COMPLETE_PROCESSES:
        fputs("_pids", stdout);
        break;
    case COMPLETE_FILES:
        fputs("_files", stdout);
        break;
    case COMPLETE_NOTHING:
        break;
    }
}

static void print_zsh_option(const struct option_spec *spec, bool is_long)
{
    const char *joint = spec->value == OPTION_FLAG ? "" : is_long ? "=" : "+";
    fputs("            '*", stdout);
    if (is_long)
        printf("--%s%s[", spec->long_name, command_row_is_optional(spec) ? "=-" : joint);
    else
        printf("-%c%s[", spec->short_name, joint);
    print_summary(spec, "[]\\");
    putchar(']');
    if (command_row_is_optional(spec))
        putchar(':');
    if (spec->value != OPTION_FLAG)
        print_zsh_value(spec);
    fputs("' \\\n", stdout);
}

/* The case of a command; the program itself has commands. */
static void print_zsh_command(const struct command_spec *command, const struct command *commands)
{
    struct option_spec row;
    printf("    '%s')\n        _arguments \\\n", name_of(command));
    for (size_t i = 0; command_get_row(command, i, &row); i++) {
        if (row.take && row.long_name)
            print_zsh_option(&row, true);
        if (row.take && row.short_name)
            print_zsh_option(&row, false);
    }
    if (commands) {
        fputs("            '1:core file or command:{ _files; compadd ", stdout);
        print_names(commands, " ");
        fputs(" }' \\\n", stdout);
    }
    fputs(command->words == WORDS_COMMAND_LINE
              ? "            '(-)1:command:_command_names -e' '*::argument:_normal'\n"
              : "            '*:file:_files'\n",
          stdout);
    fputs("        ;;\n", stdout);
}

static void print_zsh(const struct command_spec *program, const struct command *commands)
{
    fputs("#compdef pystack-core\n"
          "# zsh completion of pystack-core; made by: pystack-core --completion zsh\n"
          "_pystack_core()\n"
          "{\n"
          "    local command=\n"
          "    if ((CURRENT > 2)); then\n"
          "        case $words[2] in\n"
          "        ",
          stdout);
    print_names(commands, " | ");
    fputs(")\n"
          "            command=$words[2]\n"
          "            shift words\n"
          "            ((CURRENT--))\n"
          "            ;;\n"
          "        esac\n"
          "    fi\n"
          "    case $command in\n",
          stdout);
    print_zsh_command(program, commands);
    for (const struct command *command = commands; command->spec; command++)
        print_zsh_command(command->spec, NULL);
    fputs("    esac\n"
          "}\n"
          "if [[ $funcstack[1] == _pystack_core ]]; then\n"
          "    _pystack_core \"$@\"\n"
          "else\n"
          "    compdef _pystack_core pystack-core\n"
          "fi\n",
          stdout);
}

/* ---- fish ---- */

static void print_fish_value(const struct option_spec *spec)
{
    switch (spec->completion) {
    case COMPLETE_CHOICES:
    case COMPLETE_FORMATS:
        fputs(command_row_is_optional(spec) ? " -a '" : " -x -a '", stdout);
        print_choices(spec);
        putchar('\'');
        break;
    case COMPLETE_DIRECTORIES:
        fputs(" -x -a '(__fish_complete_directories)'", stdout);
        break;
    case COMPLETE_PROCESSES:
        fputs(" -x -a '(__fish_complete_pids)'", stdout);
        break;
    case COMPLETE_FILES:
        fputs(" -r -F", stdout);
        break;
    case COMPLETE_NOTHING:
        fputs(" -x", stdout);
        break;
    }
}

/* `condition`: when they are offered. */
static void print_fish_options(const struct command_spec *command, const char *condition,
                               const struct command *commands)
{
    struct option_spec row;
    for (size_t i = 0; command_get_row(command, i, &row); i++) {
        if (!row.take)
            continue;
        printf("complete -c pystack-core -n '%s ", condition);
        print_names(commands, " ");
        putchar('\'');
        if (row.long_name)
            printf(" -l %s", row.long_name);
        if (row.short_name)
            printf(" -s %c", row.short_name);
        if (row.value != OPTION_FLAG)
            print_fish_value(&row);
        fputs(" -d '", stdout);
        print_summary(&row, "\\");
        fputs("'\n", stdout);
    }
}

static void print_fish(const struct command_spec *program, const struct command *commands)
{
    fputs("# fish completion of pystack-core; made by: pystack-core --completion fish\n", stdout);
    print_fish_options(program, "not __fish_seen_subcommand_from", commands);
    for (const struct command *command = commands; command->spec; command++) {
        const struct command one[] = {*command, {NULL, NULL}};
        printf("complete -c pystack-core -n __fish_use_subcommand -a %s -d '%s'\n",
               command->spec->name, command->spec->summary);
        print_fish_options(command->spec, "__fish_seen_subcommand_from", one);
    }
}

void completion_print(enum shell shell, const struct command_spec *program,
                      const struct command *commands)
{
    switch (shell) {
    case SHELL_BASH:
        print_bash(program, commands);
        break;
    case SHELL_ZSH:
        print_zsh(program, commands);
        break;
    case SHELL_FISH:
        print_fish(program, commands);
        break;
    }
}
