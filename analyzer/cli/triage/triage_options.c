/* The command line of `pystack-core triage`. */
#include "messages.h"
#include "options.h"
#include "triage_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS_LIMIT      1024
#define DEFAULT_SECONDS 60u
#define DEFAULT_MEMORY  4096u
#define SEE_HELP        "; see pystack-core triage --help"

enum value { VALUE_NONE, VALUE_REQUIRED, VALUE_OPTIONAL };

struct triage_option {
    const char *name; /* "" where there is a letter alone. */
    char letter;      /* Or 0. */
    enum value value;
    bool (*take)(struct triage_options *options, const struct triage_option *option,
                 const char *value);
};

static const char help_text[] =
    "Usage: pystack-core triage [OPTIONS] CORE|DIRECTORY...\n"
    "\n"
    "Looks at each core, at those in directories too, and puts deaths of one cause together\n"
    "(by their signatures: pystack-core --explain-signature CORE).\n"
    "\n"
    "      --format FORMAT         text (default), ndjson (one report a line), groups (JSON),\n"
    "                              markdown, or github (annotations of a workflow)\n"
    "  -o FILE                     write there instead of standard output\n"
    "      --output FORMAT=FILE    write FILE as well; may be repeated\n"
    "  -j, --jobs N                so many cores at once (as many as there are processors)\n"
    "      --resume                go on where an ndjson FILE ends: cores that it names are not\n"
    "                              looked at again\n"
    "      --baseline FILE         signatures that are known: their hashes, a line each, or what\n"
    "                              --output groups=FILE or ndjson=FILE wrote\n"
    "      --fail-on WHAT          exit with 3 where there is any death, a new one (one that the\n"
    "                              baseline does not have), or none (default)\n"
    "      --time-limit SECONDS    of one core (60)\n"
    "      --memory-limit MB       of one core (4096)\n"
    "  -h, --help                  this text\n"
    "\n"
    "As of a single report: --rules, --sysroot, --lib-dir, --debug-dir, --source-map,\n"
    "--source-dir, --no-source, --all-inlined, --tasks, --locals[=python].\n"
    "\n"
    "Exit status: 0 all shown, 1 shown with parts missing, 2 nothing could be shown or a file\n"
    "not be written, 3 by --fail-on, 64 wrong usage.\n";

static const char *const format_names[TRIAGE_FORMATS] = {
    [TRIAGE_TEXT] = "text",         [TRIAGE_NDJSON] = "ndjson", [TRIAGE_GROUPS] = "groups",
    [TRIAGE_MARKDOWN] = "markdown", [TRIAGE_GITHUB] = "github",
};

static bool find_format(const char *name, size_t size, enum triage_format *ret)
{
    for (size_t i = 0; i < TRIAGE_FORMATS; i++)
        if (strlen(format_names[i]) == size && !strncmp(format_names[i], name, size)) {
            *ret = (enum triage_format)i;
            return true;
        }
    // As of a single report.
    if (size == 4 && !strncmp(name, "json", 4)) {
        *ret = TRIAGE_NDJSON;
        return true;
    }
    complain("'%.*s' is none of text, ndjson, groups, markdown, github" SEE_HELP, (int)size, name);
    return false;
}

static bool take_format(struct triage_options *options, const struct triage_option *option,
                        const char *value)
{
    (void)option;
    return find_format(value, strlen(value), &options->outputs[0].format);
}

static bool take_file(struct triage_options *options, const struct triage_option *option,
                      const char *value)
{
    (void)option;
    options->outputs[0].path = value;
    return true;
}

static bool take_output(struct triage_options *options, const struct triage_option *option,
                        const char *value)
{
    (void)option;
    const char *equals = strchr(value, '=');
    if (!equals || !equals[1]) {
        complain("--output: '%s' is not FORMAT=FILE" SEE_HELP, value);
        return false;
    }
    struct triage_output *output = &options->outputs[options->output_count++];
    output->path = equals + 1;
    return find_format(value, (size_t)(equals - value), &output->format);
}

