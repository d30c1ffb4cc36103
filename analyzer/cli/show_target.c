/* Open, capture, print: a core file, a process, a tree of them, once or again and again. */
#include "show_target.h"

#include "bundle.h"
#include "messages.h"
#include "packed_core.h"
#include "processes.h"
#include "report_files.h"
#include "sandbox.h"

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

/* What is being looked at: read in two steps, so that the second one needs no rights. */
struct look {
    struct psc_target *target;
    struct psc_snapshot *snapshot;
    int32_t pid; /* 0: a core file. */
};

/* The first step, with its core file if one is wanted. */
static enum psc_status take_snapshot(struct look *look, const struct options *options,
                                     struct psc_error *err)
{
    struct psc_capture_options capture = options->capture;
    char *path = NULL;
    if (options->saves_core) {
        path = name_core(look->pid, options);
        if (!path) {
            snprintf(err->message, sizeof(err->message), "out of memory");
            return PSC_ERR_MEMORY;
        }
        capture.core_path = path;
        if (capture.core_full)
            announce_copy(look->pid);
    }
    enum psc_status status = psc_take_snapshot(look->target, &capture, &look->snapshot, err);
    free(path);
    return status;
}

/* ---- the second step ---- */

struct work {
    const struct options *options;
    const struct look *looks;
    size_t count;
    struct reports reports;
};

static void complain_of_look(const struct work *work, const struct look *look, const char *why)
{
    char label[32];
    snprintf(label, sizeof(label), "process %d", look->pid);
    if (options_are_several(work->options))
        complain("%s", why);
    else
        complain_about(work->options->core ? work->options->core : label, why);
}

/* One that cannot be shown does not keep the others from it. */
static int read_and_write(void *context)
{
    struct work *work = context;
    struct psc_trace **traces = calloc(work->count + 1, sizeof(*traces));
    size_t shown = 0;
    int code = EXIT_NOTHING;
    if (!traces)
        complain("out of memory");
    for (size_t i = 0; traces && i < work->count; i++) {
        struct psc_error err = {0};
        if (psc_read_snapshot(work->looks[i].snapshot, &traces[shown], &err) != PSC_OK) {
            complain_of_look(work, &work->looks[i], err.message);
            continue;
        }
        work->reports.has_core[i] = psc_trace_core(traces[shown++], NULL) == PSC_OK;
    }
    if (shown)
        code = reports_write(&work->reports, traces, shown);
    if (code == EXIT_COMPLETE && shown < work->count)
        code = EXIT_PARTIAL;
    free(traces);
    return code;
}

/* Those that were written get their names here, where there are rights to do that. */
static bool keep_cores(const struct work *work)
{
    bool good = true;
    for (size_t i = 0; i < work->count; i++) {
        struct psc_error err = {0};
        if (!work->reports.has_core[i] ||
            psc_snapshot_keep_core(work->looks[i].snapshot, &err) == PSC_OK)
            continue;
        complain("%s", err.message);
        good = false;
    }
    return good;
}

static int run_work(struct work *work, const struct sandbox_rules *rules)
{
    int code = EXIT_NOTHING;
    bool is_open = reports_open(&work->reports, work->options, work->count);
    if (is_open)
        code = sandbox_run(rules, read_and_write, work);
    if (work->reports.has_core && !keep_cores(work))
        code = EXIT_NOTHING;
    return reports_close(&work->reports, code);
}

/* Folders that are looked through are those of options alone. */
static int show_looks(const struct look *looks, size_t count, const struct options *options)
{
    size_t folder_count = 0, owner_count = 0;
    const struct psc_open_options *open = &options->open;
    size_t most = open->library_directory_count + open->source_directory_count + 1;
    const char **folders = calloc(most, sizeof(*folders));
    struct sandbox_owner *owners = calloc(count + 1, sizeof(*owners));
    struct work work = {.options = options, .looks = looks, .count = count};
    int code = EXIT_NOTHING;
    for (size_t i = 0; folders && i < open->library_directory_count; i++)
        folders[folder_count++] = options->library_directories[i];
    for (size_t i = 0; folders && i < open->source_directory_count; i++)
        folders[folder_count++] = options->source_directories[i];
    for (size_t i = 0; owners && i < count; i++) {
        uint32_t user, group;
        if (psc_target_owner(looks[i].target, &user, &group))
            owners[owner_count++] = (struct sandbox_owner){user, group, looks[i].pid};
    }
    const char *files[] = {options->rules};
    const struct sandbox_rules rules = {.owners = owners,
                                        .owner_count = owner_count,
                                        .sysroot = open->sysroot,
                                        .folders = folders,
                                        .folder_count = folder_count,
                                        .files = files,
                                        .file_count = options->rules != NULL};
    if (folders && owners)
        code = run_work(&work, &rules);
    else
        complain("out of memory");
    free(folders);
    free(owners);
    return code;
}

