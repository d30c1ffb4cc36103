/* What else is written of a subject: a slim core, which is looked at in its turn, and, of a living
 * process, a recording in each format. */
#include "mutants.h"

#include "profile_formats.h"
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- a slim core ---- */

static void look_at_slim(int fd, const struct look_options *options, struct complaint *complaint,
                         uint64_t *reports)
{
    const struct psc_print_options print = PSC_PRINT_OPTIONS_INIT;
    char path[64];
    struct psc_error err = {0};
    struct psc_target *target = NULL;
    struct psc_trace *trace = NULL;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    enum psc_status status = psc_open_core(path, NULL, NULL, &target, &err);
    if (status != PSC_OK && status != PSC_ERR_MEMORY)
        complain(complaint, "the slim core: %s", err.message);
    if (status == PSC_OK && psc_capture(target, NULL, &trace, &err) == PSC_OK)
        print_all(trace, &print, options, complaint, reports);
    psc_trace_destroy(trace);
    psc_close(target);
}

void write_slim_core(struct subject *subject, struct choice *choice,
                     const struct look_options *options, struct complaint *complaint,
                     uint64_t *reports)
{
    struct psc_slim_options slim = PSC_SLIM_OPTIONS_INIT;
    struct psc_error err = {0};
    struct psc_target *target = NULL;
    slim.with_files = choose_one_in(choice, 4);
    slim.no_native_values = !choose_one_in(choice, 4);
    if (subject_open_noting(subject, choose_one_in(choice, 2), &target, &err) != PSC_OK)
        return;
    int fd = memfd_create("slim", MFD_CLOEXEC);
    enum psc_status status = psc_write_slim_core(target, fd, &slim, &err);
    if (status != PSC_OK && !err.message[0])
        complain(complaint, "psc_write_slim_core: %s", psc_status_name(status));
    if (status == PSC_OK)
        look_at_slim(fd, options, complaint, reports);
    psc_close(target);
    close(fd);
}

/* ---- a recording ---- */

#define MOMENTS 5

static int count_moments(void *context, struct profile *profile)
{
    unsigned *moments = context;
    (void)profile;
    return ++*moments >= MOMENTS;
}

static void check_profile(const struct profile *profile, const char *format,
                          struct report_text *text, struct complaint *complaint)
{
    static const char *const plain[] = {"collapsed", "lines"}; // JSON may hold a DEL.
    json_error_t error;
    bool is_json = !strcmp(format, "speedscope") || !strcmp(format, "firefox");
    json_t *document = is_json ? json_loadb(text->bytes ? text->bytes : "", text->size,
                                            JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error)
                               : NULL;
    if (is_json && !document)
        complain(complaint, "%s: %s, at byte %d", format, error.text, error.position);
    json_decref(document);
    for (size_t i = 0; profile->string_count && i < sizeof(plain) / sizeof(*plain); i++)
        if (!strcmp(format, plain[i]))
            report_check_text(text, complaint);
}

static void write_profiles(const struct profile *profile, struct complaint *complaint,
                           uint64_t *reports)
{
    for (const struct profile_format *format = profile_formats; format->name; format++) {
        struct report_text text = {0};
        struct psc_error err = {0};
        const struct profile_output output = {
            .write = report_take, .context = &text, .version = "0"};
        enum psc_status status = format->write(profile, &output, &err);
        if (status == PSC_OK)
            check_profile(profile, format->name, &text, complaint);
        else if (status != PSC_ERR_MEMORY)
            complain(complaint, "%s: %s", format->name, err.message);
        *reports += status == PSC_OK;
        free(text.bytes);
    }
}

void record_it(int32_t pid, struct choice *choice, struct complaint *complaint, uint64_t *reports)
{
    unsigned moments = 0;
    enum record_end end;
    struct psc_error err = {0};
    struct profile *profile = profile_create(NULL);
    const struct record_options options = {.pid = pid,
                                           .rate = 2000,
                                           .duration = 10,
                                           .idle = true,
                                           .python_only = choose_one_in(choice, 4),
                                           .no_pause = choose_one_in(choice, 4),
                                           .folds_lines = choose_one_in(choice, 4),
                                           .tasks = choose_one_in(choice, 2),
                                           .splits_threads = choose_one_in(choice, 4),
                                           .seed = 1,
                                           .tick = count_moments,
                                           .tick_context = &moments};
    // A recording takes precedence, which is for programs, not for thousands of them.
    const int priority = getpriority(PRIO_PROCESS, 0);
    if (!profile)
        exit(2);
    enum psc_status status = record_run(&options, profile, &end, &err);
    (void)setpriority(PRIO_PROCESS, 0, priority);
    if (status == PSC_OK)
        write_profiles(profile, complaint, reports);
    else if (!err.message[0] || status == PSC_ERR_ARGUMENT)
        complain(complaint, "record_run: %s, \"%s\"", psc_status_name(status), err.message);
    profile_destroy(profile);
}