static bool read_number(const char *name, const char *value, uint64_t most, uint64_t *ret)
{
    char *end;
    unsigned long long number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || !number || number > most) {
        complain("--%s: '%s' is no number from 1 to %llu" SEE_HELP, name, value,
                 (unsigned long long)most);
        return false;
    }
    *ret = number;
    return true;
}

static bool take_jobs(struct triage_options *options, const struct triage_option *option,
                      const char *value)
{
    uint64_t number = 1;
    bool good = read_number(option->name, value, JOBS_LIMIT, &number);
    options->jobs = (uint32_t)number;
    return good;
}

static bool take_seconds(struct triage_options *options, const struct triage_option *option,
                         const char *value)
{
    uint64_t number = 1;
    bool good = read_number(option->name, value, UINT32_MAX, &number);
    options->seconds = (uint32_t)number;
    return good;
}

static bool take_memory(struct triage_options *options, const struct triage_option *option,
                        const char *value)
{
    return read_number(option->name, value, UINT64_MAX >> 20, &options->megabytes);
}

static bool take_resume(struct triage_options *options, const struct triage_option *option,
                        const char *value)
{
    (void)option;
    (void)value;
    options->resumes = true;
    return true;
}

static bool take_baseline(struct triage_options *options, const struct triage_option *option,
                          const char *value)
{
    (void)option;
    options->baseline = value;
    return true;
}

static bool take_fail_on(struct triage_options *options, const struct triage_option *option,
                         const char *value)
{
    static const char *const names[] = {
        [FAIL_ON_NONE] = "none", [FAIL_ON_NEW] = "new", [FAIL_ON_ANY] = "any"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(value, names[i])) {
            options->fail_on = (enum fail_on)i;
            return true;
        }
    complain("--%s: '%s' is none of any, new, none" SEE_HELP, option->name, value);
    return false;
}

/* One of a single report, as one word: "--sysroot=DIR". */
static bool take_forwarded(struct triage_options *options, const struct triage_option *option,
                           const char *value)
{
    char *word;
    if (asprintf(&word, value ? "--%s=%s" : "--%s", option->name, value) < 0) {
        complain("out of memory");
        return false;
    }
    options->forwarded[options->forwarded_count++] = word;
    return true;
}

static bool take_locals(struct triage_options *options, const struct triage_option *option,
                        const char *value)
{
    options->shows_values = true;
    return take_forwarded(options, option, value);
}

static const struct triage_option option_list[] = {
    {"format", 0, VALUE_REQUIRED, take_format},
    {"", 'o', VALUE_REQUIRED, take_file},
    {"output", 0, VALUE_REQUIRED, take_output},
    {"jobs", 'j', VALUE_REQUIRED, take_jobs},
    {"resume", 0, VALUE_NONE, take_resume},
    {"baseline", 0, VALUE_REQUIRED, take_baseline},
    {"fail-on", 0, VALUE_REQUIRED, take_fail_on},
    {"time-limit", 0, VALUE_REQUIRED, take_seconds},
    {"memory-limit", 0, VALUE_REQUIRED, take_memory},
    {"rules", 0, VALUE_REQUIRED, take_forwarded},
    {"sysroot", 0, VALUE_REQUIRED, take_forwarded},
    {"lib-dir", 0, VALUE_REQUIRED, take_forwarded},
    {"debug-dir", 0, VALUE_REQUIRED, take_forwarded},
    {"source-map", 0, VALUE_REQUIRED, take_forwarded},
    {"source-dir", 0, VALUE_REQUIRED, take_forwarded},
    {"no-source", 0, VALUE_NONE, take_forwarded},
    {"all-inlined", 0, VALUE_NONE, take_forwarded},
    {"tasks", 0, VALUE_NONE, take_forwarded},
    {"locals", 0, VALUE_OPTIONAL, take_locals},
};
#define OPTION_COUNT (sizeof(option_list) / sizeof(option_list[0]))