/* ---- one, or several ---- */

static int32_t one_pid(const struct options *options)
{
    return options->pid_count ? options->pids[0] : 0;
}

static int show(struct psc_target *target, const struct options *options)
{
    struct psc_error err = {0};
    struct look look = {.target = target, .pid = one_pid(options)};
    int code = EXIT_NOTHING;
    if (take_snapshot(&look, options, &err) == PSC_OK) {
        code = show_looks(&look, 1, options);
    } else {
        char label[32];
        snprintf(label, sizeof(label), "process %d", look.pid);
        complain_about(options->core ? options->core : label, err.message);
    }
    psc_snapshot_destroy(look.snapshot);
    return code;
}

/* False, and said so, when it cannot be looked at. */
static bool look_at_process(struct look *look, const struct options *options)
{
    struct psc_error err = {0};
    if (psc_open_process(look->pid, &options->open, &look->target, &err) == PSC_OK &&
        take_snapshot(look, options, &err) == PSC_OK)
        return true;
    complain("%s", err.message);
    psc_close(look->target);
    look->target = NULL;
    return false;
}

/* One that cannot be shown does not keep the others from it. */
static int show_processes(const struct options *options)
{
    size_t count, shown = 0;
    int32_t *pids = list_chosen_processes(options, &count);
    struct look *looks = calloc(count + 1, sizeof(*looks));
    int code = EXIT_NOTHING;
    for (size_t i = 0; pids && looks && i < count; i++) {
        looks[shown] = (struct look){.pid = pids[i]};
        shown += look_at_process(&looks[shown], options);
    }
    if (!pids || !looks)
        complain("out of memory");
    else if (!count)
        complain("--match '%s': no process has such a command line", options->match_words);
    else if (shown)
        code = show_looks(looks, shown, options);
    if (code == EXIT_COMPLETE && shown < count)
        code = EXIT_PARTIAL;
    for (size_t i = 0; looks && i < shown; i++) {
        psc_snapshot_destroy(looks[i].snapshot);
        psc_close(looks[i].target);
    }
    free(looks);
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

/* A core, unpacked where it is not one that can be read; NULL, and said so, if it cannot be. */
static struct psc_target *open_core(struct options *options)
{
    struct psc_open_options open = options->open;
    struct psc_target *target = NULL;
    struct psc_error err = {0};
    struct packed_core core;
    if (packed_core_open(options->core, &core)) {
        open.core_name = core.name;
        open.core_warning = core.warning;
        open.core_owner_known = core.owner_known;
        open.core_user = core.user;
        open.core_group = core.group;
        if (psc_open_core(core.path, options->executable, &open, &target, &err) != PSC_OK)
            complain("%s", err.message);
    }
    options->is_no_core = core.is_none;
    packed_core_close(&core);
    return target;
}

static struct psc_target *open_process(const struct options *options)
{
    struct psc_target *target = NULL;
    struct psc_error err = {0};
    if (psc_open_process(one_pid(options), &options->open, &target, &err) != PSC_OK)
        complain("%s", err.message);
    return target;
}

static int show_opened(struct options *options)
{
    if (options->open.sysroot)
        check_directory(options->open.sysroot);
    for (size_t i = 0; i < options->open.library_directory_count; i++)
        check_directory(options->library_directories[i]);
    if (options_are_several(options))
        return options->interval > 0 ? watch(NULL, options) : show_processes(options);
    struct psc_target *target = options->pid_count ? open_process(options) : open_core(options);
    if (!target)
        return EXIT_NOTHING;
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
