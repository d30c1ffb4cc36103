#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum long_option {
    OPT_FORMAT = 256,
    OPT_PID,
    OPT_CHILDREN,
    OPT_NO_PAUSE,
    OPT_WATCH,
    OPT_SAVE_CORE,
    OPT_OUTPUT,
    OPT_MODE,
    OPT_ALL,
    OPT_ALL_INLINED,
    OPT_LOCALS,
    OPT_TASKS,
    OPT_NO_SOURCE,
    OPT_UNWINDER,
    OPT_THREAD,
    OPT_ORDER,
    OPT_SYSROOT,
    OPT_DEBUG_DIR,
    OPT_LIB_DIR,
    OPT_SOURCE_MAP,
    OPT_SOURCE_DIR,
    OPT_COLOR,
    OPT_NO_GROUP,
    OPT_EXPLAIN,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"pid", required_argument, NULL, OPT_PID},
    {"children", no_argument, NULL, OPT_CHILDREN},
    {"no-pause", no_argument, NULL, OPT_NO_PAUSE},
    {"watch", required_argument, NULL, OPT_WATCH},
    {"save-core", optional_argument, NULL, OPT_SAVE_CORE},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"output", required_argument, NULL, OPT_OUTPUT},
    {"mode", required_argument, NULL, OPT_MODE},
    {"all", no_argument, NULL, OPT_ALL},
    {"all-inlined", no_argument, NULL, OPT_ALL_INLINED},
    {"locals", no_argument, NULL, OPT_LOCALS},
    {"tasks", no_argument, NULL, OPT_TASKS},
    {"no-source", no_argument, NULL, OPT_NO_SOURCE},
    {"unwinder", required_argument, NULL, OPT_UNWINDER},
    {"thread", required_argument, NULL, OPT_THREAD},
    {"order", required_argument, NULL, OPT_ORDER},
    {"sysroot", required_argument, NULL, OPT_SYSROOT},
    {"debug-dir", required_argument, NULL, OPT_DEBUG_DIR},
    {"lib-dir", required_argument, NULL, OPT_LIB_DIR},
    {"source-map", required_argument, NULL, OPT_SOURCE_MAP},
    {"source-dir", required_argument, NULL, OPT_SOURCE_DIR},
    {"color", required_argument, NULL, OPT_COLOR},
    {"no-group", no_argument, NULL, OPT_NO_GROUP},
    {"explain", no_argument, NULL, OPT_EXPLAIN},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help_text[] =
    "Usage: pystack-core [OPTIONS] CORE [EXECUTABLE]\n"
    "       pystack-core [OPTIONS] --pid PID [--save-core[=full] [FILE]]\n"
    "       pystack-core demangle [SYMBOL...]\n"
    "\n"
    "Prints the merged native, Cython and Python stack of every thread of a core file, or of\n"
    "a living process, which is stopped for some milliseconds.\n"
    "EXECUTABLE is needed only when the program is not where the core says it was.\n"
    "demangle shows Cython, C++ and Rust symbols as they were written, as c++filt does; a core\n"
    "file of that name is ./demangle.\n"
    "\n"
    "Output:\n"
    "      --format FORMAT         text (default) or json\n"
    "  -o FILE                     write there instead of standard output\n"
    "      --output FORMAT=FILE    write FILE as well; may be repeated\n"
    "      --color WHEN            auto (default), always or never\n"
    "\n"
    "What is shown:\n"
    "      --mode MODE             merged (default), python or native\n"
    "      --thread WHICH          all (default), crashed or a thread id\n"
    "      --order ORDER           innermost-first (default) or outermost-first\n"
    "      --all                   also the frames that merging hides, marked\n"
    "      --all-inlined           also inlined calls that take long to look up (large compressed\n"
    "                              debug information, as of Debian's libc6-dbg)\n"
    "      --locals                arguments and variables with their values: of Python frames, "
    "and\n"
    "                              of Cython and C frames that have debug information\n"
    "      --tasks                 also asyncio's tasks that are not done, as a tree of who waits\n"
    "                              for whom; and greenlets that are suspended\n"
    "      --no-group              do not put threads with equal stacks together\n"
    "      --no-source             no lines of source\n"
    "      --explain               how each thing was found\n"
    "\n"
    "Living processes:\n"
    "      --pid PID               instead of CORE; without the right to trace it only the names "
    "and\n"
    "                              states of its threads can be shown\n"
    "      --children              also its descendants; threads with equal stacks stand "
    "together,\n"
    "                              as PID/TID; JSON is one object a line\n"
    "      --no-pause              do not stop it: only Python frames, and what changes while it "
    "is\n"
    "                              read may be shown wrongly (the report says whether it did)\n"
    "      --watch SECONDS         again and again, until it has ended; JSON is one object a line\n"
    "      --save-core [FILE]      also write what was looked at as a core file (core.PID): "
    "registers,\n"
    "                              stacks and all memory that the report needed; of descendants\n"
    "                              FILE.PID each\n"
    "      --save-core=full [FILE] with all memory, as the kernel would dump it (core(5)); the\n"
    "                              process is stopped until that is copied: about a second a GB\n"
    "\n"
    "Where the files of the dead machine are now:\n"
    "      --sysroot DIR           look up its absolute paths below DIR first\n"
    "      --lib-dir DIR           search DIR for its files; may be repeated\n"
    "      --debug-dir DIR         separate debug files (default /usr/lib/debug)\n"
    "      --source-map FROM=TO    source paths that begin with FROM are at TO; may be repeated\n"
    "      --source-dir DIR        sources and generated C of Cython modules are somewhere below\n"
    "                              DIR; may be repeated\n"
    "\n"
    "      --unwinder NAME         libunwind (default) or libdw\n"
    "  -h, --help                  this text\n"
    "      --version               the version\n"
    "\n"
    "Exit status: 0 everything shown, 1 shown with parts missing (each is named),\n"
    "2 nothing could be shown or a file that was asked for not be written, 64 wrong usage.\n";

