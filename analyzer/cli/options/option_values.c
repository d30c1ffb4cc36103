#include "option_values.h"

#include "bundle.h"
#include "messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option_choice format_choices[] = {
    {"text", PSC_FORMAT_TEXT}, {"json", PSC_FORMAT_JSON}, {NULL, 0}};
const struct option_choice mode_choices[] = {{"merged", PSC_MODE_MERGED},
                                             {"python", PSC_MODE_PYTHON},
                                             {"native", PSC_MODE_NATIVE},
                                             {NULL, 0}};
const struct option_choice unwinder_choices[] = {
    {"libunwind", PSC_UNWINDER_LIBUNWIND}, {"libdw", PSC_UNWINDER_LIBDW}, {NULL, 0}};
const struct option_choice order_choices[] = {
    {"innermost-first", 0}, {"outermost-first", 1}, {NULL, 0}};
const struct option_choice color_choices[] = {
    {"auto", COLOR_AUTO}, {"always", COLOR_ALWAYS}, {"never", COLOR_NEVER}, {NULL, 0}};
const struct option_choice thread_choices[] = {
    {"all", PSC_THREADS_ALL}, {"crashed", PSC_THREADS_CRASHED}, {NULL, 0}};
const struct option_choice locals_choices[] = {{"python", PSC_LOCALS_PYTHON}, {NULL, 0}};
const struct option_choice save_core_choices[] = {{"full", 1}, {NULL, 0}};
const struct option_choice shell_choices[] = {
    {"bash", SHELL_BASH}, {"zsh", SHELL_ZSH}, {"fish", SHELL_FISH}, {NULL, 0}};

/* A process or thread id, or another number from 1 on. */
static bool parse_id(const char *word, int32_t *ret)
{
    char *end;
    errno = 0;
    long number = strtol(word, &end, 10);
    if (errno || *end || end == word || number < 1 || number > INT32_MAX)
        return false;
    *ret = (int32_t)number;
    return true;
}

/* ---- output ---- */

enum options_result take_format(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    int format;
    if (!option_choose(spec, value, &format))
        return OPTIONS_WRONG;
    options->outputs[0].format = (enum psc_format)format;
    return OPTIONS_RUN;
}

enum options_result take_output_file(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct options *options = request;
    (void)spec;
    options->outputs[0].path = strcmp(value, "-") ? value : NULL;
    return OPTIONS_RUN;
}

enum options_result take_output(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    struct output *output = &options->outputs[options->output_count];
    int format;
    if (!option_parse_output(spec, value, &format, &output->path))
        return OPTIONS_WRONG;
    output->format = (enum psc_format)format;
    options->output_count++;
    return OPTIONS_RUN;
}

enum options_result take_color(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    int color;
    if (!option_choose(spec, value, &color))
        return OPTIONS_WRONG;
    options->color = (enum color_choice)color;
    return OPTIONS_RUN;
}

/* ---- what is shown ---- */

enum options_result take_mode(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    int mode;
    if (!option_choose(spec, value, &mode))
        return OPTIONS_WRONG;
    options->capture.mode = (enum psc_mode)mode;
    return OPTIONS_RUN;
}

enum options_result take_unwinder(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    int unwinder;
    if (!option_choose(spec, value, &unwinder))
        return OPTIONS_WRONG;
    options->capture.unwinder = (enum psc_unwinder)unwinder;
    return OPTIONS_RUN;
}

enum options_result take_order(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    int order;
    if (!option_choose(spec, value, &order))
        return OPTIONS_WRONG;
    options->print.outermost_first = (uint32_t)order;
    return OPTIONS_RUN;
}

enum options_result take_thread(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    struct psc_capture_options *capture = &options->capture;
    const struct option_choice *choice = option_find_choice(spec->choices, value);
    if (choice) {
        capture->threads = (enum psc_threads)choice->value;
        return OPTIONS_RUN;
    }
    if (!parse_id(value, &options->thread)) {
        complain_of_usage("--thread: '%s' is none of all, crashed, a thread id", value);
        return OPTIONS_WRONG;
    }
    capture->threads = PSC_THREADS_LISTED;
    capture->thread_ids = &options->thread;
    capture->thread_id_count = 1;
    return OPTIONS_RUN;
}

/* "crashed", "main" or an id. */
static bool parse_evaluated_thread(const char *word, size_t size, int32_t *ret)
{
    char copy[16];
    if (!size || size >= sizeof(copy))
        return false;
    memcpy(copy, word, size);
    copy[size] = '\0';
    if (!strcmp(copy, "crashed") || !strcmp(copy, "main")) {
        *ret = strcmp(copy, "main") ? PSC_EVALUATED_CRASHED : PSC_EVALUATED_MAIN;
        return true;
    }
    return parse_id(copy, ret);
}

