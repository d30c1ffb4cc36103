/* What does not end: how it shows, and what is shown of it. */
#include "ci_private.h"
#include "messages.h"
#include "sandbox.h"
#include "new_file.h"

#include <jansson.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Progress is looked for so often, in seconds. */
#define CHECK_SECONDS 1.
/* Less of a processor than this is what waiting costs: threads that look for the GIL do it 200
 * times a second. */
#define BUSY_SHARE 0.05
/* Who ran, or would have if others had not, for more of the time than this waits for nothing. */
#define READY_SHARE 0.5
/* The look itself must not hang. */
#define SHOW_SECONDS 120

static void sum(const struct ci_run *run, uint64_t *ret_ticks, uint64_t *ret_written)
{
    *ret_ticks = *ret_written = 0;
    for (size_t i = 0; i < descendants_count(run->all); i++) {
        *ret_ticks += descendants_get(run->all, i)->ticks;
        *ret_written += descendants_get(run->all, i)->written;
    }
}

void hang_watch_init(struct hang_watch *watch)
{
    double now = descendants_now();
    *watch = (struct hang_watch){.started = now, .checked = now, .progress = now};
}

static void look_for_progress(struct hang_watch *watch, const struct ci_run *run, double now)
{
    uint64_t ticks, written, changes = descendants_changes(run->all);
    double passed = now - watch->checked;
    if (passed < CHECK_SECONDS)
        return;
    sum(run, &ticks, &written);
    double busy = (double)(int64_t)(ticks - watch->ticks) / (double)sysconf(_SC_CLK_TCK);
    const double starved = run->options->hang_seconds ? descendants_starved(run->all, passed) : 0;
    if (changes != watch->changes || written != watch->written || busy > BUSY_SHARE * passed ||
        busy + starved > READY_SHARE * passed)
        watch->progress = now;
    watch->checked = now;
    watch->changes = changes;
    watch->written = written;
    watch->ticks = ticks;
}

const char *hang_watch_check(struct hang_watch *watch, const struct ci_run *run)
{
    double now = descendants_now();
    const struct ci_options *options = run->options;
    look_for_progress(watch, run, now);
    if (options->timeout_seconds && now - watch->started > (double)options->timeout_seconds)
        return "it took longer than --timeout allows";
    if (options->hang_seconds && now - watch->progress > (double)options->hang_seconds)
        return "nothing was written, and hardly any processor time used, for as long as "
               "--hang-after says";
    return NULL;
}

/* ---- shown ---- */

/* "12,34,56"; malloc'd, NULL: there is none, or no memory. */
static char *list_pids(const struct ci_run *run)
{
    char *list = NULL;
    size_t size;
    FILE *file = open_memstream(&list, &size);
    for (size_t i = 0; file && i < descendants_count(run->all); i++)
        fprintf(file, "%s%d", i ? "," : "", descendants_get(run->all, i)->pid);
    if (!file || fclose(file) || !size) {
        free(list);
        return NULL;
    }
    return list;
}

static char *name_cores(const struct ci_run *run)
{
    char *word;
    const char *folder = run->options->keep_cores ? run->options->keep_cores : ".";
    bool is_one = descendants_count(run->all) == 1;
    int pid = is_one ? descendants_get(run->all, 0)->pid : 0;
    int size = is_one ? asprintf(&word, "--save-core=%s/hang-core.%d", folder, pid)
                      : asprintf(&word, "--save-core=%s/hang-core", folder);
    return size < 0 ? NULL : word;
}

/* In a child process, which its end frees. */
static int show(const struct ci_run *run, const char *pids, const char *json)
{
    static char program[] = "pystack-core", pid[] = "--pid", output[] = "--output";
    const struct ci_options *asked = run->options;
    char *cores = asked->prunes ? NULL : name_cores(run), *list = strdup(pids);
    char *file = strdup(json);
    char **words = calloc(asked->forwarded_count + 8, sizeof(*words));
    struct options options;
    size_t count = 0;
    if (!list || !file || !words)
        return EXIT_NOTHING;
    words[count++] = program;
    words[count++] = pid;
    words[count++] = list;
    words[count++] = output;
    words[count++] = file;
    if (cores)
        words[count++] = cores;
    for (size_t i = 0; i < asked->forwarded_count; i++)
        if (ci_option_is_of_report(asked->forwarded[i]))
            words[count++] = asked->forwarded[i];
    if (options_parse(&options, (int)count, words) != OPTIONS_RUN)
        return EXIT_NOTHING;
    options.print.one_line = 1;
    options.capture.python_optional = 1;
    return asked->report_one(&options);
}

static void be_shower(const struct ci_run *run, const char *pids, const char *json)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(SHOW_SECONDS);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    int code = show(run, pids, json);
    fflush(stdout);
    fflush(stderr);
    _exit(code);
}

/* ---- what goes to triage ---- */