struct choice {
    const char *name;
    int value;
};

static const struct choice formats[] = {
    {"text", PSC_FORMAT_TEXT}, {"json", PSC_FORMAT_JSON}, {NULL, 0}};
static const struct choice modes[] = {{"merged", PSC_MODE_MERGED},
                                      {"python", PSC_MODE_PYTHON},
                                      {"native", PSC_MODE_NATIVE},
                                      {NULL, 0}};
static const struct choice unwinders[] = {
    {"libunwind", PSC_UNWINDER_LIBUNWIND}, {"libdw", PSC_UNWINDER_LIBDW}, {NULL, 0}};
static const struct choice orders[] = {{"innermost-first", 0}, {"outermost-first", 1}, {NULL, 0}};
static const struct choice colors[] = {
    {"auto", COLOR_AUTO}, {"always", COLOR_ALWAYS}, {"never", COLOR_NEVER}, {NULL, 0}};

__attribute__((__format__(__printf__, 1, 2))) static bool complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("pystack-core: ", stderr);
    vfprintf(stderr, format, args);
    fputs("; see pystack-core --help\n", stderr);
    va_end(args);
    return false;
}

/* False, and said so, when the word is none of the choices. */
static bool choose(const char *option, const char *word, const struct choice *choices, int *ret)
{
    char names[80] = "";
    for (const struct choice *choice = choices; choice->name; choice++) {
        if (!strcmp(choice->name, word)) {
            *ret = choice->value;
            return true;
        }
        size_t size = strlen(names);
        snprintf(names + size, sizeof(names) - size, "%s%s", size ? ", " : "", choice->name);
    }
    return complain("--%s: '%s' is none of %s", option, word, names);
}

static bool parse_thread(struct options *options, const char *word)
{
    struct psc_capture_options *capture = &options->capture;
    if (!strcmp(word, "all") || !strcmp(word, "crashed")) {
        capture->threads = *word == 'a' ? PSC_THREADS_ALL : PSC_THREADS_CRASHED;
        return true;
    }
    char *end;
    errno = 0;
    long number = strtol(word, &end, 10);
    if (errno || *end || end == word || number < 1 || number > INT32_MAX)
        return complain("--thread: '%s' is none of all, crashed, a thread id", word);
    options->thread = (int32_t)number;
    capture->threads = PSC_THREADS_LISTED;
    capture->thread_ids = &options->thread;
    capture->thread_id_count = 1;
    return true;
}

