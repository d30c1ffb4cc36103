/* `pystack-core summary`: reports of many processes, or hosts, as one tree of stacks. */
#include "commands.h"

#include "json_reports.h"
#include "messages.h"
#include "output.h"
#include "sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct request {
    struct psc_print_options print;
    const char *path; /* NULL: standard output. */
    char **files;
    int file_count;
};

static const struct option_choice formats[] = {
    {"text", PSC_FORMAT_TEXT}, {"json", PSC_FORMAT_JSON}, {NULL, 0}};

static enum options_result take_format(void *request, const struct option_spec *spec,
                                       const char *value)
{
    int format;
    if (!option_choose(spec, value, &format))
        return OPTIONS_WRONG;
    ((struct request *)request)->print.format = (enum psc_format)format;
    return OPTIONS_RUN;
}

static enum options_result take_file(void *request, const struct option_spec *spec,
                                     const char *value)
{
    (void)spec;
    ((struct request *)request)->path = strcmp(value, "-") ? value : NULL;
    return OPTIONS_RUN;
}

static enum options_result take_all(void *request, const struct option_spec *spec,
                                    const char *value)
{
    (void)spec;
    (void)value;
    ((struct request *)request)->print.all = 1;
    return OPTIONS_RUN;
}

static const struct option_spec option_list[] = {
    {NULL, "format", 0, OPTION_REQUIRED, "FORMAT", "text (default) or json", take_format,
     COMPLETE_CHOICES, formats},
    {NULL, NULL, 'o', OPTION_REQUIRED, "FILE", "write there instead of standard output", take_file,
     COMPLETE_FILES, NULL},
    {NULL, "all", 0, OPTION_FLAG, NULL,
     "all stacks and frames, those that merging hides with them\n"
     "where the reports have them",
     take_all, COMPLETE_NOTHING, NULL},
    OPTION_HELP,
};

const struct command_spec summary_command = {
    .name = "summary",
    .summary = "reports of many processes as one tree of stacks",
    .usage = "[OPTIONS] FILE...",
    .about =
        "Reads reports that pystack-core --format json has written, of many processes or hosts, "
        "and\n"
        "prints all their stacks as one tree with counts, outermost first: the stack of the "
        "thread\n"
        "that crashed, then odd ones, then those that most threads have. A file may have several\n"
        "reports, one behind the other (as --children and --watch write them); - is standard "
        "input.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "pystack-core summary rank-*.json\n"
                "pystack-core --match 'python train' --format json | pystack-core summary -",
    .exit_status =
        "Exit status: 0 all was read, 1 what could not be read is missing, 2 nothing could be\n"
        "shown, 64 wrong usage.",
};

/* What the child is given: the output is open, and its name is given by the parent. */
struct work {
    const struct request *request;
    struct output_file *file;
};

static const char *name_of(const struct request *request)
{
    return request->path ? request->path : "standard output";
}

/* The exit code, with what was read: worse is larger. */
static int print_list(const struct report_list *list, const struct work *work, int code)
{
    const char *name = name_of(work->request);
    struct output_file *file = work->file;
    struct psc_error err = {0};
    bool good = psc_print_processes((const struct psc_trace *const *)list->traces, list->count,
                                    &work->request->print, write_output, file, &err) == PSC_OK;
    if (file->taken >= PSC_PRINT_LIMIT) {
        code = EXIT_PARTIAL;
        complain("%s: the summary is cut: it would have more than %llu MB", name,
                 (unsigned long long)PSC_PRINT_LIMIT >> 20);
    }
    // Who read a pipe and has gone needs no more of it.
    if (good || (!work->request->path && file->error == EPIPE))
        return code;
    complain("%s: %s", name, file->error ? strerror(file->error) : err.message);
    return EXIT_NOTHING;
}

/* Without rights: a report can be anybody's. */
static int read_and_print(void *context)
{
    const struct work *work = context;
    const struct request *request = work->request;
    struct report_list list = {0};
    int code = EXIT_COMPLETE;
    for (int i = 0; i < request->file_count; i++)
        if (!report_list_add_file(&list, request->files[i]))
            code = EXIT_PARTIAL;
    code = list.count ? print_list(&list, work, code) : EXIT_NOTHING;
    report_list_deinit(&list);
    return code;
}

static int summarize(const struct request *request)
{
    struct output_file file;
    struct work work = {request, &file};
    const struct sandbox_rules rules = {.files = (const char *const *)request->files,
                                        .file_count = (size_t)request->file_count};
    if (!open_output(&file, request->path, false)) {
        close_output(&file, false);
        complain("%s: cannot be written: %s", name_of(request), strerror(file.error));
        return EXIT_NOTHING;
    }
    sandbox_begin();
    int code = sandbox_run(&rules, read_and_print, &work);
    bool good = code != EXIT_NOTHING;
    if (close_output(&file, good) || !good)
        return code;
    complain("%s: %s", name_of(request), strerror(file.error));
    return EXIT_NOTHING;
}

int command_summary(int argc, char **argv)
{
    struct request request = {.print = PSC_PRINT_OPTIONS_INIT};
    int first;
    enum options_result result = command_line_parse(&summary_command, &request, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    request.print.content = PSC_CONTENT_SUMMARY;
    request.files = argv + first;
    request.file_count = argc - first;
    if (request.file_count) {
        progress_begin("reading", *request.files);
        return summarize(&request);
    }
    complain_of_usage("no report is given");
    return EXIT_USAGE;
}
