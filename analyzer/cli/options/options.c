#include "options.h"

#include "messages.h"
#include "completion.h"
#include "help.h"
#include "option_list.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* getopt's values: a short option's letter, else this and the row's number. */
#define FIRST_LONG_ONLY 256

/* No list can become longer than the command line. */
static bool options_init(struct options *options, int argc)
{
    size_t count = (size_t)argc + 1;
    *options = (struct options){
        .outputs = calloc(count, sizeof(*options->outputs)),
        .output_count = 1,
        .library_directories = calloc(count, sizeof(*options->library_directories)),
        .source_maps = calloc(count, sizeof(*options->source_maps)),
        .source_directories = calloc(count, sizeof(*options->source_directories)),
        .evaluations = calloc(count, sizeof(*options->evaluations)),
        .open = PSC_OPEN_OPTIONS_INIT,
        .capture = PSC_CAPTURE_OPTIONS_INIT,
        .print = PSC_PRINT_OPTIONS_INIT,
    };
    options->open.library_directories = options->library_directories;
    options->open.source_maps = options->source_maps;
    options->open.source_directories = options->source_directories;
    return options->outputs && options->library_directories && options->source_maps &&
           options->source_directories && options->evaluations;
}

void options_deinit(struct options *options)
{
    free(options->outputs);
    free(options->pids);
    free(options->evaluations);
    if (options->matches)
        regfree(&options->match);
    free(options->library_directories);
    free(options->source_maps);
    free(options->source_directories);
    *options = (struct options){0};
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

__attribute__((__format__(__printf__, 1, 2))) static bool refuse(const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    complain_of_usage("%s", message);
    return false;
}

/* Which cores or processes. */
static bool check_targets(const struct options *options, int word_count)
{
    bool live = options_are_live(options);
    if (live ? word_count != 0 : word_count < 1 || word_count > 2)
        return refuse(live              ? "--pid and --match take neither CORE nor EXECUTABLE"
                      : word_count == 0 ? "neither a core file nor --pid is given"
                                        : "more than CORE and EXECUTABLE");
    if ((options->interval > 0 || options->children || options->saves_core) && !live)
        return refuse("--watch, --children and --save-core go with --pid or --match");
    if (options->depth && !options->children)
        return refuse("--depth goes with --children");
    return true;
}

static bool check_saved_core(const struct options *options)
{
    if (options->capture.no_pause || options->interval > 0)
        return refuse("--save-core does not go with %s",
                      options->capture.no_pause
                          ? "--no-pause: a core file is of one moment, in which "
                            "the process stands still"
                          : "--watch: each look would write over the last one");
    if (options->core_file && !strcmp(options->core_file, "full"))
        return refuse("--save-core: all memory is asked for by --save-core=full, and a file of "
                      "that name by ./full");
    for (size_t i = 0; options->core_file && i < options->output_count; i++)
        if (options->outputs[i].path && !strcmp(options->outputs[i].path, options->core_file))
            return refuse("--save-core: the report goes to %s, too", options->core_file);
    return true;
}

/* What stands in place of the report. */
static bool check_content(const struct options *options)
{
    const struct psc_capture_options *capture = &options->capture;
    bool summary = options->print.content == PSC_CONTENT_SUMMARY;
    if ((options->lists_files != 0) + (capture->evaluation_count != 0) +
            options->explains_signature + summary >
        1)
        return refuse("--summary, --list-files, --eval and --explain-signature stand in place of "
                      "the report: one of them");
    if (capture->evaluation_count && capture->mode != PSC_MODE_MERGED)
        return refuse("--eval counts the frames of --mode merged");
    if (capture->evaluation_count && (capture->no_pause || options_are_several(options)))
        return refuse("--eval goes with %s",
                      capture->no_pause ? "a process that is stopped" : "one core file or process");
    if (options->bundle && options->interval > 0)
        return refuse("--bundle does not go with --watch");
    return true;
}

/* What does not go together. */
static bool check_options(const struct options *options, int word_count)
{
    const struct psc_capture_options *capture = &options->capture;
    if (!check_targets(options, word_count))
        return false;
    if (capture->no_pause && (!options_are_live(options) || capture->mode == PSC_MODE_NATIVE ||
                              capture->threads != PSC_THREADS_ALL))
        return refuse("--no-pause goes with --pid, not with --mode native or --thread");
    if (capture->tasks && capture->mode == PSC_MODE_NATIVE)
        return refuse("--tasks does not go with --mode native");
    if (!check_content(options))
        return false;
    return !options->saves_core || check_saved_core(options);
}

/* What getopt_long() wants, of the list. */
static struct option *make_long_options(void)
{
    static const int arguments[] = {
        [OPTION_FLAG] = no_argument,
        [OPTION_REQUIRED] = required_argument,
        [OPTION_OPTIONAL] = optional_argument,
        [OPTION_CHOICE] = optional_argument,
    };
    struct option *made = calloc(option_count + 1, sizeof(*made));
    size_t count = 0;
    for (size_t i = 0; made && i < option_count; i++) {
        const struct option_spec *spec = &option_list[i];
        if (spec->take && spec->long_name)
            made[count++] = (struct option){
                .name = spec->long_name,
                .has_arg = arguments[spec->value],
                .val = spec->short_name ? spec->short_name : FIRST_LONG_ONLY + (int)i,
            };
    }
    return made;
}

/* The same for getopt(); a colon first lets it say what is missing. */
static void make_short_options(char *ret)
{
    *ret++ = ':';
    for (size_t i = 0; i < option_count; i++) {
        if (!option_list[i].short_name)
            continue;
        *ret++ = option_list[i].short_name;
        if (option_list[i].value == OPTION_REQUIRED)
            *ret++ = ':';
    }
    *ret = '\0';
}

static const struct option_spec *find_option(int value)
{
    if (value >= FIRST_LONG_ONLY)
        return &option_list[value - FIRST_LONG_ONLY];
    const struct option_spec *spec = option_list;
    while (spec->short_name != value)
        spec++;
    return spec;
}

static bool is_choice(const struct option_spec *spec, const char *word)
{
    const struct option_choice *choice = spec->choices;
    while (word && choice->name && strcmp(choice->name, word) != 0)
        choice++;
    return word && choice->name;
}

static enum options_result take_options(struct options *options, int argc, char **argv)
{
    char short_options[64];
    struct option *long_options = make_long_options();
    enum options_result result = OPTIONS_RUN;
    if (!long_options)
        return OPTIONS_NO_MEMORY;
    make_short_options(short_options);
    opterr = 0;
    optind = 0; // glibc and musl begin anew: a command may have parsed before.
    while (result == OPTIONS_RUN) {
        int option = getopt_long(argc, argv, short_options, long_options, NULL);
        if (option == -1)
            break;
        if (option == '?' || option == ':') {
            complain_about_option(option, argv);
            result = OPTIONS_WRONG;
        } else {
            const struct option_spec *spec = find_option(option);
            if (spec->value == OPTION_CHOICE && !optarg && is_choice(spec, argv[optind]))
                optarg = argv[optind++];
            result = spec->take(options, spec, optarg);
        }
    }
    free(long_options);
    return result;
}

/* What one option means for others. */
static void finish_options(struct options *options)
{
    struct psc_capture_options *capture = &options->capture;
    if (options->lists_files)
        options->print.content = PSC_CONTENT_FILES;
    capture->list_files = options->lists_files || options->bundle;
    capture->python_optional = options->children;
    // The report of the other machine may be asked to show all.
    if (options->bundle && !capture->evaluation_count)
        capture->detail_hidden = 1;
    if (capture->evaluation_count) {
        options->print.content = PSC_CONTENT_VALUES;
        capture->evaluations = options->evaluations;
        capture->evaluation_size = sizeof(*options->evaluations);
    }
}

enum options_result options_parse(struct options *options, int argc, char **argv)
{
    enum options_result result =
        options_init(options, argc) ? take_options(options, argc, argv) : OPTIONS_NO_MEMORY;
    if (result == OPTIONS_NO_MEMORY)
        complain("out of memory");
    if (result == OPTIONS_HELP)
        help_print();
    if (result == OPTIONS_COMPLETE)
        completion_print(options->shell);
    if (result == OPTIONS_HELP || result == OPTIONS_COMPLETE)
        return OPTIONS_DONE;
    if (result != OPTIONS_RUN)
        return result;
    if (options->saves_core && options_are_live(options) && !options->core_file &&
        argc - optind == 1)
        options->core_file = argv[optind++];
    if (!check_options(options, argc - optind))
        return OPTIONS_WRONG;
    options->print.one_line = options->interval > 0;
    if (!options_are_live(options)) {
        options->core = argv[optind];
        options->executable = argv[optind + 1];
    }
    finish_options(options);
    for (size_t i = 0; i < options->output_count; i++)
        options->capture.all_modules |= options->outputs[i].format == PSC_FORMAT_JSON;
    return OPTIONS_RUN;
}