static bool parse_pid(struct options *options, const char *word)
{
    char *end;
    errno = 0;
    long number = strtol(word, &end, 10);
    if (errno || *end || end == word || number < 1 || number > INT32_MAX)
        return complain("--pid: '%s' is no process id", word);
    options->pid = (int32_t)number;
    snprintf(options->label, sizeof(options->label), "process %d", options->pid);
    return true;
}

static bool parse_interval(const char *word, double *ret)
{
    char *end;
    *ret = strtod(word, &end);
    // Not <=: NaN is nothing to wait for either.
    if (*end || end == word || !(*ret >= 0.001) || *ret > 1e9)
        return complain("--watch: '%s' is no number of seconds", word);
    return true;
}

/* FORMAT=FILE; the format's name is cut out of a copy, argv stays as it is. */
static bool parse_output(const char *word, struct output *ret)
{
    const char *equals = strchr(word, '=');
    char name[16];
    int format;
    if (!equals || !equals[1] || (size_t)(equals - word) >= sizeof(name))
        return complain("--output: '%s' is not FORMAT=FILE", word);
    memcpy(name, word, (size_t)(equals - word));
    name[equals - word] = '\0';
    if (!choose("output", name, formats, &format))
        return false;
    *ret = (struct output){(enum psc_format)format, equals + 1};
    return true;
}

static bool parse_source_map(struct options *options, const char *word)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return complain("--source-map: '%s' is not FROM=TO", word);
    options->source_maps[options->open.source_map_count++] = word;
    return true;
}

/* FILE may stand for itself, since --pid takes no other word. */
static void parse_save_core(struct options *options, const char *word)
{
    options->saves_core = true;
    if (word && !strcmp(word, "full"))
        options->capture.core_full = 1;
    else if (word)
        options->core_file = word;
}

/* Options without a value. */
static bool set_flag(struct options *options, int option)
{
    switch (option) {
    case OPT_CHILDREN:
        options->children = true;
        return true;
    case OPT_NO_PAUSE:
        options->capture.no_pause = 1;
        return true;
    case OPT_ALL:
        options->print.all = 1;
        options->capture.detail_hidden = 1;
        return true;
    case OPT_ALL_INLINED:
        options->capture.all_inlined = 1;
        return true;
    case OPT_LOCALS:
        options->capture.locals = 1;
        return true;
    case OPT_TASKS:
        options->capture.tasks = 1;
        return true;
    case OPT_NO_SOURCE:
        options->capture.no_source = 1;
        return true;
    case OPT_NO_GROUP:
        options->print.no_group = 1;
        return true;
    case OPT_EXPLAIN:
        options->print.explain = 1;
        return true;
    default:
        return false;
    }
}

static bool parse_option(struct options *options, int option, const char *value)
{
    int choice = 0;
    bool good = true;
    switch (option) {
    case 'o':
        options->outputs[0].path = strcmp(value, "-") ? value : NULL;
        break;
    case OPT_PID:
        good = parse_pid(options, value);
        break;
    case OPT_WATCH:
        good = parse_interval(value, &options->interval);
        break;
    case OPT_SAVE_CORE:
        parse_save_core(options, value);
        break;
    case OPT_FORMAT:
        good = choose("format", value, formats, &choice);
        options->outputs[0].format = (enum psc_format)choice;
        break;
    case OPT_OUTPUT:
        good = parse_output(value, &options->outputs[options->output_count]);
        options->output_count += good;
        break;
    case OPT_MODE:
        good = choose("mode", value, modes, &choice);
        options->capture.mode = (enum psc_mode)choice;
        break;
    case OPT_UNWINDER:
        good = choose("unwinder", value, unwinders, &choice);
        options->capture.unwinder = (enum psc_unwinder)choice;
        break;
    case OPT_THREAD:
        good = parse_thread(options, value);
        break;
    case OPT_ORDER:
        good = choose("order", value, orders, &choice);
        options->print.outermost_first = (uint32_t)choice;
        break;
    case OPT_SYSROOT:
        options->open.sysroot = value;
        break;
    case OPT_DEBUG_DIR:
        options->open.debug_directory = value;
        break;
    case OPT_LIB_DIR:
        options->library_directories[options->open.library_directory_count++] = value;
        break;
    case OPT_SOURCE_MAP:
        good = parse_source_map(options, value);
        break;
    case OPT_SOURCE_DIR:
        options->source_directories[options->open.source_directory_count++] = value;
        break;
    case OPT_COLOR:
        good = choose("color", value, colors, &choice);
        options->color = (enum color_choice)choice;
        break;
    default:
        good = set_flag(options, option);
    }
    return good;
}

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
        .open = PSC_OPEN_OPTIONS_INIT,
        .capture = PSC_CAPTURE_OPTIONS_INIT,
        .print = PSC_PRINT_OPTIONS_INIT,
    };
    options->open.library_directories = options->library_directories;
    options->open.source_maps = options->source_maps;
    options->open.source_directories = options->source_directories;
    return options->outputs && options->library_directories && options->source_maps &&
           options->source_directories;
}

