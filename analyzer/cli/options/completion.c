#include "completion.h"

#include "commands.h"
#include "option_list.h"

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
    "    COMPREPLY=()\n"
    "    case $option in\n";

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

static void print_bash_case(const struct option_spec *spec)
{
    if (spec->short_name)
        printf("    -%c)\n", spec->short_name);
    else
        printf("    --%s)\n", spec->long_name);
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

static void print_bash(void)
{
    fputs(bash_start, stdout);
    for (size_t i = 0; i < option_count; i++)
        if (option_list[i].take && option_list[i].value == OPTION_REQUIRED)
            print_bash_case(&option_list[i]);
    fputs("    esac\n    local options='", stdout);
    for (size_t i = 0; i < option_count; i++)
        if (option_list[i].long_name)
            printf("--%s ", option_list[i].long_name);
    fputs("-o -h' commands='", stdout);
    for (const struct command *command = commands; command->name; command++)
        printf("%s%s", command == commands ? "" : " ", command->name);
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

static void print_zsh(void)
{
    fputs("#compdef pystack-core\n"
          "# zsh completion of pystack-core; made by: pystack-core --completion zsh\n"
          "_pystack_core()\n"
          "{\n"
          "    _arguments \\\n",
          stdout);
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *spec = &option_list[i];
        if (!spec->take)
            continue;
        const char *joint = spec->value == OPTION_FLAG ? "" : spec->long_name ? "=" : "+";
        fputs("        '*", stdout);
        if (spec->long_name)
            printf("--%s%s[", spec->long_name, option_is_optional(spec) ? "=-" : joint);
        else
            printf("-%c%s[", spec->short_name, joint);
        print_summary(spec, "[]\\");
        putchar(']');
        if (option_is_optional(spec))
            putchar(':');
        if (spec->value != OPTION_FLAG)
            print_zsh_value(spec);
        fputs("' \\\n", stdout);
    }
    fputs("        '1:core file or command:{ _files; compadd", stdout);
    for (const struct command *command = commands; command->name; command++)
        printf(" %s", command->name);
    fputs(" }' \\\n"
          "        '*:file:_files'\n"
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
        fputs(option_is_optional(spec) ? " -a '" : " -x -a '", stdout);
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

static void print_fish(void)
{
    fputs("# fish completion of pystack-core; made by: pystack-core --completion fish\n", stdout);
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *spec = &option_list[i];
        if (!spec->take)
            continue;
        fputs("complete -c pystack-core", stdout);
        if (spec->long_name)
            printf(" -l %s", spec->long_name);
        if (spec->short_name)
            printf(" -s %c", spec->short_name);
        if (spec->value != OPTION_FLAG)
            print_fish_value(spec);
        fputs(" -d '", stdout);
        print_summary(spec, "\\");
        fputs("'\n", stdout);
    }
    for (const struct command *command = commands; command->name; command++)
        printf("complete -c pystack-core -n __fish_use_subcommand -a %s -d '%s'\n", command->name,
               command->summary);
}

void completion_print(enum shell shell)
{
    switch (shell) {
    case SHELL_BASH:
        print_bash();
        break;
    case SHELL_ZSH:
        print_zsh();
        break;
    case SHELL_FISH:
        print_fish();
        break;
    }
}