/* THREAD/FRAME: NAME; the frame may be written as the report has it, #3. */
enum options_result take_eval(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    struct psc_evaluation *evaluation = &options->evaluations[options->capture.evaluation_count];
    const char *slash = strchr(value, '/');
    const char *digits = slash ? slash + 1 + (slash[1] == '#') : "";
    char *end = NULL;
    (void)spec;
    errno = 0;
    unsigned long frame = strtoul(digits, &end, 10);
    bool good =
        slash && parse_evaluated_thread(value, (size_t)(slash - value), &evaluation->thread_id);
    if (!good || *digits < '0' || *digits > '9' || errno || frame > UINT32_MAX || *end != ':') {
        complain_of_usage("--eval: '%s' is not THREAD/FRAME: NAME", value);
        return OPTIONS_WRONG;
    }
    evaluation->frame = (uint32_t)frame;
    evaluation->expression = end + 1 + strspn(end + 1, " \t");
    options->capture.evaluation_count++;
    if (*evaluation->expression)
        return OPTIONS_RUN;
    complain_of_usage("--eval: '%s' names nothing to evaluate", value);
    return OPTIONS_WRONG;
}

/* A function for an option without a value: what it sets. */
#define TAKE_FLAG(name, statement)                                                 \
    enum options_result take_##name(void *request, const struct option_spec *spec, \
                                    const char *value)                             \
    {                                                                              \
        struct options *options = request;                                         \
        (void)spec;                                                                \
        (void)value;                                                               \
        statement;                                                                 \
        return OPTIONS_RUN;                                                        \
    }

TAKE_FLAG(all, options->print.all = options->capture.detail_hidden = 1)
TAKE_FLAG(all_inlined, options->capture.all_inlined = 1)
TAKE_FLAG(tasks, options->capture.tasks = 1)
TAKE_FLAG(no_source, options->capture.no_source = 1)
TAKE_FLAG(summary, options->print.content = PSC_CONTENT_SUMMARY)
TAKE_FLAG(running, options->print.running = 1)
TAKE_FLAG(redact, options->redacts = true)
TAKE_FLAG(no_fold, options->print.no_fold = 1)
TAKE_FLAG(no_group, options->print.no_group = 1)
TAKE_FLAG(list_files, options->lists_files = true)
TAKE_FLAG(explain_signature, options->explains_signature = true)
TAKE_FLAG(explain, options->print.explain = 1)
TAKE_FLAG(no_sandbox, options->no_sandbox = true)
TAKE_FLAG(children, options->children = true)
TAKE_FLAG(no_pause, options->capture.no_pause = 1)

enum options_result take_locals(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    int locals = PSC_LOCALS_ALL;
    if (value && !option_choose(spec, value, &locals))
        return OPTIONS_WRONG;
    options->capture.locals = (uint32_t)locals;
    return OPTIONS_RUN;
}

enum options_result take_max_frames(void *request, const struct option_spec *spec,
                                    const char *value)
{
    struct options *options = request;
    int32_t count;
    if (!parse_id(value, &count)) {
        complain_of_usage("--%s: '%s' is no number from 1 on", spec->long_name, value);
        return OPTIONS_WRONG;
    }
    options->print.max_frames = (uint32_t)count;
    return OPTIONS_RUN;
}

static enum options_result take_limit(const struct option_spec *spec, const char *value,
                                      uint32_t most, uint32_t *ret)
{
    uint64_t number;
    if (!option_parse_number(spec, value, most, &number))
        return OPTIONS_WRONG;
    *ret = (uint32_t)number;
    return OPTIONS_RUN;
}

enum options_result take_value_length(void *request, const struct option_spec *spec,
                                      const char *value)
{
    struct options *options = request;
    return take_limit(spec, value, PSC_VALUE_LENGTH_MAX, &options->capture.value_length);
}

enum options_result take_value_items(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct options *options = request;
    return take_limit(spec, value, PSC_VALUE_ITEMS_MAX, &options->capture.value_items);
}

enum options_result take_value_depth(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct options *options = request;
    return take_limit(spec, value, PSC_VALUE_DEPTH_MAX, &options->capture.value_depth);
}

/* ---- living processes ---- */