/* The reports of all, and which of the processes have a core: ",12,34,". */
struct hang_reports {
    const struct ci_run *run;
    const char *with_cores;
    FILE *from;
    int to;
};

static char *path_of_core(const struct ci_run *run, int pid)
{
    const char *folder = run->options->keep_cores ? run->options->keep_cores : ".";
    char *path;
    return asprintf(&path, "%s/hang-core.%d", folder, pid) < 0 ? NULL : path;
}

/* malloc'd, or NULL. */
static char *list_cores(const struct ci_run *run, const char *pids)
{
    char *list = NULL;
    size_t size;
    FILE *file = open_memstream(&list, &size);
    if (!file)
        return NULL;
    putc(',', file);
    for (const char *at = pids; at; at = strchr(at, ','), at += at != NULL) {
        const int pid = (int)strtol(at, NULL, 10);
        char *core = run->options->prunes ? NULL : path_of_core(run, pid);
        if (core && !access(core, F_OK))
            fprintf(file, "%d,", pid);
        free(core);
    }
    return fclose(file) ? NULL : list;
}

/* By its core, or by its process. */
static void name_report(const struct hang_reports *reports, json_t *report)
{
    json_t *target = json_object_get(report, "target");
    const int pid = (int)json_integer_value(json_object_get(target, "pid"));
    char number[32], name[64];
    snprintf(number, sizeof(number), ",%d,", pid);
    snprintf(name, sizeof(name), "process %d", pid);
    char *core = strstr(reports->with_cores, number) ? path_of_core(reports->run, pid) : NULL;
    json_object_set_new(target, "path", json_string(core ? core : name));
    free(core);
}

/* "waits_for" of its main thread says that it waits for a child: that one says more. */
static bool waits_for_child(const json_t *report)
{
    const json_t *thread = json_array_get(json_object_get(report, "threads"), 0);
    const char *kind =
        json_string_value(json_object_get(json_object_get(thread, "waits_for"), "kind"));
    return kind && !strcmp(kind, "child");
}

static bool has_python(const json_t *report)
{
    return json_is_object(json_object_get(json_object_get(report, "target"), "python"));
}

/* How much a report of a tree says of what it hangs in: those of the most are passed on. */
static int rank_report(const json_t *report)
{
    return !has_python(report) ? 0 : waits_for_child(report) ? 1 : 2;
}

/* The reports of those that say most, one a line. Needs no rights: a report can be anybody's. */
static int choose_reports(const struct hang_reports *from)
{
    json_t *reports = json_array(), *one;
    size_t index;
    int most = 0;
    json_error_t error;
    FILE *to = fdopen(from->to, "w");
    while ((one = json_loadf(from->from, JSON_DISABLE_EOF_CHECK, &error)))
        if (!json_array_append_new(reports, one) && rank_report(one) > most)
            most = rank_report(one);
    json_array_foreach(reports, index, one)
    {
        if (!to || rank_report(one) < most)
            continue;
        name_report(from, one);
        json_dumpf(one, to, JSON_COMPACT | JSON_REAL_PRECISION(10));
        putc('\n', to);
    }
    json_decref(reports);
    return to && !fclose(to) ? EXIT_COMPLETE : EXIT_NOTHING;
}

static void take_lines(struct ci_run *run, FILE *chosen)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    rewind(chosen);
    while ((size = getline(&line, &capacity, chosen)) > 1)
        exit_reports_take(&run->exits, strndup(line, (size_t)size - 1));
    free(line);
}

static void pass_reports_on(struct ci_run *run, const char *pids, const char *path)
{
    char *with_cores = list_cores(run, pids);
    FILE *from = fopen(path, "re");
    const int to = new_file_open_unnamed("pystack-core reports");
    FILE *chosen = to < 0 ? NULL : fdopen(to, "r");
    const struct hang_reports reports = {run, with_cores, from, to};
    int status = 0;
    const pid_t child = with_cores && from && chosen ? fork() : -1;
    if (!child) {
        sandbox_close_all();
        _exit(choose_reports(&reports));
    }
    descendants_hide(run->all, child);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_COMPLETE)
        take_lines(run, chosen);
    else
        complain("what hangs cannot be reported");
    if (from)
        fclose(from);
    if (chosen)
        fclose(chosen);
    free(with_cores);
}

void hang_show(struct ci_run *run, const char *why)
{
    char *pids = list_pids(run), *json = NULL;
    complain("%s: all that runs is shown, and ended", why);
    if (!pids || asprintf(&json, "json=%s/hang.ndjson", run->folder) < 0) {
        free(pids);
        return;
    }
    fflush(stderr);
    pid_t child = fork();
    if (!child)
        be_shower(run, pids, json);
    descendants_hide(run->all, child);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    pass_reports_on(run, pids, json + strlen("json="));
    unlink(json + strlen("json="));
    free(json);
    free(pids);
}
