/* A child process for each core: one bad core harms no other. */
#include "messages.h"
#include "options.h"
#include "triage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_LIMIT ((off_t)1 << 30) /* Bytes of one report. */
#define SAID_LIMIT   1000u            /* Of what a child says of a core. */
/* Of one report behind which its lists are cut: as a tree it takes ten times as much memory. */
#define REPORT_SIZE_LIMIT ((uint64_t)32 * 1024 * 1024)

/* A child's exit code: what it was to look at is no core. */
#define EXIT_NO_CORE 5

/* A child at work. */
struct run {
    pid_t pid; /* 0: none. */
    int alive; /* The child holds the other end while it lives. */
    int output, said;
    struct core_report *report;
};

/* ---- in the child ---- */

static void limit_child(const struct triage_options *options)
{
#ifndef __SANITIZE_ADDRESS__ // Whose shadow memory is terabytes of address space.
    const rlim_t bytes = (rlim_t)options->megabytes << 20;
    const struct rlimit memory = {bytes, bytes};
    setrlimit(RLIMIT_AS, &memory);
#else
    (void)options;
#endif
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); // A core of ours beside theirs would be the next to be read.
}

/* The words of `pystack-core OPTIONS --format json -- CORE`. */
static int report_core(const struct triage_options *options, const char *path)
{
    size_t count = 0;
    char **words = calloc(options->forwarded_count + 6, sizeof(*words));
    struct options report;
    static char program[] = "pystack-core", format[] = "--format", json[] = "json", end[] = "--";
    char *core = strdup(path);
    if (!words || !core) {
        complain("out of memory");
        return EXIT_NOTHING;
    }
    words[count++] = program;
    for (size_t i = 0; i < options->forwarded_count; i++)
        words[count++] = options->forwarded[i];
    words[count++] = format;
    words[count++] = json;
    words[count++] = end;
    words[count++] = core;
    int code = EXIT_NOTHING;
    if (options_parse(&report, (int)count, words) == OPTIONS_RUN) {
        report.print.one_line = 1;
        report.print.size_limit = REPORT_SIZE_LIMIT;
        code = options->report_one(&report);
        if (code == EXIT_NOTHING && report.is_no_core)
            code = EXIT_NO_CORE;
    }
    options_deinit(&report);
    free(core);
    free(words);
    return code;
}

static void be_child(const struct triage_options *options, const struct run *run, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_NOTHING);
    signal(SIGINT, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    alarm(options->seconds);
    if (dup2(run->output, STDOUT_FILENO) < 0 || dup2(run->said, STDERR_FILENO) < 0)
        _exit(EXIT_NOTHING);
    limit_child(options);
    int code = report_core(options, run->report->path);
    fflush(stderr);
    _exit(code);
}

/* ---- in the parent ---- */

static void close_run(struct run *run)
{
    if (run->alive >= 0)
        close(run->alive);
    if (run->output >= 0)
        close(run->output);
    if (run->said >= 0)
        close(run->said);
    *run = (struct run){.alive = -1, .output = -1, .said = -1};
}

static bool start(const struct triage_options *options, struct run *run, struct core_report *report)
{
    int ends[2] = {-1, -1};
    const pid_t parent = getpid();
    *run = (struct run){.alive = -1, .report = report};
    run->output = memfd_create("report", MFD_CLOEXEC);
    run->said = memfd_create("said", MFD_CLOEXEC);
    if (run->output < 0 || run->said < 0 || pipe2(ends, O_CLOEXEC)) {
        close_run(run);
        return false;
    }
    run->alive = ends[0];
    run->pid = fork();
    if (!run->pid) {
        close(ends[0]);
        be_child(options, run, parent);
    }
    close(ends[1]);
    if (run->pid > 0)
        return true;
    close_run(run);
    return false;
}