void options_deinit(struct options *options)
{
    free(options->outputs);
    free(options->library_directories);
    free(options->source_maps);
    free(options->source_directories);
    *options = (struct options){0};
}

static void complain_option(int result, char **argv)
{
    const char *word = argv[optind - 1];
    if (result == ':')
        complain("option '%s' needs a value", word);
    else if (optopt >= 256)
        complain("option '%s' takes no value", word);
    else if (optopt)
        complain("unknown option '-%c'", optopt);
    else
        complain("unknown or ambiguous option '%s'", word);
}

/* What does not go together. */
static bool check_options(const struct options *options, int word_count)
{
    const struct psc_capture_options *capture = &options->capture;
    if (options->pid ? word_count != 0 : word_count < 1 || word_count > 2)
        return complain(options->pid      ? "--pid takes neither CORE nor EXECUTABLE"
                        : word_count == 0 ? "neither a core file nor --pid is given"
                                          : "more than CORE and EXECUTABLE");
    if ((options->interval > 0 || options->children || options->saves_core) && !options->pid)
        return complain("--watch, --children and --save-core go with --pid");
    if (capture->no_pause &&
        (!options->pid || capture->mode == PSC_MODE_NATIVE || capture->threads != PSC_THREADS_ALL))
        return complain("--no-pause goes with --pid, not with --mode native or --thread");
    if (capture->tasks && capture->mode == PSC_MODE_NATIVE)
        return complain("--tasks does not go with --mode native");
    if (options->saves_core && (capture->no_pause || options->interval > 0))
        return complain("--save-core does not go with %s",
                        capture->no_pause ? "--no-pause: a core file is of one moment, in which "
                                            "the process stands still"
                                          : "--watch: each look would write over the last one");
    if (options->core_file && !strcmp(options->core_file, "full"))
        return complain("--save-core: all memory is asked for by --save-core=full, and a file of "
                        "that name by ./full");
    for (size_t i = 0; options->core_file && i < options->output_count; i++)
        if (options->outputs[i].path && !strcmp(options->outputs[i].path, options->core_file))
            return complain("--save-core: the report goes to %s, too", options->core_file);
    return true;
}

enum options_result options_parse(struct options *options, int argc, char **argv)
{
    if (!options_init(options, argc)) {
        fputs("pystack-core: out of memory\n", stderr);
        return OPTIONS_NO_MEMORY;
    }
    opterr = 0;
    int option;
    while ((option = getopt_long(argc, argv, ":ho:", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help_text, stdout);
            return OPTIONS_DONE;
        }
        if (option == OPT_VERSION) {
            printf("pystack-core %s\n", psc_version());
            return OPTIONS_DONE;
        }
        if (option == '?' || option == ':') {
            complain_option(option, argv);
            return OPTIONS_WRONG;
        }
        if (!parse_option(options, option, optarg))
            return OPTIONS_WRONG;
    }
    if (options->saves_core && options->pid && !options->core_file && argc - optind == 1)
        options->core_file = argv[optind++];
    if (!check_options(options, argc - optind))
        return OPTIONS_WRONG;
    options->print.one_line = options->interval > 0;
    if (!options->pid) {
        options->core = argv[optind];
        options->executable = argv[optind + 1];
    }
    for (size_t i = 0; i < options->output_count; i++)
        options->capture.all_modules |= options->outputs[i].format == PSC_FORMAT_JSON;
    return OPTIONS_RUN;
}