/* "--name", "--name=value", "-j", "-j4"; *ret_value is what follows in the same word, or NULL. */
static const struct triage_option *find_option(const char *word, const char **ret_value)
{
    bool is_long = word[1] == '-';
    const char *equals = is_long ? strchr(word, '=') : NULL;
    size_t size = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
    *ret_value = equals ? equals + 1 : NULL;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct triage_option *option = &option_list[i];
        if (is_long && size && strlen(option->name) == size &&
            !strncmp(option->name, word + 2, size))
            return option;
        if (!is_long && word[1] == option->letter) {
            *ret_value = word[2] ? word + 2 : NULL;
            return option;
        }
    }
    return NULL;
}

/* The option at argv[*at], and its value, which may be the next word. */
static bool take_option(struct triage_options *options, char **argv, int *at)
{
    const char *word = argv[*at], *value;
    const struct triage_option *option = find_option(word, &value);
    if (!option) {
        complain("unknown option '%s'" SEE_HELP, word);
        return false;
    }
    if (option->value == VALUE_NONE && value) {
        complain("option '%s' takes no value" SEE_HELP, word);
        return false;
    }
    if (option->value == VALUE_REQUIRED && !value && !(value = argv[++*at])) {
        complain("option '%s' needs a value" SEE_HELP, word);
        return false;
    }
    return option->take(options, option, value);
}

/* What a report's own parser says of them is said once, not of each core. */
static bool check_forwarded(const struct triage_options *options)
{
    static char program[] = "pystack-core", core[] = "core";
    char **words = calloc(options->forwarded_count + 3, sizeof(*words));
    struct options report;
    if (!words)
        return false;
    words[0] = program;
    memcpy(words + 1, options->forwarded, options->forwarded_count * sizeof(*words));
    words[options->forwarded_count + 1] = core;
    bool good = options_parse(&report, (int)options->forwarded_count + 2, words) == OPTIONS_RUN;
    options_deinit(&report);
    free(words);
    return good;
}

static bool check(const struct triage_options *options)
{
    size_t files = 0;
    for (size_t i = 0; i < options->output_count; i++)
        files += options->outputs[i].format == TRIAGE_NDJSON && options->outputs[i].path;
    if (!options->word_count)
        complain("triage: no core and no directory is named; see pystack-core triage --help");
    else if (options->resumes && files != 1)
        complain("--resume goes on with one file of ndjson; see pystack-core triage --help");
    else if (options->fail_on == FAIL_ON_NEW && !options->baseline)
        complain("--fail-on new: what is known is named by --baseline");
    else
        return check_forwarded(options);
    return false;
}

enum triage_parsed triage_options_parse(struct triage_options *options, int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    bool words_only = false;
    *options = (struct triage_options){
        .words = calloc((size_t)argc + 1, sizeof(*options->words)),
        .outputs = calloc((size_t)argc + 1, sizeof(*options->outputs)),
        .output_count = 1,
        .forwarded = calloc((size_t)argc + 1, sizeof(*options->forwarded)),
        .jobs = processors > 0 && processors < JOBS_LIMIT ? (uint32_t)processors : 1,
        .seconds = DEFAULT_SECONDS,
        .megabytes = DEFAULT_MEMORY,
    };
    if (!options->words || !options->outputs || !options->forwarded) {
        complain("out of memory");
        return TRIAGE_NO_MEMORY;
    }
    for (int i = 1; i < argc; i++) {
        bool is_word = words_only || argv[i][0] != '-' || !argv[i][1];
        if (is_word) {
            options->words[options->word_count++] = argv[i];
        } else if (!strcmp(argv[i], "--")) {
            words_only = true;
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help_text, stdout);
            return TRIAGE_DONE;
        } else if (!take_option(options, argv, &i)) {
            return TRIAGE_WRONG;
        }
    }
    return check(options) ? TRIAGE_RUN : TRIAGE_WRONG;
}

void triage_options_deinit(struct triage_options *options)
{
    for (size_t i = 0; i < options->forwarded_count; i++)
        free(options->forwarded[i]);
    free(options->forwarded);
    free(options->outputs);
    free(options->words);
}
