/* Open, capture, print: a core file, a process, a tree of them, once or again and again. */
#include "show_target.h"

#include "bundle.h"
#include "core_task.h"
#include "file_rules.h"
#include "messages.h"
#include "packed_core.h"
#include "processes.h"
#include "report_files.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
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
    int folder;  /* Of the process, in /proc; or -1. */
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

/* A core file that is open, and whose it is: all that is in it is read without rights. */
struct core_input {
    const struct packed_core *file;
    char path[32]; /* To be opened again by. */
    uint32_t user;
    uint32_t group;
};

struct work {
    const struct options *options;
    const struct core_input *core;    /* NULL: processes. */
    const struct core_finish *finish; /* Or NULL. */
    const struct look *looks;
    size_t count;
    struct reports reports;
};

static void complain_of_look(const struct work *work, const struct look *look, const char *why)
{
    if (options_are_several(work->options))
        complain("%s", why);
    else if (work->options->core)
        complain_about(work->options->core, why);
    else
        complain_of_process(look->pid, why);
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

static enum psc_status open_input(const struct work *work, struct psc_target **ret,
                                  struct psc_error *err)
{
    const struct packed_core *file = work->core->file;
    struct psc_open_options open = work->options->open;
    open.core_name = file->name;
    open.core_warning = file->warning;
    open.core_owner_known = 1;
    open.core_user = work->core->user;
    open.core_group = work->core->group;
    return psc_open_core(work->core->path, work->options->executable, &open, ret, err);
}

/* Both steps of a core file. */
static int read_and_write_core(void *context)
{
    struct work *work = context;
    struct look look = {.folder = -1};
    struct psc_trace *trace = NULL;
    struct psc_error err = {0};
    int code = EXIT_NOTHING;
    enum psc_status status = open_input(work, &look.target, &err);
    bool opened = status == PSC_OK;
    if (status == PSC_OK)
        status = take_snapshot(&look, work->options, &err);
    if (status == PSC_OK)
        status = psc_read_snapshot(look.snapshot, &trace, &err);
    if (status == PSC_OK)
        code = reports_write(&work->reports, &trace, 1);
    else if (opened)
        complain_about(work->options->core, err.message);
    else
        complain("%s", err.message);
    if (work->finish && opened)
        work->finish->finish(work->finish->context, look.target, code);
    psc_snapshot_destroy(look.snapshot);
    psc_close(look.target);
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
        code = sandbox_run(rules, work->core ? read_and_write_core : read_and_write, work);
    if (work->reports.has_core && !keep_cores(work))
        code = EXIT_NOTHING;
    return reports_close(&work->reports, code);
}

static int run_with_rules(struct work *work, const struct sandbox_owner *owners, size_t owner_count)
{
    struct file_rules rules;
    int code = EXIT_NOTHING;
    bool good = file_rules_init(&rules, work->options);
    rules.rules.owners = owners;
    rules.rules.owner_count = owner_count;
    if (good)
        code = run_work(work, &rules.rules);
    else
        complain("out of memory");
    file_rules_deinit(&rules);
    return code;
}

static int show_looks(const struct look *looks, size_t count, const struct options *options)
{
    size_t owner_count = 0;
    struct sandbox_owner *owners = calloc(count + 1, sizeof(*owners));
    struct work work = {.options = options, .looks = looks, .count = count};
    int code = EXIT_NOTHING;
    for (size_t i = 0; owners && i < count; i++) {
        uint32_t user, group;
        if (psc_target_owner(looks[i].target, &user, &group))
            owners[owner_count++] =
                (struct sandbox_owner){user, group, looks[i].pid, looks[i].folder};
    }
    if (owners)
        code = run_with_rules(&work, owners, owner_count);
    else
        complain("out of memory");
    free(owners);
    return code;
}

/* ---- one, or several ---- */

static int32_t one_pid(const struct options *options)
{
    return options->pid_count ? options->pids[0] : 0;
}

/* Nothing that is read below it later is of another process of that number. */
static int open_folder(int32_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d", pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void end_look(struct look *look)
{
    psc_snapshot_destroy(look->snapshot);
    psc_close(look->target);
    if (look->folder >= 0)
        close(look->folder);
    *look = (struct look){.folder = -1};
}

/* False, and said so, when it cannot be looked at; to be ended nevertheless. */
static bool open_look(struct look *look, int32_t pid, const struct options *options)
{
    struct psc_error err = {0};
    *look = (struct look){.pid = pid, .folder = open_folder(pid)};
    if (psc_open_process(pid, &options->open, &look->target, &err) == PSC_OK)
        return true;
    complain("%s", err.message);
    return false;
}

static bool take_look(struct look *look, const struct options *options)
{
    struct psc_error err = {0};
    if (take_snapshot(look, options, &err) == PSC_OK)
        return true;
    if (options_are_several(options))
        complain("%s", err.message);
    else
        complain_of_process(look->pid, err.message);
    return false;
}

static int show_process(struct look *look, const struct options *options)
{
    int code = take_look(look, options) ? show_looks(look, 1, options) : EXIT_NOTHING;
    psc_snapshot_destroy(look->snapshot);
    look->snapshot = NULL;
    return code;
}

/* One that cannot be shown does not keep the others from it. */
static int show_processes(const struct options *options)
{
    size_t count, shown = 0;
    int32_t *pids = list_chosen_processes(options, &count);
    struct look *looks = calloc(count + 1, sizeof(*looks));
    int code = EXIT_NOTHING;
    for (size_t i = 0; pids && looks && i < count; i++) {
        if (open_look(&looks[shown], pids[i], options) && take_look(&looks[shown], options))
            shown++;
        else
            end_look(&looks[shown]);
    }
    if (!pids || !looks)
        complain("out of memory");
    else if (!count)
        complain("--match '%s': no process has such a command line", options->match_words);
    else if (shown)
        code = show_looks(looks, shown, options);
    if (code == EXIT_COMPLETE && shown < count)
        code = EXIT_PARTIAL;
    for (size_t i = 0; looks && i < shown; i++)
        end_look(&looks[i]);
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
 * Until nothing can be shown any more; what was shown until then counts. Without a process the
 * processes are looked for each time.
 */
static int watch(struct look *one, const struct options *options)
{
    const double whole = (double)(time_t)options->interval;
    const struct timespec pause = {(time_t)options->interval,
                                   (long)((options->interval - whole) * 1e9)};
    int worst = EXIT_NOTHING;
    for (;;) {
        int code = one ? show_process(one, options) : show_processes(options);
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

/* ---- a core file ---- */

static bool find_owner(const struct packed_core *file, int fd, struct core_input *ret)
{
    struct stat status;
    if (fstat(fd, &status))
        return false;
    ret->user = file->owner_known ? file->user : status.st_uid;
    ret->group = file->owner_known ? file->group : status.st_gid;
    return true;
}

int show_open_core(const struct packed_core *file, int fd, const struct options *options,
                   const struct core_finish *finish)
{
    struct core_input input = {.file = file};
    struct work work = {.options = options, .core = &input, .finish = finish, .count = 1};
    if (!find_owner(file, fd, &input)) {
        complain("%s: %s", file->name, strerror(errno));
        return EXIT_NOTHING;
    }
    snprintf(input.path, sizeof(input.path), "/proc/self/fd/%d", fd);
    const struct sandbox_owner owner = {input.user, input.group, 0, -1};
    return run_with_rules(&work, &owner, 1);
}

/* Why it cannot be opened, the library says. */
static void complain_of_core(const struct packed_core *file, const struct options *options)
{
    struct psc_target *target = NULL;
    struct psc_error err = {0};
    if (psc_open_core(file->path, options->executable, &options->open, &target, &err) == PSC_OK)
        snprintf(err.message, sizeof(err.message), "%s: changed while it was opened", file->name);
    complain("%s", err.message);
    psc_close(target);
}

/* Unpacked where it is not one that can be read. */
static int show_core(struct options *options)
{
    struct packed_core file;
    int code = EXIT_NOTHING;
    if (packed_core_open(options->core, &file)) {
        int fd = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        options->was_kept = fd >= 0 && !file.is_none && ask_keeper(options, &file, fd, &code);
        if (fd >= 0 && !options->was_kept)
            code = show_open_core(&file, fd, options, NULL);
        else if (fd < 0)
            complain_of_core(&file, options);
        if (fd >= 0)
            close(fd);
    }
    options->is_no_core = file.is_none;
    packed_core_close(&file);
    return code;
}

static int show_opened(struct options *options)
{
    if (options->open.sysroot)
        check_directory(options->open.sysroot);
    for (size_t i = 0; i < options->open.library_directory_count; i++)
        check_directory(options->library_directories[i]);
    if (options->open.debug_directory)
        check_directory(options->open.debug_directory);
    if (options_are_several(options))
        return options->interval > 0 ? watch(NULL, options) : show_processes(options);
    if (!options->pid_count)
        return show_core(options);
    struct look look;
    int code = EXIT_NOTHING;
    if (open_look(&look, one_pid(options), options))
        code = options->interval > 0 ? watch(&look, options) : show_process(&look, options);
    end_look(&look);
    return code;
}

int show_target(struct options *options)
{
    struct bundle *bundle;
    int code = open_sysroot(options, &bundle) ? show_opened(options) : EXIT_NOTHING;
    bundle_close(bundle);
    return code;
}
