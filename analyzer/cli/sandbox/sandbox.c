#include "sandbox.h"
#include "broker.h"
#include "messages.h"
#include "rights.h"
#include "sandbox_private.h"
#include "call_filters.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors that are closed one by one, at least, where the kernel cannot close a range. */
#define CLOSED_LEAST 1024

/* What this process has given up; the program's own, for --explain. */
static struct {
    bool no_new, capabilities, foreign_calls;
    bool user, files, calls;
} dropped;

void sandbox_begin(void)
{
    if (dropped.no_new)
        return;
    dropped.no_new = rights_allow_no_new();
    dropped.capabilities = rights_keep_needed();
    dropped.foreign_calls = dropped.no_new && system_calls_forbid_foreign();
}

void sandbox_begin_tracing(void)
{
    sandbox_begin();
    if (dropped.capabilities)
        rights_keep_tracing();
    if (dropped.foreign_calls)
        (void)system_calls_forbid_changes();
}

bool sandbox_is_shut(void)
{
    return dropped.calls;
}

/* In the child. The order: each step takes away what the one before it needs. */
static void enter(int broker, int control, const struct sandbox_rules *rules)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    dropped.user = rights_give_up();
    dropped.files = rights_close_files();
    const struct parsing_calls calls = {.broker = broker,
                                        .heard = rules->heard,
                                        .asks_system = broker_has_process(rules),
                                        .terminal = rules->terminal};
    dropped.calls = control >= 0 ? system_calls_allow_keeping(broker, control)
                                 : system_calls_allow_parsing(&calls);
}

int sandbox_end_of(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    complain("what reads the files and the memory was ended by signal %d (%s)", number,
             strsignal(number));
    return EXIT_NOTHING;
}

int sandbox_run_child(const struct sandbox_rules *rules, int control, int (*work)(void *context),
                      void *context)
{
    int sockets[2], status = 0;
    pid_t parent = getpid();
    // Without a filter nobody would ask the broker for files.
    if (!dropped.foreign_calls || !broker_can_ask() ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
        return work(context);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        close(sockets[0]);
        close(sockets[1]);
        return work(context);
    }
    if (!child) {
        close(sockets[0]);
        broker_ask_for_traps(sockets[1]);
        enter(sockets[1], control, rules);
        if (getppid() != parent)
            _exit(EXIT_NOTHING);
        int code = work(context);
        fflush(NULL);
        _exit(code);
    }
    close(sockets[1]);
    if (rules->traced)
        sandbox_begin_tracing();
    broker_serve(sockets[0], child, rules);
    close(sockets[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    progress_end();
    if (rules->killed && WIFSIGNALED(status))
        rules->killed();
    return sandbox_end_of(status);
}

int sandbox_run(const struct sandbox_rules *rules, int (*work)(void *context), void *context)
{
    return dropped.calls ? work(context) : sandbox_run_child(rules, -1, work, context);
}

void sandbox_close_all(void)
{
    // The leak sanitizer traces the threads of its own process at the end, and opens /proc for
    // that.
#ifndef __SANITIZE_ADDRESS__
    dropped.no_new = rights_allow_no_new();
    dropped.user = rights_give_up();
    dropped.files = dropped.no_new && rights_close_files();
    dropped.calls =
        dropped.no_new && system_calls_allow_parsing(&(struct parsing_calls){.broker = -1});
#endif
}

/* The lowest of the list from one on; INT_MAX: there is none. */
static int lowest(const int *kept, size_t count, int from)
{
    int found = INT_MAX;
    for (size_t i = 0; i < count; i++)
        if (kept[i] >= from && kept[i] < found)
            found = kept[i];
    return found;
}

static void close_range_of(int from, int end)
{
#ifdef SYS_close_range // Linux 5.9
    if (!syscall(SYS_close_range, (unsigned int)from, (unsigned int)end - 1, 0u))
        return;
#endif
    const long most = sysconf(_SC_OPEN_MAX);
    for (int fd = from; fd < end && (fd < most || fd < CLOSED_LEAST); fd++)
        close(fd);
}

void sandbox_close_others(const int *kept, size_t count)
{
    for (int from = STDERR_FILENO + 1; from < INT_MAX;) {
        const int next = lowest(kept, count, from);
        if (next > from)
            close_range_of(from, next);
        from = next == INT_MAX ? next : next + 1;
    }
}

const char *sandbox_describe(void)
{
    static char text[256];
    const struct {
        bool is_dropped;
        const char *what;
    } parts[] = {
        {dropped.user, "no capabilities, nobody's user"},
        {dropped.no_new, "no new rights"},
        {dropped.calls, "files by the parent alone, no other system calls than parsing needs"},
        {dropped.files, "no files by landlock"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i].is_dropped)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? "; " : "",
                                     parts[i].what);
    return text;
}
