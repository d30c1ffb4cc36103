/* A command line, read by the table of its command. */
#include "command_line.h"

#include "messages.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* getopt's values: a short option's letter, else this and the row's number. */
#define FIRST_LONG_ONLY 256
/* Letters, each with a colon, and the marks before them. */
#define SHORT_OPTIONS_SIZE (2 * 64 + 3)

static size_t count_rows(const struct command_spec *command)
{
    struct option_spec row;
    size_t count = 0;
    while (command_get_row(command, count, &row))
        count++;
    return count;
}

/* What getopt_long() wants, of the table. */
static struct option *make_long_options(const struct command_spec *command)
{
    static const int arguments[] = {
        [OPTION_FLAG] = no_argument,
        [OPTION_REQUIRED] = required_argument,
        [OPTION_OPTIONAL] = optional_argument,
        [OPTION_CHOICE] = optional_argument,
    };
    struct option *made = calloc(count_rows(command) + 1, sizeof(*made));
    struct option_spec row;
    size_t count = 0;
    for (size_t i = 0; made && command_get_row(command, i, &row); i++)
        if (row.take && row.long_name)
            made[count++] = (struct option){
                .name = row.long_name,
                .has_arg = arguments[row.value],
                .val = row.short_name ? row.short_name : FIRST_LONG_ONLY + (int)i,
            };
    return made;
}

/* The same for getopt(); a colon lets it say what is missing, a plus ends options at a word. */
static void make_short_options(const struct command_spec *command, char *ret)
{
    struct option_spec row;
    const char *end = ret + SHORT_OPTIONS_SIZE - 3;
    if (command->words != WORDS_FILES)
        *ret++ = '+';
    *ret++ = ':';
    for (size_t i = 0; command_get_row(command, i, &row) && ret < end; i++) {
        if (!row.short_name)
            continue;
        *ret++ = row.short_name;
        if (row.value == OPTION_REQUIRED)
            *ret++ = ':';
    }
    *ret = '\0';
}

static bool find_option(const struct command_spec *command, int value, struct option_spec *ret)
{
    for (size_t i = 0; command_get_row(command, i, ret); i++)
        if (value == (ret->short_name ? ret->short_name : FIRST_LONG_ONLY + (int)i))
            return true;
    return false;
}

static void complain_about_option(int result, char **argv)
{
    const char *word = argv[optind - 1];
    if (result == ':')
        complain_of_usage("option '%s' needs a value", word);
    else if (optopt >= FIRST_LONG_ONLY)
        complain_of_usage("option '%s' takes no value", word);
    else if (optopt)
        complain_of_usage("unknown option '-%c'", optopt);
    else
        complain_of_usage("unknown or ambiguous option '%s'", word);
}

static enum options_result take_option(const struct command_spec *command, void *request,
                                       int option, char **argv)
{
    struct option_spec row;
    if (option == '?' || option == ':' || !find_option(command, option, &row)) {
        complain_about_option(option, argv);
        return OPTIONS_WRONG;
    }
    if (row.value == OPTION_CHOICE && !optarg && argv[optind] &&
        option_find_choice(row.choices, argv[optind]))
        optarg = argv[optind++];
    return row.take(request, &row, optarg);
}

enum options_result command_line_parse(const struct command_spec *command, void *request, int argc,
                                       char **argv, int *ret_words)
{
    char short_options[SHORT_OPTIONS_SIZE];
    struct option *long_options = make_long_options(command);
    enum options_result result = long_options ? OPTIONS_RUN : OPTIONS_NO_MEMORY;
    make_short_options(command, short_options);
    messages_set_command(command->name);
    opterr = 0;
    optind = 0; // glibc and musl begin anew: a command may have parsed before.
    while (result == OPTIONS_RUN) {
        int option = getopt_long(argc, argv, short_options, long_options, NULL);
        if (option == -1)
            break;
        result = take_option(command, request, option, argv);
    }
    *ret_words = optind;
    free(long_options);
    if (result == OPTIONS_NO_MEMORY)
        complain("out of memory");
    if (result != OPTIONS_HELP || !command->name)
        return result;
    help_print(command, NULL);
    return OPTIONS_DONE;
}

int command_line_exit_code(enum options_result result)
{
    if (result == OPTIONS_NO_MEMORY || result == OPTIONS_FAILED)
        return EXIT_NOTHING;
    return result == OPTIONS_WRONG ? EXIT_USAGE : EXIT_COMPLETE;
}

enum options_result option_take_help(void *request, const struct option_spec *spec,
                                     const char *value)
{
    (void)request;
    (void)spec;
    (void)value;
    return OPTIONS_HELP;
}
