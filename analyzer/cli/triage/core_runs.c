/* Each core is parsed in a process of its own: one bad core harms no other. */
#include "core_child.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_LIMIT ((off_t)1 << 30) /* Bytes of one report. */
#define SAID_LIMIT   1000u            /* Of what a child says of a core. */

/* A child, and what it works at. */
struct run {
    pid_t pid; /* 0: none. */
    bool busy;
    int orders; /* The child holds the other end while it lives. */
    int output, said;
    struct core_report *report;
};

static void close_run(struct run *run)
{
    if (run->orders >= 0)
        close(run->orders);
    if (run->output >= 0)
        close(run->output);
    if (run->said >= 0)
        close(run->said);
    *run = (struct run){.orders = -1, .output = -1, .said = -1};
}

/* ---- starting ---- */

struct run_list {
    const struct triage_options *options;
    struct run *items;
    struct pollfd *ends;
    size_t count;
    struct core_report *reports;
    size_t report_count;
    size_t next; /* Report that was not begun. */
    size_t busy;
    struct sandbox_keeper keeper;
};

static bool make_child(const struct run_list *runs, struct run *run)
{
    int ends[2] = {-1, -1};
    *run = (struct run){.orders = -1};
    run->output = memfd_create("report", MFD_CLOEXEC);
    run->said = memfd_create("said", MFD_CLOEXEC);
    struct core_child child = {.options = runs->options,
                               .reports = runs->reports,
                               .output = run->output,
                               .said = run->said,
                               .keeper = runs->keeper.control,
                               .parent = getpid()};
    if (run->output >= 0 && run->said >= 0 &&
        !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        run->orders = ends[0];
        child.orders = ends[1];
        run->pid = fork();
        if (!run->pid)
            core_child_run(&child);
        close(ends[1]);
    }
    if (run->pid > 0)
        return true;
    close_run(run);
    return false;
}

/* An idle one ends when nobody is left to tell it anything. */
static void end_run(struct run *run)
{
    const struct run ended = *run;
    if (!run->pid && run->orders <= 0)
        return;
    // Who may signal nobody leaves those at work to PR_SET_PDEATHSIG.
    const bool ends = ended.pid && (!ended.busy || !kill(ended.pid, SIGKILL));
    close_run(run);
    if (ends)
        waitpid(ended.pid, NULL, 0);
}

/* One that was kept from the last core may have died since: then another one is made. */
static bool start(const struct run_list *runs, struct run *run, size_t index)
{
    const uint32_t number = (uint32_t)index;
    for (size_t i = 0; i < 2; i++) {
        if (!run->pid && !make_child(runs, run))
            return false;
        run->report = &runs->reports[index];
        run->busy =
            send(run->orders, &number, sizeof(number), MSG_NOSIGNAL) == (ssize_t)sizeof(number);
        if (run->busy)
            return true;
        end_run(run);
    }
    return false;
}

/* ---- ending ---- */

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

/* Makes its files empty for the next core. */
static bool clear(const struct run *run)
{
    return !ftruncate(run->output, 0) && !ftruncate(run->said, 0) &&
           !lseek(run->output, 0, SEEK_SET) && !lseek(run->said, 0, SEEK_SET);
}

/* One that has answered, or has ended; false: its report could not be taken. */
static bool finish(const struct triage_options *options, struct run *run)
{
    struct core_answer answer = {.more = 0};
    int status = EXIT_NOTHING << 8;
    const bool answered =
        recv(run->orders, &answer, sizeof(answer), MSG_DONTWAIT) == (ssize_t)sizeof(answer);
    const bool ended = !answered || !answer.more;
    run->busy = false;
    if (ended) {
        if (waitpid(run->pid, &status, 0) != run->pid)
            status = EXIT_NOTHING << 8;
        run->pid = 0;
    }
    if (answered)
        status = (answer.code & 0xff) << 8; // As waitpid(2) tells it.
    bool taken = take_report(options, run, status);
    if (ended || !clear(run))
        end_run(run);
    return taken;
}

static void end_all(struct run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        end_run(&runs[i]);
}

static bool start_all(struct run_list *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        while (runs->next < runs->report_count && runs->reports[runs->next].json)
            runs->next++;
        if (runs->items[i].busy || runs->next == runs->report_count)
            continue;
        if (!start(runs, &runs->items[i], runs->next++)) {
            complain("no process could be made: %s", strerror(errno));
            return false;
        }
        runs->busy++;
    }
    return true;
}

/* Waits until some end, and hands their reports on. */
static bool end_some(struct run_list *runs, report_fn *done, void *context)
{
    for (size_t i = 0; i < runs->count; i++)
        runs->ends[i] = (struct pollfd){.fd = runs->items[i].busy ? runs->items[i].orders : -1,
                                        .events = POLLIN};
    if (poll(runs->ends, runs->count, -1) < 0)
        return errno == EINTR;
    for (size_t i = 0; i < runs->count; i++) {
        struct core_report *report = runs->items[i].report;
        if (!runs->items[i].busy || !runs->ends[i].revents)
            continue;
        runs->busy--;
        if (!finish(runs->options, &runs->items[i]))
            return false;
        if (!done(context, report))
            return false;
    }
    return true;
}

/* One core alone has nobody to share with. */
static void start_keeper(struct run_list *runs)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->report_count; i++)
        count += !runs->reports[i].json;
    runs->keeper = (struct sandbox_keeper){.control = -1};
    if (count > 1)
        core_child_start_keeper(runs->options, &runs->keeper);
}

bool run_cores(const struct triage_options *options, struct core_report *reports, size_t count,
               report_fn *done, void *context)
{
    struct run_list runs = {.options = options,
                            .items = calloc(options->jobs, sizeof(*runs.items)),
                            .ends = calloc(options->jobs, sizeof(*runs.ends)),
                            .count = options->jobs,
                            .reports = reports,
                            .report_count = count};
    start_keeper(&runs);
    bool good = runs.items && runs.ends && start_all(&runs);
    while (good && runs.busy)
        good = end_some(&runs, done, context) && start_all(&runs);
    if (runs.items)
        end_all(runs.items, runs.count);
    sandbox_keeper_end(&runs.keeper);
    free(runs.items);
    free(runs.ends);
    return good;
}
