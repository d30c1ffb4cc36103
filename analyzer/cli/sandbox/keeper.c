/* A process without rights that keeps what it has learned, and makes a parser for each task. */
#include "broker.h"
#include "call_filters.h"
#include "messages.h"
#include "passed_files.h"
#include "sandbox_private.h"
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Parsers at once. */
#define RUN_LIMIT 1024

/* A keeper that is to end may take so long. */
#define END_MILLISECONDS 2000

/* What comes with a task. */
enum task_file { TASK_BROKER, TASK_STATUS, TASK_FILE, TASK_OUTPUT, TASK_ERROR, TASK_FILES };

struct task_head {
    uint64_t memory;  /* RLIMIT_AS of the asker. */
    uint64_t seconds; /* That the parser may take; 0: any. */
};

struct task_message {
    struct task_head head;
    char text[SANDBOX_TASK_LIMIT];
};

/* A parser at work. */
struct kept_run {
    pid_t pid;
    int alive; /* The parser holds the other end while it lives. */
    int status;
    int lessons;
};

struct keeper {
    const struct sandbox_keeping *keeping;
    int control;
    int size_file; /* /proc/self/statm */
    struct kept_run runs[RUN_LIMIT];
    size_t count;
};

static void close_run(const struct kept_run *run)
{
    close(run->alive);
    close(run->status);
    close(run->lessons);
}

/* ---- a parser ---- */

