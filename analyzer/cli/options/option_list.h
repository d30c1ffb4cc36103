/**
 * @file
 * The one list of the command line's options: what getopt takes, --help prints and shells complete.
 *
 * To add an option: a row in option_list.c, a function that takes its value in option_values.c.
 */
#ifndef PSC_OPTION_LIST_H
#define PSC_OPTION_LIST_H

#include "options.h"

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

/** Takes the option over; OPTIONS_RUN to go on. What is wrong was said. */
typedef enum options_result option_fn(struct options *options, const struct option_spec *spec,
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

/** Whether it may stand without a value, but can have one. */
static inline bool option_is_optional(const struct option_spec *spec)
{
    return spec->value == OPTION_OPTIONAL || spec->value == OPTION_CHOICE;
}

extern const struct option_spec option_list[];
extern const size_t option_count;

#endif
