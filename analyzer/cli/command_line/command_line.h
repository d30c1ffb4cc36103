/**
 * @file
 * Room `cli/command_line`: command lines, described by tables. From a command's table come what
 * getopt takes, its --help, and what shells complete.
 *
 * To add a command: its `struct command_spec` with a row for each option, and its row in the list
 * of main.c.
 */
#ifndef PSC_COMMAND_LINE_H
#define PSC_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum options_result {
    OPTIONS_RUN,
    OPTIONS_DONE,     /**< --version and the like: nothing else is wanted. */
    OPTIONS_HELP,     /**< --help; of a command's own parsing: OPTIONS_DONE, it was printed. */
    OPTIONS_COMPLETE, /**< --completion; the caller prints it. */
    OPTIONS_MANUAL,   /**< --manual; the same. */
    OPTIONS_WRONG,    /**< Said so on standard error. */
    OPTIONS_FAILED,   /**< What was asked for cannot be done; said so. */
    OPTIONS_NO_MEMORY /**< The same. */
};

enum option_value {
    OPTION_FLAG,     /**< Takes no value. */
    OPTION_REQUIRED, /**< Needs one. */
    OPTION_OPTIONAL,
    OPTION_CHOICE /**< May have one of its choices, also as a word of its own. */
};

/** What a shell offers as the value. */
enum option_completion {
    COMPLETE_NOTHING,
    COMPLETE_CHOICES, /**< option_spec.choices */
    COMPLETE_FORMATS, /**< option_spec.choices, each with an equals sign */
    COMPLETE_FILES,
    COMPLETE_DIRECTORIES,
    COMPLETE_PROCESSES
};

struct option_choice {
    const char *name; /**< NULL ends the list. */
    int value;
};

struct option_spec;

/**
 * Takes an option over into what the command was asked for (the `request` of command_line_parse());
 * OPTIONS_RUN to go on. What is wrong was said.
 */
typedef enum options_result option_fn(void *request, const struct option_spec *spec,
                                      const char *value);

/** A row: an option, or (without `take`) words in --help alone. */
struct option_spec {
    const char *heading;   /**< Stands above the row, with an empty line before; or NULL. */
    const char *long_name; /**< Or NULL. */
    char short_name;       /**< Or 0. */
    enum option_value value;
    const char *value_name; /**< In --help; NULL for a flag. */
    const char *help;       /**< Lines, without the indentation. */
    option_fn *take;
    enum option_completion completion;
    const struct option_choice *choices;
};

/** What the words are that are no options. */
enum command_words {
    WORDS_FILES,       /**< Options may stand between them. */
    WORDS_TEXT,        /**< From the first on all are words, whatever they begin with. */
    WORDS_COMMAND_LINE /**< The same; they are a program to be run and its arguments. */
};

/** A command: all of the program that is said about its command line. */
struct command_spec {
    const char *name;    /**< NULL: the program itself, where no command is named. */
    const char *summary; /**< Some words: in the program's --help, and for shells. */
    const char *usage;   /**< Lines, each what follows the name. */
    const char *about;   /**< Lines: what it does. */
    const struct option_spec *options;
    size_t option_count;
    /** Options of another command that this one takes as well, or NULL. */
    const struct shared_options *shared;
    const char *examples;    /**< Lines. */
    const char *exit_status; /**< Lines. */
    enum command_words words;
};

/** Rows of another command, taken in another way. */
struct shared_options {
    const struct command_spec *from;
    const char *heading;
    const char *const *names; /**< Their long names; NULL ends the list. */
    option_fn *take;
};

/** A command and what runs it: argv[0] is its name; the exit code is returned. */
struct command {
    const struct command_spec *spec; /**< NULL ends a list. */
    int (*run)(int argc, char **argv);
};

/** The row of --help, which each command has. */
#define OPTION_HELP                                                                            \
    {                                                                                          \
        NULL, "help", 'h', OPTION_FLAG, NULL, "this text", option_take_help, COMPLETE_NOTHING, \
            NULL                                                                               \
    }
option_fn option_take_help;

/**
 * Reads argv by a command's table; argv[0] is left out. What is wrong is said; a command's own
 * --help is printed, that of the program is left to who knows all commands (OPTIONS_HELP).
 * @param request    handed to the rows.
 * @param ret_words  the index of the first word that is no option: all from there on are words.
 */
enum options_result command_line_parse(const struct command_spec *command, void *request, int argc,
                                       char **argv, int *ret_words);
/** The exit code of a command line after which nothing is to be run. */
int command_line_exit_code(enum options_result result);

/** @return whether there is a row of that index; the command's own come first. */
bool command_get_row(const struct command_spec *command, size_t index, struct option_spec *ret);
/** Whether it may stand without a value, but can have one. */
bool command_row_is_optional(const struct option_spec *spec);

/* ---- values; what is wrong with one is said ---- */

/** NULL: it is none of them. */
const struct option_choice *option_find_choice(const struct option_choice *choices,
                                               const char *word);
/** One of the row's choices. */
bool option_choose(const struct option_spec *spec, const char *word, int *ret);
/** "FORMAT=FILE", where FORMAT is one of the row's choices. */
bool option_parse_output(const struct option_spec *spec, const char *word, int *ret_format,
                         const char **ret_path);
/** A whole number from 1 to `most`. */
bool option_parse_number(const struct option_spec *spec, const char *word, uint64_t most,
                         uint64_t *ret);

/* ---- what is printed of the tables, on standard output ---- */

/** @param commands  of the program; NULL for the help of a command. */
void help_print(const struct command_spec *command, const struct command *commands);

/** The manual page in the macros of man(7), for install: what --help says of the program and of
 * each command. */
void manual_print(const char *version, const struct command_spec *program,
                  const struct command *commands);

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };

/** What makes a shell complete the program's and its commands' options and their values. */
void completion_print(enum shell shell, const struct command_spec *program,
                      const struct command *commands);

#endif
