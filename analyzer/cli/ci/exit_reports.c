/* Deaths without a core: each a report, or counted where it may be in order. */
#include "ci_private.h"
#include "messages.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define WORDS_LIMIT 4096u

static int write_report(void *context, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size ? 0 : -1;
}

/* signal(7): those whose default is a core. */
static bool makes_core(int signal)
{
    static const int signals[] = {SIGABRT, SIGBUS, SIGFPE,  SIGILL,  SIGQUIT,
                                  SIGSEGV, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (signals[i] == signal)
            return true;
    return false;
}

static const char *find_reason(const struct descendant *process, const struct core_pattern *pattern)
{
    if (!WIFSIGNALED(process->status) || !makes_core(WTERMSIG(process->status)))
        return NULL;
    if (WCOREDUMP(process->status))
        return pattern->destination == CORE_PIPE
                   ? "the kernel handed one to the program that core_pattern names, which has not "
                     "kept it where it was looked for"
               : core_pattern_names_pid(pattern)
                   ? "the kernel wrote one that was not found by core_pattern; see pystack-core "
                     "doctor"
                   : "the kernel wrote one that is not there: core_pattern has the same name for "
                     "all, and that of a process that died at the same moment may have taken its "
                     "place (sudo sysctl -w kernel.core_uses_pid=1)";
    if (process->has_limit && !process->core_limit.rlim_cur)
        return "its limit of core files was 0";
    return "the kernel wrote none; see pystack-core doctor";
}

/* The words of a command line. */
static uint32_t split(const struct descendant *process, const char **ret)
{
    uint32_t count = 0;
    for (size_t at = 0; at < process->arguments_size && count < WORDS_LIMIT;) {
        ret[count++] = process->arguments + at;
        at += strlen(process->arguments + at) + 1;
    }
    return count;
}

static struct psc_exit describe(const struct descendant *process,
                                const struct core_pattern *pattern)
{
    struct psc_exit exit = PSC_EXIT_INIT;
    exit.pid = process->pid;
    exit.signal = WIFSIGNALED(process->status) ? WTERMSIG(process->status) : 0;
    exit.status = exit.signal ? 0 : WEXITSTATUS(process->status);
    exit.out_of_memory = process->out_of_memory;
    exit.executable = process->executable ? process->executable
                      : *process->name    ? process->name
                                          : NULL;
    exit.working_directory = process->working_directory;
    exit.test = process->in_test || process->cut_short ? process->test : NULL;
    exit.worker = process->worker;
    exit.known_by = process->known_by;
    exit.without_core = find_reason(process, pattern);
    double age = process->end - process->test_seen;
    exit.test_age_milliseconds = age > 0 && age < 4e6 ? (uint32_t)(age * 1e3) : 0;
    return exit;
}

void exit_reports_take(struct exit_reports *reports, char *json)
{
    char **grown = json ? reallocarray(reports->items, reports->count + 1, sizeof(*grown)) : NULL;
    if (!grown) {
        complain("out of memory");
        free(json);
        return;
    }
    reports->items = grown;
    reports->items[reports->count++] = json;
}

void exit_reports_deinit(struct exit_reports *reports)
{
    for (size_t i = 0; i < reports->count; i++)
        free(reports->items[i]);
    free(reports->items);
}

void exit_reports_add(struct exit_reports *reports, const struct descendant *process,
                      const struct core_pattern *pattern)
{
    struct psc_error err = {0};
    struct psc_trace *trace = NULL;
    struct psc_print_options print = PSC_PRINT_OPTIONS_INIT;
    const char **words = calloc(WORDS_LIMIT, sizeof(*words));
    struct psc_exit exit = describe(process, pattern);
    char *json = NULL;
    size_t size;
    FILE *file = open_memstream(&json, &size);
    print.format = PSC_FORMAT_JSON;
    print.one_line = 1;
    if (words)
        exit.argument_count = split(process, words);
    exit.arguments = words;
    bool good = file && psc_describe_exit(&exit, &trace, &err) == PSC_OK &&
                psc_print(trace, &print, write_report, file, &err) == PSC_OK;
    good = file && !fclose(file) && good;
    if (!good) {
        free(json);
        json = NULL;
    }
    exit_reports_take(reports, json);
    psc_trace_destroy(trace);
    free(words);
}

/* ---- what is only counted ---- */

void exit_reports_count(struct exit_reports *reports, const struct descendant *process)
{
    char what[sizeof(reports->others[0].what)];
    const char *slash = process->executable ? strrchr(process->executable, '/') : NULL;
    const char *program = slash ? slash + 1 : *process->name ? process->name : "a program";
    if (WIFSIGNALED(process->status))
        snprintf(what, sizeof(what), "%.30s (signal %d)", program, WTERMSIG(process->status));
    else
        snprintf(what, sizeof(what), "%.30s (status %d)", program, WEXITSTATUS(process->status));
    for (size_t i = 0; i < reports->other_count; i++)
        if (!strcmp(reports->others[i].what, what)) {
            reports->others[i].count++;
            return;
        }
    if (reports->other_count == sizeof(reports->others) / sizeof(reports->others[0])) {
        reports->left++;
        return;
    }
    memcpy(reports->others[reports->other_count].what, what, sizeof(what));
    reports->others[reports->other_count++].count = 1;
}

void exit_reports_say(const struct exit_reports *reports)
{
    char line[2048];
    size_t size = 0;
    for (size_t i = 0; i < reports->other_count && size < sizeof(line); i++)
        size += (size_t)snprintf(line + size, sizeof(line) - size, "%s%zu × %s", i ? ", " : "",
                                 reports->others[i].count, reports->others[i].what);
    if (reports->other_count)
        complain("other descendants that did not end with 0 (--report-exits tells more): %s%s",
                 line, reports->left ? ", and more" : "");
}
