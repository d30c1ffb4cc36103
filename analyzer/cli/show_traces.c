#include "show_traces.h"

#include "bundle.h"
#include "messages.h"
#include "output_file.h"
#include "signatures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool wants_color(const struct options *options, const struct output *output)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    if (options->color != COLOR_AUTO)
        return options->color == COLOR_ALWAYS;
    return !output->path && !(no_color && *no_color) && isatty(STDOUT_FILENO) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

/* The report must not replace the core file. */
static bool is_same_file(const char *path, const char *other)
{
    struct stat a;
    struct stat b;
    return path && !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* What a program holds is for nobody but its owner. */
static bool shows_values(const struct options *options)
{
    return options->capture.locals || options->capture.evaluation_count;
}

static bool print_output(struct psc_trace *const *traces, size_t count,
                         const struct options *options, const struct output *output)
{
    const char *name = output->path ? output->path : "standard output";
    struct psc_print_options print = options->print;
    struct output_file file;
    struct psc_error err = {0};
    if (options->core && is_same_file(output->path, options->core)) {
        complain("%s: is the core file itself; name another file to write to", name);
        return false;
    }
    print.format = output->format;
    print.color = wants_color(options, output);
    if (!open_output(&file, output->path, shows_values(options))) {
        close_output(&file, false);
        complain("%s: cannot be written: %s", name, strerror(file.error));
        return false;
    }
    const struct psc_trace *const *readable = (const struct psc_trace *const *)traces;
    bool good = options_are_several(options)
                    ? !psc_print_processes(readable, count, &print, write_output, &file, &err)
                    : !psc_print(traces[0], &print, write_output, &file, &err);
    good = close_output(&file, good);
    /* The reader has closed the pipe: no error. */
    if (!good && !output->path && file.error == EPIPE)
        return true;
    if (!good)
        complain("%s: %s", name, file.error ? strerror(file.error) : err.message);
    return good;
}

/* Says why the core file that was asked for is not there. */
static bool is_core_saved(const struct psc_trace *trace, const struct options *options)
{
    struct psc_error err = {0};
    if (!options->saves_core || psc_trace_core(trace, &err) == PSC_OK)
        return true;
    complain("%s", err.message);
    return false;
}

/* Worse is larger: EXIT_PARTIAL where some files could not be read. */
static int save_bundle(struct psc_trace *const *traces, size_t count, const struct options *options)
{
    struct bundle_error unread, error;
    if (!options->bundle)
        return EXIT_COMPLETE;
    if (!bundle_write(options->bundle, traces, count, &unread, &error)) {
        complain("--bundle: %s", error.message);
        return EXIT_NOTHING;
    }
    if (!unread.message[0])
        return EXIT_COMPLETE;
    complain("--bundle: not in it: %s", unread.message);
    return EXIT_PARTIAL;
}

/* Those that were asked for and are not there; false when there are none at all. */
static bool are_values_there(const struct psc_trace *trace, int *code)
{
    size_t count = psc_trace_evaluation_count(trace), found = 0;
    for (size_t i = 0; i < count; i++) {
        struct psc_evaluated value = PSC_EVALUATED_INIT;
        if (psc_trace_get_evaluation(trace, i, &value, NULL) != PSC_OK)
            continue;
        found += value.value != NULL;
        if (value.value)
            continue;
        complain("--eval: %s: %s", value.expression, value.problem ? value.problem : "no value");
        *code = EXIT_PARTIAL;
    }
    return !count || found;
}

int show_traces(struct psc_trace **traces, size_t count, const struct options *options)
{
    bool good = true;
    int code = save_bundle(traces, count, options);
    bool is_signed = sign_traces(traces, count, options);
    good = code != EXIT_NOTHING && is_signed;
    if (is_signed && options->explains_signature)
        good = explain_signatures(traces, count) && good;
    for (size_t i = 0; is_signed && i < options->output_count && !options->explains_signature; i++)
        good = print_output(traces, count, options, &options->outputs[i]) && good;
    for (size_t i = 0; i < count; i++) {
        char label[32];
        snprintf(label, sizeof(label), "process %d", psc_trace_pid(traces[i]));
        for (size_t j = 0; j < psc_trace_warning_count(traces[i]); j++)
            complain_about(options->core ? options->core : label, psc_trace_warning(traces[i], j));
        if (!psc_trace_is_complete(traces[i]))
            code = EXIT_PARTIAL;
        good = is_core_saved(traces[i], options) && good;
        good = are_values_there(traces[i], &code) && good;
        psc_trace_destroy(traces[i]);
    }
    return good ? code : EXIT_NOTHING;
}
