/* Open, capture, print: a core file, a process, a tree of them, once or again and again. */
#include "show_target.h"

#include "bundle.h"
#include "messages.h"
#include "processes.h"
#include "show_traces.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Only on a terminal: a program that reads standard error takes each line for a problem. */
static void announce_copy(int32_t pid)
{
    if (isatty(STDERR_FILENO))
        complain("process %d stands still until its memory is copied (Ctrl-C lets it go)", pid);
}

/* malloc'd; of several processes each has its own. */
static char *name_core(int32_t pid, const struct options *options)
{
    const char *file = options->core_file ? options->core_file : "core";
    char *path;
    if (options->core_file && !options_are_several(options))
        return strdup(file);
    return asprintf(&path, "%s.%d", file, pid) < 0 ? NULL : path;
}

/* psc_capture() of a process, with its core file if one is wanted. */
static enum psc_status capture(struct psc_target *target, int32_t pid,
                               const struct options *options, struct psc_trace **ret,
                               struct psc_error *err)
{
    struct psc_capture_options capture = options->capture;
    char *path = NULL;
    if (options->saves_core) {
        path = name_core(pid, options);
        if (!path) {
            snprintf(err->message, sizeof(err->message), "out of memory");
            return PSC_ERR_MEMORY;
        }
        capture.core_path = path;
        if (capture.core_full)
            announce_copy(pid);
    }
    enum psc_status status = psc_capture(target, &capture, ret, err);
    free(path);
    return status;
}

static int32_t one_pid(const struct options *options)
{
    return options->pid_count ? options->pids[0] : 0;
}

static int show(struct psc_target *target, const struct options *options)
{
    struct psc_error err = {0};
    struct psc_trace *trace;
    if (!capture(target, one_pid(options), options, &trace, &err))
        return show_traces(&trace, 1, options);
    char label[32];
    snprintf(label, sizeof(label), "process %d", one_pid(options));
    complain_about(options->core ? options->core : label, err.message);
    return EXIT_NOTHING;
}

static struct psc_trace *capture_process(int32_t pid, const struct options *options)
{
    struct psc_error err = {0};
    struct psc_target *target = NULL;
    struct psc_trace *trace = NULL;
    if (psc_open_process(pid, &options->open, &target, &err) ||
        capture(target, pid, options, &trace, &err))
        complain("%s", err.message);
    psc_close(target);
    return trace;
}

/* One that cannot be shown does not keep the others from it. */
static int show_processes(const struct options *options)
{
    size_t count, shown = 0;
    int32_t *pids = list_chosen_processes(options, &count);
    struct psc_trace **traces = calloc(count + 1, sizeof(*traces));
    int code = EXIT_NOTHING;
    for (size_t i = 0; pids && traces && i < count; i++) {
        traces[shown] = capture_process(pids[i], options);
        shown += traces[shown] != NULL;
    }
    if (!pids || !traces)
        complain("out of memory");
    else if (!count)
        complain("--match '%s': no process has such a command line", options->match_words);
    else if (shown)
        code = show_traces(traces, shown, options);
    if (code == EXIT_COMPLETE && shown < count)
        code = EXIT_PARTIAL;
    free(traces);
    free(pids);
    return code;
}

/* Whether whoever read the pipe has gone. */
static bool is_closed(int fd)
{
    struct pollfd poll_fd = {.fd = fd};
    return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLERR | POLLNVAL));
}

/*
 * Until nothing can be shown any more; what was shown until then counts. Without a target the
 * processes are looked for each time.
 */
static int watch(struct psc_target *target, const struct options *options)
{
    const double whole = (double)(time_t)options->interval;
    const struct timespec pause = {(time_t)options->interval,
                                   (long)((options->interval - whole) * 1e9)};
    int worst = EXIT_NOTHING;
    for (;;) {
        int code = target ? show(target, options) : show_processes(options);
        if (code == EXIT_NOTHING)
            return worst;
        if (worst == EXIT_NOTHING || code > worst)
            worst = code;
        if (is_closed(STDOUT_FILENO))
            return worst;
        nanosleep(&pause, NULL);
    }
}

/* The options with what is in the archive that --sysroot names; false, and said so, if it is bad.
 */
static bool open_sysroot(struct options *options, struct bundle **ret)
{
    struct stat status;
    struct bundle_error error;
    const char *path = options->open.sysroot;
    *ret = NULL;
    if (!path || stat(path, &status) || !S_ISREG(status.st_mode))
        return true;
    *ret = bundle_open(path, &error);
    if (!*ret)
        complain("--sysroot: %s", error.message);
    options->open.find_file = bundle_find;
    options->open.find_file_context = *ret;
    options->open.sysroot = NULL;
    return *ret;
}

/* Without this a misspelt directory shows only as files that are not found. */
static void check_directory(const char *path)
{
    struct stat status;
    if (stat(path, &status) || !S_ISDIR(status.st_mode))
        complain("%s: there is no such directory", path);
}

static int show_opened(const struct options *options)
{
    if (options->open.sysroot)
        check_directory(options->open.sysroot);
    for (size_t i = 0; i < options->open.library_directory_count; i++)
        check_directory(options->library_directories[i]);
    struct psc_error err = {0};
    struct psc_target *target = NULL;
    if (options_are_several(options))
        return options->interval > 0 ? watch(NULL, options) : show_processes(options);
    enum psc_status status =
        options->pid_count
            ? psc_open_process(one_pid(options), &options->open, &target, &err)
            : psc_open_core(options->core, options->executable, &options->open, &target, &err);
    if (status != PSC_OK) {
        complain("%s", err.message);
        return EXIT_NOTHING;
    }
    int code = options->interval > 0 ? watch(target, options) : show(target, options);
    psc_close(target);
    return code;
}

int show_target(struct options *options)
{
    struct bundle *bundle;
    int code = open_sysroot(options, &bundle) ? show_opened(options) : EXIT_NOTHING;
    bundle_close(bundle);
    return code;
}
