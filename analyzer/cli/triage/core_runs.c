/* Each core is parsed in a process of its own: one bad core harms no other. */
#include "core_runs.h"
#include "core_child.h"
#include "messages.h"
#include "new_file.h"
#include "passed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child, and what it works at. */
struct run {
    pid_t pid; /* 0: none. */
    bool busy;
    bool told;  /* Its report was handed out, and is not released yet. */
    int orders; /* The child holds the other end while it lives. */
    int output, said;
    uint32_t core;
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
    const struct core_list *cores;
    const bool *wanted; /* Of each core. */
    size_t next;        /* Core that was not begun. */
    int socket;         /* To the one who reads the reports. */
    struct sandbox_keeper keeper;
};

static bool make_child(const struct run_list *runs, struct run *run)
{
    int ends[2] = {-1, -1};
    *run = (struct run){.orders = -1};
    run->output = new_file_open_unnamed("report");
    run->said = new_file_open_unnamed("said");
    struct core_child child = {.options = runs->options,
                               .cores = runs->cores,
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
        run->core = number;
        run->busy =
            send(run->orders, &number, sizeof(number), MSG_NOSIGNAL) == (ssize_t)sizeof(number);
        if (run->busy)
            return true;
        end_run(run);
    }
    return false;
}

/* ---- ending ---- */

/* Makes its files empty for the next core. */
static bool clear(const struct run *run)
{
    return !ftruncate(run->output, 0) && !ftruncate(run->said, 0) &&
           !lseek(run->output, 0, SEEK_SET) && !lseek(run->said, 0, SEEK_SET);
}

/* With its report as a file, which nobody writes to any more but a process that is overdue. */
static bool tell(const struct run_list *runs, const struct run *run, const struct core_end *end)
{
    const struct iovec part = {(void *)(uintptr_t)end, sizeof(*end)};
    return passed_files_send(runs->socket, &part, 1, &run->output, 1);
}

/* One that has answered, or has ended; false: nobody wants to know. */
static bool finish(const struct run_list *runs, size_t index)
{
    struct run *run = &runs->items[index];
    struct core_answer answer = {.more = 0};
    struct core_end end = {.core = run->core, .run = (uint32_t)index};
    int status = EXIT_NOTHING << 8;
    const bool answered =
        recv(run->orders, &answer, sizeof(answer), MSG_DONTWAIT) == (ssize_t)sizeof(answer);
    run->busy = false;
    run->told = true;
    if (!answered || !answer.more) {
        if (waitpid(run->pid, &status, 0) != run->pid)
            status = EXIT_NOTHING << 8;
        run->pid = 0;
    }
    if (answered)
        status = (answer.code & 0xff) << 8; // As waitpid(2) tells it.
    end.status = status;
    if (pread(run->said, end.said, sizeof(end.said) - 1, 0) < 0)
        end.said[0] = '\0';
    return tell(runs, run, &end);
}

/* Its report was read. What it says may be anything. */
static bool release(const struct run_list *runs)
{
    uint32_t index;
    if (recv(runs->socket, &index, sizeof(index), 0) != (ssize_t)sizeof(index))
        return false;
    if (index >= runs->count || !runs->items[index].told)
        return true;
    struct run *run = &runs->items[index];
    run->told = false;
    if (!run->pid || !clear(run))
        end_run(run);
    return true;
}

static void end_all(struct run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        end_run(&runs[i]);
}

static bool start_all(struct run_list *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        while (runs->next < runs->cores->count && !runs->wanted[runs->next])
            runs->next++;
        if (runs->items[i].busy || runs->items[i].told || runs->next == runs->cores->count)
            continue;
        if (!start(runs, &runs->items[i], runs->next++)) {
            complain("no process could be made: %s", strerror(errno));
            return false;
        }
    }
    return true;
}

static bool is_at_work(const struct run_list *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        if (runs->items[i].busy || runs->items[i].told)
            return true;
    return false;
}

/* Waits until some end, or their reports are read. */
static bool wait_for_some(struct run_list *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        runs->ends[i] = (struct pollfd){.fd = runs->items[i].busy ? runs->items[i].orders : -1,
                                        .events = POLLIN};
    runs->ends[runs->count] = (struct pollfd){.fd = runs->socket, .events = POLLIN};
    if (poll(runs->ends, runs->count + 1, -1) < 0)
        return errno == EINTR;
    for (size_t i = 0; i < runs->count; i++)
        if (runs->items[i].busy && runs->ends[i].revents && !finish(runs, i))
            return false;
    return !runs->ends[runs->count].revents || release(runs);
}

/* One core alone has nobody to share with. */
static void start_keeper(struct run_list *runs)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->cores->count; i++)
        count += runs->wanted[i];
    runs->keeper = (struct sandbox_keeper){.control = -1};
    if (count > 1)
        core_child_start_keeper(runs->options, &runs->keeper);
}

/* ---- the process ---- */

/* Which cores are wanted, one message for some of them each. */
static bool hear_wanted(int socket, bool *wanted, size_t count)
{
    for (size_t at = 0; at < count;) {
        const ssize_t got = recv(socket, wanted + at, count - at, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    for (size_t i = 0; i < count; i++)
        wanted[i] = *(const unsigned char *)&wanted[i] != 0;
    return true;
}

static int run_all(struct run_list *runs)
{
    start_keeper(runs);
    bool good = start_all(runs);
    while (good && is_at_work(runs))
        good = wait_for_some(runs) && start_all(runs);
    end_all(runs->items, runs->count);
    sandbox_keeper_end(&runs->keeper);
    return good ? EXIT_COMPLETE : EXIT_NOTHING;
}

static int run_cores(const struct triage_options *options, const struct core_list *cores,
                     bool waits, int socket)
{
    bool *wanted = malloc(cores->count + 1);
    struct run_list runs = {.options = options,
                            .items = calloc(options->jobs, sizeof(*runs.items)),
                            .ends = calloc(options->jobs + 1, sizeof(*runs.ends)),
                            .count = options->jobs,
                            .cores = cores,
                            .wanted = wanted,
                            .socket = socket};
    int code = EXIT_NOTHING;
    if (wanted)
        memset(wanted, 1, cores->count);
    if (!wanted || !runs.items || !runs.ends)
        complain("out of memory");
    else if (!waits || hear_wanted(socket, wanted, cores->count))
        code = run_all(&runs);
    free(runs.items);
    free(runs.ends);
    free(wanted);
    return code;
}

bool core_runs_start(const struct triage_options *options, const struct core_list *cores,
                     bool waits, struct core_runs *ret)
{
    int ends[2];
    const pid_t parent = getpid();
    *ret = (struct core_runs){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        complain("no process could be made: %s", strerror(errno));
        return false;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(EXIT_NOTHING);
        int code = run_cores(options, cores, waits, ends[1]);
        fflush(NULL);
        _exit(code);
    }
    close(ends[1]);
    if (child > 0) {
        *ret = (struct core_runs){child, ends[0]};
        return true;
    }
    complain("no process could be made: %s", strerror(errno));
    close(ends[0]);
    return false;
}

void core_runs_end(struct core_runs *runs)
{
    int status = 0;
    if (runs->socket >= 0)
        close(runs->socket);
    runs->socket = -1;
    if (!runs->pid)
        return;
    // It ends when nobody is left to tell it anything.
    while (waitpid(runs->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        complain("what makes the processes was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    runs->pid = 0;
}
