/* `pystack-core summary`: reports of many processes, or hosts, as one tree of stacks. */
#include "commands.h"

#include "json_reports.h"
#include "messages.h"
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_text[] =
    "Usage: pystack-core summary [OPTIONS] FILE...\n"
    "\n"
    "Reads reports that pystack-core --format json has written, of many processes or hosts, and\n"
    "prints all their stacks as one tree with counts, outermost first: the stack of the thread\n"
    "that crashed, then odd ones, then those that most threads have. A file may have several\n"
    "reports, one behind the other (as --children and --watch write them); - is standard input.\n"
    "\n"
    "  --format FORMAT             text (default) or json\n"
    "  -o FILE                     write there instead of standard output\n"
    "  --all                       all stacks and frames, those that merging hides with them\n"
    "                              where the reports have them\n"
    "  -h, --help                  this text\n"
    "\n"
    "Exit status: 0 all was read, 1 what could not be read is missing, 2 nothing could be\n"
    "shown, 64 wrong usage.\n";

struct request {
    struct psc_print_options print;
    const char *path; /* NULL: standard output. */
    char **files;
    int file_count;
};

static int refuse(const char *what, const char *word)
{
    complain("%s '%s'; see pystack-core summary --help", what, word);
    return EXIT_USAGE;
}

/* The value of an option, "--format=json" or "--format json"; NULL when the word is another. */
static const char *take_value(const char *name, char **argv, int argc, int *at)
{
    size_t size = strlen(name);
    const char *word = argv[*at];
    if (!word || strncmp(word, name, size) != 0)
        return NULL;
    if (word[size] == '=' && size > 2)
        return word + size + 1;
    if (!word[size] && *at + 1 < argc)
        return argv[++*at];
    return NULL;
}

static int take_option(struct request *request, char **argv, int argc, int *at)
{
    const char *word = argv[*at];
    const char *value = take_value("--format", argv, argc, at);
    if (value) {
        bool json = !strcmp(value, "json");
        request->print.format = json ? PSC_FORMAT_JSON : PSC_FORMAT_TEXT;
        return json || !strcmp(value, "text") ? EXIT_COMPLETE : refuse("no such format:", value);
    }
    value = take_value("-o", argv, argc, at);
    if (value)
        request->path = strcmp(value, "-") ? value : NULL;
    else if (!strcmp(word, "--all"))
        request->print.all = 1;
    else
        return refuse("unknown option, or one without its value:", word);
    return EXIT_COMPLETE;
}

static int take_words(struct request *request, int argc, char **argv)
{
    bool options = true;
    for (int i = 1; i < argc; i++) {
        if (options && !strcmp(argv[i], "--")) {
            options = false;
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            int code = take_option(request, argv, argc, &i);
            if (code != EXIT_COMPLETE)
                return code;
        } else {
            request->files[request->file_count++] = argv[i];
        }
    }
    if (request->file_count)
        return EXIT_COMPLETE;
    complain("no report is given; see pystack-core summary --help");
    return EXIT_USAGE;
}

static bool print_list(const struct report_list *list, const struct request *request)
{
    const char *name = request->path ? request->path : "standard output";
    struct psc_error err = {0};
    struct output_file file;
    if (!open_output(&file, request->path, false)) {
        close_output(&file, false);
        complain("%s: cannot be written: %s", name, strerror(file.error));
        return false;
    }
    bool good = psc_print_processes((const struct psc_trace *const *)list->traces, list->count,
                                    &request->print, write_output, &file, &err) == PSC_OK;
    good = close_output(&file, good);
    if (!good && !request->path && file.error == EPIPE)
        return true;
    if (!good)
        complain("%s: %s", name, file.error ? strerror(file.error) : err.message);
    return good;
}

static int summarize(const struct request *request)
{
    struct report_list list = {0};
    int code = EXIT_COMPLETE;
    for (int i = 0; i < request->file_count; i++)
        if (!report_list_add_file(&list, request->files[i]))
            code = EXIT_PARTIAL;
    if (!list.count || !print_list(&list, request))
        code = EXIT_NOTHING;
    report_list_deinit(&list);
    return code;
}

int command_summary(int argc, char **argv)
{
    struct request request = {.print = PSC_PRINT_OPTIONS_INIT,
                              .files = calloc((size_t)argc + 1, sizeof(*request.files))};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-h") != 0 && strcmp(argv[i], "--help") != 0)
            continue;
        fputs(help_text, stdout);
        free(request.files);
        return EXIT_COMPLETE;
    }
    if (!request.files) {
        complain("out of memory");
        return EXIT_NOTHING;
    }
    request.print.content = PSC_CONTENT_SUMMARY;
    int code = take_words(&request, argc, argv);
    if (code == EXIT_COMPLETE)
        code = summarize(&request);
    free(request.files);
    return code;
}
