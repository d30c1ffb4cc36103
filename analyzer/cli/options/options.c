#include "options.h"

#include "debuginfod.h"
#include "messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        .debuginfod = debuginfod_is_configured(),
    };
    options->open.maps_files = 1; // shrunk_files.h
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
    if (live && options->core)
        return refuse("--pid and --match take no -c CORE");
    if (options->core && word_count > 1)
        return refuse("with -c CORE there is one more word, EXECUTABLE");
    if (!options->core && (live ? word_count != 0 : word_count < 1 || word_count > 2))
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
    if (options->redacts && options->bundle)
        return refuse("--redact does not go with --bundle, whose files are what they are");
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

/* What one option means for others. */
static void finish_options(struct options *options)
{
    struct psc_capture_options *capture = &options->capture;
    if (options->lists_files)
        options->print.content = PSC_CONTENT_FILES;
    capture->list_files = options->lists_files || options->bundle;
    capture->python_optional = options->children;
    capture->process_locks = options_are_several(options);
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
    enum options_result result = OPTIONS_NO_MEMORY;
    int at = 0;
    if (options_init(options, argc))
        result = command_line_parse(&report_command, options, argc, argv, &at);
    else
        complain("out of memory");
    if (result != OPTIONS_RUN)
        return result;
    if (options->saves_core && options_are_live(options) && !options->core_file && argc - at == 1)
        options->core_file = argv[at++];
    if (!check_options(options, argc - at))
        return OPTIONS_WRONG;
    options->print.one_line = options->interval > 0;
    if (!options_are_live(options)) {
        if (!options->core)
            options->core = argv[at++];
        options->executable = argv[at];
    }
    finish_options(options);
    for (size_t i = 0; i < options->output_count; i++)
        options->capture.all_modules |= options->outputs[i].format == PSC_FORMAT_JSON;
    return OPTIONS_RUN;
}