/* The keeper's address space, which a parser has from the beginning. */
static uint64_t own_size(const struct keeper *keeper)
{
    char text[64];
    ssize_t got = pread(keeper->size_file, text, sizeof(text) - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void limit_memory(uint64_t limit, uint64_t before)
{
    struct rlimit memory;
    if (limit == RLIM_INFINITY || getrlimit(RLIMIT_AS, &memory))
        return;
    const rlim_t wanted = limit < RLIM_INFINITY - before ? limit + before : RLIM_INFINITY;
    memory.rlim_cur = wanted < memory.rlim_max ? wanted : memory.rlim_max;
    setrlimit(RLIMIT_AS, &memory);
}

/* Its questions go to the asker, where those of the keeper go to another one. */
static void be_parser(struct keeper *keeper, struct task_message *message, size_t size,
                      const int files[TASK_FILES], int lessons, pid_t parent)
{
    const struct sandbox_task task = {
        .text = message->text, .size = size, .file = files[TASK_FILE], .lessons = lessons};
    const int broker = broker_asked_socket();
    for (size_t i = 0; i < keeper->count; i++)
        close_run(&keeper->runs[i]);
    const uint64_t before = own_size(keeper);
    close(keeper->size_file);
    close(keeper->control);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
        dup3(files[TASK_BROKER], broker, O_CLOEXEC) < 0 ||
        dup2(files[TASK_OUTPUT], STDOUT_FILENO) < 0 || dup2(files[TASK_ERROR], STDERR_FILENO) < 0)
        _exit(EXIT_NOTHING);
    signal(SIGALRM, SIG_DFL);
    alarm((unsigned int)message->head.seconds);
    close(files[TASK_BROKER]);
    close(files[TASK_STATUS]);
    close(files[TASK_OUTPUT]);
    close(files[TASK_ERROR]);
    limit_memory(message->head.memory, before);
    if (!system_calls_allow_parsing(&(struct parsing_calls){.broker = broker}))
        _exit(EXIT_NOTHING);
    int code = keeper->keeping->work(keeper->keeping->context, &task);
    fflush(NULL);
    _exit(code);
}

/* ---- the keeper ---- */

/* false: nobody can ask any more. */
static bool receive(const struct keeper *keeper, struct task_message *ret, size_t *ret_size,
                    int ret_files[TASK_FILES])
{
    ssize_t got = passed_files_receive(keeper->control, ret, sizeof(*ret), ret_files, TASK_FILES);
    if (got < (ssize_t)sizeof(ret->head) || ret_files[0] < 0) {
        for (size_t i = 0; got > 0 && i < TASK_FILES; i++)
            if (ret_files[i] >= 0)
                close(ret_files[i]);
        return false;
    }
    *ret_size = (size_t)got - sizeof(ret->head);
    return true;
}

static bool tell(int fd, int number)
{
    return write(fd, &number, sizeof(number)) == (ssize_t)sizeof(number);
}

static void start(struct keeper *keeper, struct task_message *message, size_t size,
                  const int files[TASK_FILES])
{
    int ends[2] = {-1, -1};
    const pid_t parent = getpid();
    const int lessons = new_file_open_unnamed("lessons");
    if (lessons < 0 || keeper->count == RUN_LIMIT || pipe2(ends, O_CLOEXEC)) {
        close(lessons);
        close(files[TASK_STATUS]);
        return;
    }
    const pid_t pid = fork();
    if (!pid) {
        close(ends[0]);
        be_parser(keeper, message, size, files, lessons, parent);
    }
    close(ends[1]);
    struct kept_run run = {pid, ends[0], files[TASK_STATUS], lessons};
    if (pid > 0) {
        // Without anybody who waits for it it has nobody to ask for files either, and ends.
        (void)!tell(run.status, pid);
        keeper->runs[keeper->count++] = run;
    } else {
        close_run(&run);
    }
}

static bool start_next(struct keeper *keeper)
{
    static struct task_message message;
    int files[TASK_FILES];
    size_t size;
    if (!receive(keeper, &message, &size, files))
        return false;
    start(keeper, &message, size, files);
    for (size_t i = 0; i < TASK_FILES; i++)
        if (i != TASK_STATUS)
            close(files[i]);
    return true;
}

static void learn(const struct keeper *keeper, const struct kept_run *run)
{
    const off_t size = lseek(run->lessons, 0, SEEK_END);
    if (size <= 0 || size > (off_t)SANDBOX_LESSON_LIMIT)
        return;
    // Copied: whoever has the file could change it meanwhile.
    char *bytes = malloc((size_t)size);
    if (bytes && pread(run->lessons, bytes, (size_t)size, 0) == size)
        keeper->keeping->learn(keeper->keeping->context, bytes, (size_t)size);
    free(bytes);
}

static void finish(struct keeper *keeper, size_t index)
{
    const struct kept_run run = keeper->runs[index];
    int status = EXIT_NOTHING << 8;
    keeper->runs[index] = keeper->runs[--keeper->count];
    while (waitpid(run.pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (tell(run.status, status) && WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_PARTIAL)
        learn(keeper, &run);
    close_run(&run);
}

/* False: there is nobody left who asks. */
static bool serve(struct keeper *keeper)
{
    static struct pollfd ends[RUN_LIMIT + 1];
    const size_t count = keeper->count;
    for (size_t i = 0; i < count; i++)
        ends[i] = (struct pollfd){.fd = keeper->runs[i].alive, .events = POLLIN};
    ends[count] = (struct pollfd){.fd = keeper->control, .events = POLLIN};
    if (poll(ends, count + 1, -1) < 0)
        return errno == EINTR;
    for (size_t i = count; i-- > 0;)
        if (ends[i].revents)
            finish(keeper, i);
    return !ends[count].revents || start_next(keeper);
}

static int keep(void *context)
{
    struct keeper *keeper = context;
    // It must not do this with rights.
    if (!sandbox_is_shut())
        return EXIT_NOTHING;
    keeper->size_file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (!keeper->keeping->begin(keeper->keeping->context))
        return EXIT_NOTHING;
    while (serve(keeper))
        ;
    return EXIT_COMPLETE;
}

bool sandbox_keeper_start(const struct sandbox_rules *rules, const struct sandbox_keeping *keeping,
                          struct sandbox_keeper *ret)
{
    static struct keeper keeper;
    int sockets[2];
    const pid_t parent = getpid();
    *ret = (struct sandbox_keeper){.control = -1};
    if (!broker_can_ask() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
        return false;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        close(sockets[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(EXIT_NOTHING);
        sandbox_close_others(&sockets[1], 1);
        keeper = (struct keeper){.keeping = keeping, .control = sockets[1], .size_file = -1};
        sandbox_begin();
        _exit(sandbox_run_child(rules, keeper.control, keep, &keeper));
    }
    close(sockets[1]);
    if (child < 0) {
        close(sockets[0]);
        return false;
    }
    *ret = (struct sandbox_keeper){child, sockets[0]};
    return true;
}

void sandbox_keeper_end(struct sandbox_keeper *keeper)
{
    struct pollfd end = {.fd = keeper->control};
    if (keeper->control >= 0) {
        // It ends by itself, and both ends of its socket are closed then, unless it hangs.
        shutdown(keeper->control, SHUT_WR);
        poll(&end, 1, END_MILLISECONDS);
        close(keeper->control);
    }
    if (keeper->pid > 0) {
        // Who may signal nobody leaves it to PR_SET_PDEATHSIG.
        if (end.revents || !kill(keeper->pid, SIGKILL))
            while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
                ;
    }
    *keeper = (struct sandbox_keeper){.control = -1};
}

/* ---- the one who asks ---- */

static bool ask(int control, const struct sandbox_task *task, const int files[TASK_FILES])
{
    struct rlimit memory = {RLIM_INFINITY, RLIM_INFINITY};
    (void)getrlimit(RLIMIT_AS, &memory);
    const struct task_head head = {.memory = memory.rlim_cur, .seconds = task->seconds};
    const struct iovec parts[] = {{(void *)(uintptr_t)&head, sizeof(head)},
                                  {(void *)(uintptr_t)task->text, task->size}};
    return passed_files_send(control, parts, 2, files, TASK_FILES);
}

static bool hear(int fd, int *ret)
{
    ssize_t got;
    do
        got = read(fd, ret, sizeof(*ret));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(*ret);
}

bool sandbox_run_kept(int control, const struct sandbox_rules *rules,
                      const struct sandbox_task *task, int *ret_code)
{
    int sockets[2], ends[2], pid, status;
    if (task->size > SANDBOX_TASK_LIMIT ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
        return false;
    if (pipe2(ends, O_CLOEXEC)) {
        close(sockets[0]);
        close(sockets[1]);
        return false;
    }
    const int files[TASK_FILES] = {[TASK_BROKER] = sockets[1],
                                   [TASK_STATUS] = ends[1],
                                   [TASK_FILE] = task->file,
                                   [TASK_OUTPUT] = STDOUT_FILENO,
                                   [TASK_ERROR] = STDERR_FILENO};
    bool good = ask(control, task, files);
    close(sockets[1]);
    close(ends[1]);
    good = good && hear(ends[0], &pid);
    if (good)
        broker_serve(sockets[0], pid, rules);
    good = good && hear(ends[0], &status);
    close(sockets[0]);
    close(ends[0]);
    if (good)
        *ret_code = sandbox_end_of(status);
    return good;
}
