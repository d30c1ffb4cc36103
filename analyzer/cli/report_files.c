/* Files that are opened, written and put in place; what is printed to them. */
#include "report_files.h"

#include "bundle.h"
#include "messages.h"
#include "sandbox.h"
#include "signatures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static const char *name_of(const struct output *output)
{
    return output->path ? output->path : "standard output";
}

/* ---- opening ---- */

static bool open_report(const struct options *options, const struct output *output,
                        struct output_file *file)
{
    *file = (struct output_file){.fd = -1, .error = EBADF};
    if (options->core && is_same_file(output->path, options->core)) {
        complain("%s: is the core file itself; name another file to write to", name_of(output));
        return false;
    }
    if (open_output(file, output->path, shows_values(options)))
        return true;
    int error = file->error;
    close_output(file, false);
    complain("%s: cannot be written: %s", name_of(output), strerror(error));
    *file = (struct output_file){.fd = -1, .error = error};
    return false;
}

bool reports_open(struct reports *reports, const struct options *options, size_t snapshots)
{
    struct bundle_error error;
    *reports = (struct reports){.options = options, .bundle.fd = -1, .bundle_opened = true};
    reports->count = options->explains_signature ? 0 : options->output_count;
    reports->map_size = (reports->count + 1 + snapshots) * sizeof(*reports->is_good);
    reports->files = calloc(reports->count + 1, sizeof(*reports->files));
    void *shared =
        mmap(NULL, reports->map_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !reports->files) {
        if (shared != MAP_FAILED)
            munmap(shared, reports->map_size);
        complain("out of memory");
        return false;
    }
    reports->is_good = shared;
    reports->has_core = reports->is_good + reports->count + 1;
    for (size_t i = 0; i < reports->count; i++)
        open_report(options, &options->outputs[i], &reports->files[i]);
    if (options->bundle)
        reports->bundle_opened = bundle_create(&reports->bundle, options->bundle, &error);
    if (!reports->bundle_opened)
        complain("--bundle: %s", error.message);
    return true;
}

/* ---- putting in place ---- */

static bool close_report(const struct output *output, struct output_file *file, bool good)
{
    bool was_open = file->fd >= 0;
    if (!was_open || close_output(file, good))
        return was_open;
    if (good)
        complain("%s: %s", name_of(output), strerror(file->error));
    return false;
}

static bool close_bundle(struct reports *reports)
{
    struct bundle_error error;
    if (!reports->options->bundle)
        return true;
    if (!reports->is_good[reports->count]) {
        new_file_drop(&reports->bundle);
        return false;
    }
    if (bundle_keep(&reports->bundle, reports->options->bundle, &error))
        return true;
    complain("--bundle: %s", error.message);
    return false;
}

int reports_close(struct reports *reports, int code)
{
    bool good = reports->is_good != NULL;
    for (size_t i = 0; reports->is_good && i < reports->count; i++)
        good =
            close_report(&reports->options->outputs[i], &reports->files[i], reports->is_good[i]) &&
            good;
    if (reports->is_good) {
        good = close_bundle(reports) && good;
        munmap(reports->is_good, reports->map_size);
    }
    free(reports->files);
    return good ? code : EXIT_NOTHING;
}

/* ---- writing ---- */

/* As a line of --explain. */
static bool print_sandbox(struct output_file *file)
{
    char text[512];
    const char *dropped = sandbox_describe();
    int size = snprintf(text, sizeof(text), "  sandbox: %s\n", *dropped ? dropped : "none");
    return !write_output(file, text, (size_t)size);
}

static bool print_output(struct psc_trace *const *traces, size_t count, const struct reports *all,
                         size_t number, int *code)
{
    const struct options *options = all->options;
    const struct output *output = &options->outputs[number];
    struct output_file *file = &all->files[number];
    struct psc_print_options print = options->print;
    struct psc_error err = {0};
    if (file->fd < 0)
        return false;
    print.format = output->format;
    print.color = wants_color(options, output);
    const struct psc_trace *const *readable = (const struct psc_trace *const *)traces;
    struct masked_output masked = {.file = file};
    int (*write)(void *context, const char *bytes, size_t size) =
        options->redacts ? write_masked : write_output;
    void *where = options->redacts ? (void *)&masked : file;
    bool good = options_are_several(options)
                    ? !psc_print_processes(readable, count, &print, write, where, &err)
                    : !psc_print(traces[0], &print, write, where, &err);
    const uint64_t limit = print.size_limit ? print.size_limit : PSC_PRINT_LIMIT;
    if (file->taken >= limit) {
        *code = EXIT_PARTIAL;
        complain("%s: the report is cut: it would have more than %llu MB", name_of(output),
                 (unsigned long long)limit >> 20);
    }
    if (options->redacts)
        good = end_masked(&masked) && good;
    if (good && print.explain && print.format == PSC_FORMAT_TEXT)
        good = print_sandbox(file);
    /* The reader has closed the pipe: no error. */
    if (!good && !output->path && file->error == EPIPE) {
        file->error = 0;
        return true;
    }
    if (!good)
        complain("%s: %s", name_of(output), file->error ? strerror(file->error) : err.message);
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
static int save_bundle(struct psc_trace *const *traces, size_t count, const struct reports *reports)
{
    const char *path = reports->options->bundle;
    struct bundle_error unread, error;
    if (!path)
        return EXIT_COMPLETE;
    if (!reports->bundle_opened)
        return EXIT_NOTHING;
    const struct bundle_traces all = {traces, count};
    if (!bundle_write(reports->bundle.fd, path, &all, &unread, &error)) {
        complain("--bundle: %s", error.message);
        return EXIT_NOTHING;
    }
    reports->is_good[reports->count] = true;
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

int reports_write(struct reports *reports, struct psc_trace **traces, size_t count)
{
    const struct options *options = reports->options;
    struct psc_error err = {0};
    if (count > 1 && psc_find_deadlocks(traces, count, &err) != PSC_OK)
        complain("%s", err.message);
    int code = save_bundle(traces, count, reports);
    bool is_signed = sign_traces(traces, count, options);
    bool good = code != EXIT_NOTHING && is_signed;
    if (is_signed && options->explains_signature)
        good = explain_signatures(traces, count, options->redacts) && good;
    for (size_t i = 0; is_signed && i < reports->count; i++) {
        reports->is_good[i] = print_output(traces, count, reports, i, &code);
        good = reports->is_good[i] && good;
    }
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
