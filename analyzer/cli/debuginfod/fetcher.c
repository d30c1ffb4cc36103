/* The end that runs debuginfod-find(1). It prints the path of the file in its cache. */
#include "debuginfod_private.h"

#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Files that a report may ask for; no real one does. */
#define QUESTION_LIMIT 4096
#define TICK_SECONDS   0.25 /* Between two changes of the line on a terminal. */

struct fetcher {
    double left;  /* Seconds for all that is still to come. */
    bool gave_up; /* They are over; said so. */
    bool on_terminal;
    bool has_line; /* The terminal's line has something on it. */
    size_t asked, fetched;
    double spent;
};

/* One run of the tool. */
struct run {
    pid_t pid;
    int output;
    double begun;
    size_t size;
    char path[PATH_MAX];
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool is_text(const char *text, size_t room)
{
    const char *end = memchr(text, '\0', room);
    return end && !memchr(text, '\n', (size_t)(end - text));
}

static bool is_good(const struct debuginfod_question *question)
{
    size_t digits = strnlen(question->build_id, sizeof(question->build_id));
    return question->what <= PSC_FETCHED_SOURCE &&
           is_text(question->build_id, sizeof(question->build_id)) && digits >= 4 &&
           digits % 2 == 0 && strspn(question->build_id, "0123456789abcdef") == digits &&
           is_text(question->path, sizeof(question->path)) &&
           (question->what != PSC_FETCHED_SOURCE || question->path[0] == '/');
}

/* ---- the line of progress ---- */

/* On a terminal one line that changes; else nothing until the end. */
static void show_progress(struct fetcher *fetcher, const struct debuginfod_question *question,
                          double seconds)
{
    static const char *const kinds[] = {"", "debug information of ", "source "};
    const char *name = strrchr(question->path, '/');
    if (!fetcher->on_terminal)
        return;
    fprintf(stderr, "\r\033[Kpystack-core: debuginfod: %s", kinds[question->what]);
    put_safely(stderr, name && name[1] ? name + 1 : question->build_id);
    fprintf(stderr, ", %.0f s (file %zu; Ctrl-C ends it)", seconds, fetcher->asked);
    fflush(stderr);
    fetcher->has_line = true;
}

static void clear_line(struct fetcher *fetcher)
{
    if (fetcher->has_line)
        fputs("\r\033[K", stderr);
    fetcher->has_line = false;
}

/* ---- one run ---- */

/* In the child of the child. */
static void become_tool(const struct debuginfod_question *question, int output)
{
    static const char *const kinds[] = {"executable", "debuginfo", "source"};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(nothing, STDERR_FILENO) < 0)
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp("debuginfod-find", "debuginfod-find", kinds[question->what], question->build_id,
           question->what == PSC_FETCHED_SOURCE ? question->path : NULL, NULL);
    _exit(127);
}

static bool run_begin(struct run *run, const struct debuginfod_question *question)
{
    int ends[2];
    *run = (struct run){.begun = now()};
    if (pipe2(ends, O_CLOEXEC))
        return false;
    run->pid = fork();
    if (!run->pid)
        become_tool(question, ends[1]);
    close(ends[1]);
    run->output = ends[0];
    if (run->pid < 0)
        close(ends[0]);
    return run->pid > 0;
}

/* Until it has closed its output; false when that lasts too long. */
static bool run_read(struct run *run, struct fetcher *fetcher,
                     const struct debuginfod_question *question)
{
    for (;;) {
        double spent = now() - run->begun;
        if (spent >= fetcher->left)
            return false;
        if (spent >= TICK_SECONDS)
            show_progress(fetcher, question, spent);
        struct pollfd wait = {.fd = run->output, .events = POLLIN};
        int ready = poll(&wait, 1, (int)(TICK_SECONDS * 1000));
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready <= 0)
            continue;
        ssize_t got = read(run->output, run->path + run->size, sizeof(run->path) - run->size);
        if (got <= 0)
            return !got;
        run->size += (size_t)got;
        if (run->size == sizeof(run->path))
            return false;
    }
}

static bool run_end(struct run *run, bool good)
{
    int status = 0;
    if (!good)
        kill(run->pid, SIGKILL);
    close(run->output);
    while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
        ;
    char *end = memchr(run->path, '\n', run->size);
    if (!good || !WIFEXITED(status) || WEXITSTATUS(status) || !end || run->path[0] != '/')
        return false;
    memset(end, 0, sizeof(run->path) - (size_t)(end - run->path));
    return true;
}

static void give_up(struct fetcher *fetcher)
{
    clear_line(fetcher);
    fetcher->gave_up = true;
    complain("--debuginfod: the time for it is over, no more files are fetched "
             "(--debuginfod-limit SECONDS gives more)");
}

static void fetch(struct fetcher *fetcher, const struct debuginfod_question *question,
                  struct debuginfod_answer *ret)
{
    struct run run;
    if (fetcher->gave_up || !is_good(question) || fetcher->asked == QUESTION_LIMIT)
        return;
    fetcher->asked++;
    if (!run_begin(&run, question))
        return;
    bool in_time = run_read(&run, fetcher, question);
    bool good = run_end(&run, in_time);
    double spent = now() - run.begun;
    fetcher->left -= spent;
    fetcher->spent += spent;
    fetcher->fetched += good;
    if (good)
        memcpy(ret->path, run.path, sizeof(ret->path));
    if (!in_time && fetcher->left <= 0)
        give_up(fetcher);
}

void fetcher_serve(int questions, int answers, unsigned seconds)
{
    static struct debuginfod_question question;
    static struct debuginfod_answer answer;
    struct fetcher fetcher = {.left = seconds, .on_terminal = isatty(STDERR_FILENO)};
    while (read_whole(questions, &question, sizeof(question))) {
        memset(&answer, 0, sizeof(answer));
        fetch(&fetcher, &question, &answer);
        if (!write_whole(answers, &answer, sizeof(answer)))
            break;
    }
    clear_line(&fetcher);
    if (fetcher.asked)
        complain("debuginfod: %zu of %zu files fetched in %.1f s", fetcher.fetched, fetcher.asked,
                 fetcher.spent);
}