/* What a child said, in one line without our name; or why it said nothing. */
static void describe_end(const struct triage_options *options, const struct run *run, int status,
                         char *ret, size_t size)
{
    static const char name[] = "pystack-core: ";
    ssize_t length = pread(run->said, ret, size - 1, 0);
    ret[length > 0 ? length : 0] = '\0';
    char *line = strncmp(ret, name, strlen(name)) ? ret : ret + strlen(name);
    line[strcspn(line, "\n")] = '\0';
    memmove(ret, line, strlen(line) + 1);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(ret, size, "no report within %u s (--time-limit)", options->seconds);
    else if (WIFSIGNALED(status))
        snprintf(ret, size, "the one who looked at it was ended by signal %d", WTERMSIG(status));
    else if (!*ret)
        snprintf(ret, size, "exit code %d without a word", WEXITSTATUS(status));
    size_t used = strlen(ret);
    if (strstr(ret, strerror(ENOMEM)) || strstr(ret, "out of memory"))
        snprintf(ret + used, size - used, " (within %llu MB, --memory-limit)",
                 (unsigned long long)options->megabytes);
}

static bool take_report(const struct triage_options *options, struct run *run, int status)
{
    char said[SAID_LIMIT];
    struct core_report *report = run->report;
    const off_t size = lseek(run->output, 0, SEEK_END);
    bool good = WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_PARTIAL && size > 0 &&
                size <= OUTPUT_LIMIT;
    void *bytes =
        good ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, run->output, 0) : MAP_FAILED;
    describe_end(options, run, status, said, sizeof(said));
    report->is_none =
        report->may_be_none && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_CORE;
    report->code = good ? WEXITSTATUS(status) : EXIT_NOTHING;
    bool taken = bytes == MAP_FAILED ? core_report_take(report, "", 0, said)
                                     : core_report_take(report, bytes, (size_t)size, said);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)size);
    return taken;
}

/* One that has ended, or has to; true: its report is there. */
static bool finish(const struct triage_options *options, struct run *run, bool *failed)
{
    int status;
    if (waitpid(run->pid, &status, 0) != run->pid)
        status = EXIT_NOTHING << 8;
    run->pid = 0;
    *failed = !take_report(options, run, status);
    close_run(run);
    return !*failed;
}

static void end_all(struct run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (runs[i].pid) {
            // Who may signal nobody leaves them to PR_SET_PDEATHSIG.
            if (!kill(runs[i].pid, SIGKILL))
                waitpid(runs[i].pid, NULL, 0);
            close_run(&runs[i]);
        }
}

struct run_list {
    struct run *items;
    struct pollfd *ends;
    size_t count;
    struct core_report *reports;
    size_t report_count;
    size_t next; /* Report that was not begun. */
    size_t busy;
};

static bool start_all(const struct triage_options *options, struct run_list *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        while (runs->next < runs->report_count && runs->reports[runs->next].json)
            runs->next++;
        if (runs->items[i].pid || runs->next == runs->report_count)
            continue;
        if (!start(options, &runs->items[i], &runs->reports[runs->next++])) {
            complain("no process could be made: %s", strerror(errno));
            return false;
        }
        runs->busy++;
    }
    return true;
}

/* Waits until some end, and hands their reports on. */
static bool end_some(const struct triage_options *options, struct run_list *runs, report_fn *done,
                     void *context)
{
    for (size_t i = 0; i < runs->count; i++)
        runs->ends[i] = (struct pollfd){.fd = runs->items[i].pid ? runs->items[i].alive : -1};
    if (poll(runs->ends, runs->count, -1) < 0)
        return errno == EINTR;
    for (size_t i = 0; i < runs->count; i++) {
        struct core_report *report = runs->items[i].report;
        bool failed;
        if (!runs->items[i].pid || !runs->ends[i].revents)
            continue;
        runs->busy--;
        if (!finish(options, &runs->items[i], &failed))
            return false;
        if (!done(context, report))
            return false;
    }
    return true;
}

bool run_cores(const struct triage_options *options, struct core_report *reports, size_t count,
               report_fn *done, void *context)
{
    struct run_list runs = {.items = calloc(options->jobs, sizeof(*runs.items)),
                            .ends = calloc(options->jobs, sizeof(*runs.ends)),
                            .count = options->jobs,
                            .reports = reports,
                            .report_count = count};
    bool good = runs.items && runs.ends && start_all(options, &runs);
    while (good && runs.busy)
        good = end_some(options, &runs, done, context) && start_all(options, &runs);
    if (runs.items)
        end_all(runs.items, runs.count);
    free(runs.items);
    free(runs.ends);
    return good;
}
