/* The options of `pystack-core heap`: the one list of them. */
#include "heap_command_private.h"

#include "messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MOST 1000000u

static const struct option_choice formats[] = {
    {"text", PSC_HEAP_TEXT}, {"json", PSC_HEAP_JSON}, {"html", PSC_HEAP_HTML}, {NULL, 0}};

static enum options_result take_format(void *request, const struct option_spec *spec,
                                       const char *value)
{
    int format;
    if (!option_choose(spec, value, &format))
        return OPTIONS_WRONG;
    ((struct heap_request *)request)->outputs[0].format = (enum psc_heap_format)format;
    return OPTIONS_RUN;
}

static enum options_result take_file(void *request, const struct option_spec *spec,
                                     const char *value)
{
    (void)spec;
    ((struct heap_request *)request)->outputs[0].path = strcmp(value, "-") ? value : NULL;
    return OPTIONS_RUN;
}

static enum options_result take_output(void *given, const struct option_spec *spec,
                                       const char *value)
{
    struct heap_request *request = given;
    int format;
    const char *path;
    if (!option_parse_output(spec, value, &format, &path))
        return OPTIONS_WRONG;
    if (request->output_count >= HEAP_OUTPUTS) {
        complain_of_usage("--output: %u files at most", HEAP_OUTPUTS);
        return OPTIONS_WRONG;
    }
    request->outputs[request->output_count].format = (enum psc_heap_format)format;
    request->outputs[request->output_count++].path = path;
    return OPTIONS_RUN;
}

static enum options_result take_limit(void *request, const struct option_spec *spec,
                                      const char *value)
{
    uint64_t number;
    if (!option_parse_number(spec, value, NUMBER_MOST, &number))
        return OPTIONS_WRONG;
    ((struct heap_request *)request)->print.limit = (uint32_t)number;
    return OPTIONS_RUN;
}

static enum options_result take_largest(void *request, const struct option_spec *spec,
                                        const char *value)
{
    (void)spec;
    (void)value;
    ((struct heap_request *)request)->print.contents |= PSC_HEAP_LARGEST;
    return OPTIONS_RUN;
}

static enum options_result take_type(void *given, const struct option_spec *spec, const char *value)
{
    struct heap_request *request = given;
    (void)spec;
    request->print.type = value;
    request->print.contents |= PSC_HEAP_LISTED;
    return OPTIONS_RUN;
}

static enum options_result take_where(void *given, const struct option_spec *spec,
                                      const char *value)
{
    struct heap_request *request = given;
    (void)spec;
    request->print.where = value;
    request->print.contents |= PSC_HEAP_LISTED;
    return OPTIONS_RUN;
}

static enum options_result take_object(void *given, const struct option_spec *spec,
                                       const char *value)
{
    struct heap_request *request = given;
    char *end = NULL;
    (void)spec;
    errno = 0;
    request->print.object = strtoull(value, &end, 0);
    if (errno || !end || *end || !request->print.object || *value == '-') {
        complain_of_usage("--object takes an address (0x7f...), not '%s'", value);
        return OPTIONS_WRONG;
    }
    request->print.contents |= PSC_HEAP_OBJECT;
    return OPTIONS_RUN;
}

static enum options_result take_who_holds(void *given, const struct option_spec *spec,
                                          const char *value)
{
    struct heap_request *request = given;
    (void)spec;
    request->print.held = value;
    request->print.contents |= PSC_HEAP_HOLDERS;
    return OPTIONS_RUN;
}

static enum options_result take_verify(void *request, const struct option_spec *spec,
                                       const char *value)
{
    (void)spec;
    (void)value;
    ((struct heap_request *)request)->print.contents |= PSC_HEAP_FINDINGS;
    return OPTIONS_RUN;
}

static enum options_result take_diff(void *given, const struct option_spec *spec, const char *value)
{
    struct heap_request *request = given;
    (void)spec;
    request->older = value;
    request->print.contents |= PSC_HEAP_GROWTH;
    return OPTIONS_RUN;
}

static enum options_result take_pid(void *request, const struct option_spec *spec,
                                    const char *value)
{
    uint64_t number;
    if (!option_parse_number(spec, value, INT32_MAX, &number))
        return OPTIONS_WRONG;
    ((struct heap_request *)request)->pid = (int32_t)number;
    return OPTIONS_RUN;
}

static enum options_result take_sysroot(void *request, const struct option_spec *spec,
                                        const char *value)
{
    (void)spec;
    ((struct heap_request *)request)->open.sysroot = value;
    return OPTIONS_RUN;
}

static enum options_result take_folder(void *given, const struct option_spec *spec,
                                       const char *value)
{
    struct heap_request *request = given;
    (void)spec;
    if (request->open.library_directory_count >= HEAP_FOLDERS) {
        complain_of_usage("--lib-dir: %u folders at most", HEAP_FOLDERS);
        return OPTIONS_WRONG;
    }
    request->folders[request->open.library_directory_count++] = value;
    return OPTIONS_RUN;
}