/* A list with commas, besides what other --pid gave. */
enum options_result take_pid(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    (void)spec;
    for (const char *at = value; at;) {
        const char *comma = strchrnul(at, ',');
        char word[16];
        int32_t *grown = reallocarray(options->pids, options->pid_count + 1, sizeof(*grown));
        if (!grown)
            return OPTIONS_NO_MEMORY;
        options->pids = grown;
        snprintf(word, sizeof(word), "%.*s", (int)(comma - at), at);
        if (comma - at >= (ptrdiff_t)sizeof(word) || !parse_id(word, &grown[options->pid_count])) {
            complain_of_usage("--pid: '%s' is no process id", value);
            return OPTIONS_WRONG;
        }
        options->pid_count++;
        at = *comma ? comma + 1 : NULL;
    }
    return OPTIONS_RUN;
}

enum options_result take_match(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    char why[128];
    (void)spec;
    if (options->matches)
        regfree(&options->match);
    int error = regcomp(&options->match, value, REG_EXTENDED | REG_NOSUB);
    options->matches = !error;
    options->match_words = value;
    if (!error)
        return OPTIONS_RUN;
    regerror(error, &options->match, why, sizeof(why));
    complain_of_usage("--match: '%s' is no extended regular expression: %s", value, why);
    return OPTIONS_WRONG;
}

enum options_result take_depth(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    (void)spec;
    if (parse_id(value, &options->depth))
        return OPTIONS_RUN;
    complain_of_usage("--depth: '%s' is no number of levels", value);
    return OPTIONS_WRONG;
}

enum options_result take_watch(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    char *end;
    (void)spec;
    options->interval = strtod(value, &end);
    // Not <=: NaN is nothing to wait for either.
    if (*end || end == value || !(options->interval >= 0.001) || options->interval > 1e9) {
        complain_of_usage("--watch: '%s' is no number of seconds", value);
        return OPTIONS_WRONG;
    }
    return OPTIONS_RUN;
}

/* FILE may stand for itself, since --pid takes no other word. */
enum options_result take_save_core(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    options->saves_core = true;
    if (value && option_find_choice(spec->choices, value))
        options->capture.core_full = 1;
    else if (value)
        options->core_file = value;
    return OPTIONS_RUN;
}

/* ---- where files are ---- */

enum options_result take_sysroot(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    (void)spec;
    options->open.sysroot = value;
    return OPTIONS_RUN;
}

enum options_result take_debug_directory(void *request, const struct option_spec *spec,
                                         const char *value)
{
    struct options *options = request;
    (void)spec;
    options->open.debug_directory = value;
    return OPTIONS_RUN;
}

enum options_result take_library_directory(void *request, const struct option_spec *spec,
                                           const char *value)
{
    struct options *options = request;
    (void)spec;
    options->library_directories[options->open.library_directory_count++] = value;
    return OPTIONS_RUN;
}

enum options_result take_source_map(void *request, const struct option_spec *spec,
                                    const char *value)
{
    struct options *options = request;
    const char *equals = strchr(value, '=');
    (void)spec;
    if (!equals || equals == value) {
        complain_of_usage("--source-map: '%s' is not FROM=TO", value);
        return OPTIONS_WRONG;
    }
    options->source_maps[options->open.source_map_count++] = value;
    return OPTIONS_RUN;
}

enum options_result take_source_directory(void *request, const struct option_spec *spec,
                                          const char *value)
{
    struct options *options = request;
    (void)spec;
    options->source_directories[options->open.source_directory_count++] = value;
    return OPTIONS_RUN;
}

enum options_result take_bundle(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    (void)spec;
    options->bundle = value;
    if (bundle_can_write(value))
        return OPTIONS_RUN;
    complain_of_usage("--bundle: '%s' ends with none of .tar, .tar.gz, .tar.zst", value);
    return OPTIONS_WRONG;
}

enum options_result take_rules(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    (void)spec;
    options->rules = value;
    return OPTIONS_RUN;
}

enum options_result take_core(void *request, const struct option_spec *spec, const char *value)
{
    struct options *options = request;
    (void)spec;
    options->core = value;
    return OPTIONS_RUN;
}

/* ---- about the program ---- */

enum options_result take_version(void *request, const struct option_spec *spec, const char *value)
{
    (void)request;
    (void)spec;
    (void)value;
    printf("pystack-core %s\n", psc_version());
    return OPTIONS_DONE;
}

enum options_result take_manual(void *request, const struct option_spec *spec, const char *value)
{
    (void)request;
    (void)spec;
    (void)value;
    return OPTIONS_MANUAL;
}

enum options_result take_completion(void *request, const struct option_spec *spec,
                                    const char *value)
{
    struct options *options = request;
    int shell;
    if (!option_choose(spec, value, &shell))
        return OPTIONS_WRONG;
    options->shell = (enum shell)shell;
    return OPTIONS_COMPLETE;
}