static enum options_result take_no_sandbox(void *request, const struct option_spec *spec,
                                           const char *value)
{
    (void)spec;
    (void)value;
    ((struct heap_request *)request)->no_sandbox = true;
    return OPTIONS_RUN;
}

static const struct option_spec option_list[] = {
    {"Output:", "format", 0, OPTION_REQUIRED, "FORMAT",
     "text (default), json, or html: a page with the tree of retained\nsizes", take_format,
     COMPLETE_CHOICES, formats},
    {NULL, NULL, 'o', OPTION_REQUIRED, "FILE", "write there instead of standard output", take_file,
     COMPLETE_FILES, NULL},
    {NULL, "output", 0, OPTION_REQUIRED, "FORMAT=FILE", "write FILE as well; may be repeated",
     take_output, COMPLETE_FORMATS, formats},
    {NULL, "limit", 0, OPTION_REQUIRED, "N", "rows of a table, objects of a list", take_limit,
     COMPLETE_NOTHING, NULL},

    {"What is shown:", "largest", 0, OPTION_FLAG, NULL, "the largest objects", take_largest,
     COMPLETE_NOTHING, NULL},
    {NULL, "type", 0, OPTION_REQUIRED, "NAME", "the objects of a type: module.Class", take_type,
     COMPLETE_NOTHING, NULL},
    {NULL, "where", 0, OPTION_REQUIRED, "EXPRESSION",
     "those for which it holds: attributes and lengths, as in\n\"len(rows) > 1000\"", take_where,
     COMPLETE_NOTHING, NULL},
    {NULL, "object", 0, OPTION_REQUIRED, "ADDRESS",
     "one object: value, owner, size, what refers to it and what it\nrefers to", take_object,
     COMPLETE_NOTHING, NULL},
    {NULL, "who-holds", 0, OPTION_REQUIRED, "ADDRESS|TYPE",
     "the shortest way to it from a root with a name: a module, a frame,\n"
     "a class, code in C",
     take_who_holds, COMPLETE_NOTHING, NULL},
    {NULL, "verify", 0, OPTION_FLAG, NULL,
     "what is damaged: counts of references that are too low, references\n"
     "to freed memory, overwritten headers, broken lists, pools, chunks",
     take_verify, COMPLETE_NOTHING, NULL},
    {NULL, "diff", 0, OPTION_REQUIRED, "OLD",
     "what has grown since this core of the same process, by type and by\nholder", take_diff,
     COMPLETE_FILES, NULL},

    {"What is looked at:", "pid", 0, OPTION_REQUIRED, "PID",
     "instead of CORE; the process stands still until its memory is\ncopied", take_pid,
     COMPLETE_PROCESSES, NULL},
    {NULL, "sysroot", 0, OPTION_REQUIRED, "DIR",
     "look up absolute paths of the dead machine below DIR first", take_sysroot,
     COMPLETE_DIRECTORIES, NULL},
    {NULL, "lib-dir", 0, OPTION_REQUIRED, "DIR",
     "search DIR and all below it for its files; may be repeated", take_folder,
     COMPLETE_DIRECTORIES, NULL},
    {NULL, "no-sandbox", 0, OPTION_FLAG, NULL, "parse with all rights of this program",
     take_no_sandbox, COMPLETE_NOTHING, NULL},
    OPTION_HELP,
};

const struct command_spec heap_command = {
    .name = "heap",
    .summary = "what fills the memory, who holds it, what is damaged",
    .usage = "[OPTIONS] CORE [EXECUTABLE]\n[OPTIONS] --pid PID\n[OPTIONS] --diff OLD NEW",
    .about =
        "Reads all objects of a Python process from memory alone. Without an option that says\n"
        "what is shown: what there is by type and by layer, and who holds more than a tenth.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "pystack-core heap core.1234\n"
                "pystack-core heap core.1234 --who-holds app.Session\n"
                "pystack-core heap core.1234 --verify\n"
                "pystack-core heap --diff core.1 core.2",
    .exit_status = "Exit status: 0 all was read, 1 what could not be read is missing, 2 nothing "
                   "could be\nshown, 64 wrong usage. Damages that --verify finds do not change it.",
};

enum options_result heap_request_parse(struct heap_request *request, int argc, char **argv)
{
    int at;
    *request = (struct heap_request){
        .output_count = 1, .open = PSC_OPEN_OPTIONS_INIT, .print = PSC_HEAP_PRINT_OPTIONS_INIT};
    request->open.library_directories = request->folders;
    request->open.maps_files = 1; // shrunk_files.h
    enum options_result result = command_line_parse(&heap_command, request, argc, argv, &at);
    if (result != OPTIONS_RUN)
        return result;
    const int words = argc - at;
    if (request->pid ? words > 0 : words < 1 || words > 2) {
        complain_of_usage(request->pid ? "--pid takes neither CORE nor EXECUTABLE"
                          : words      ? "more than CORE and EXECUTABLE"
                                       : "neither a core file nor --pid is given");
        return OPTIONS_WRONG;
    }
    if (!request->pid) {
        request->core = argv[at];
        request->executable = words > 1 ? argv[at + 1] : NULL;
    }
    return OPTIONS_RUN;
}
