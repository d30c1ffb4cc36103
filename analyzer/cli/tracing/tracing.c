/* The two halves of a recording: orders and copies are in memory that both have. */
#include "tracing.h"
#include "base.h"
#include "input.h"
#include "live.h"
#include "messages.h"
#include "sandbox.h"
#include "target.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is asked of the one who traces; of orders, in further bytes, the first one and how many. */
enum tracing_wish { WISH_ORDERS = 1, WISH_END };
#define WISH_FIRST_SHIFT 8
#define WISH_COUNT_SHIFT 16

/* Both have it; the parser may write whatever it likes to any of it. */
struct shared {
    atomic_int interrupts;
    atomic_int ended; /* The command. */
    struct live_exchange exchanges[LIVE_EXCHANGES];
};

/* Who traces: of each process that was asked for. */
struct tracer {
    struct sandbox_traced traced;
    struct hash_table processes; /* struct traced_process */
    struct shared *shared;
};

struct traced_process {
    uint64_t pid; /* The key. */
    struct live_tracing *tracing;
};

/* For signal handlers. */
static struct shared *watched;
static pid_t watched_command;

/* ---- signals ---- */

static void take_signal(int number)
{
    (void)number;
    atomic_fetch_add(&watched->interrupts, 1);
}

/* Its stops are left to who waits for them. */
static void take_end(int number)
{
    const int error = errno;
    siginfo_t info = {0};
    (void)number;
    if (!waitid(P_PID, (id_t)watched_command, &info, WEXITED | WNOHANG | WNOWAIT) &&
        info.si_pid == watched_command &&
        (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED))
        atomic_store(&watched->ended, 1);
    errno = error;
}

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

bool tracing_watch(void)
{
    // Without SA_RESTART: who sleeps until the next sample wakes up.
    const struct sigaction action = {.sa_handler = take_signal};
    void *shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        complain("out of memory");
        return false;
    }
    watched = shared;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(ending_signals); i++)
        sigaction(ending_signals[i], &action, NULL);
    return true;
}

static void watch_command(const struct tracing_task *task)
{
    const struct sigaction end = {.sa_handler = take_end, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
    watched_command = task->command ? task->command->pid : 0;
    if (!watched_command)
        return;
    sigaction(SIGCHLD, &end, NULL);
    // It may be over already.
    take_end(SIGCHLD);
}

int tracing_interrupts(void)
{
    return atomic_load(&watched->interrupts);
}

bool tracing_command_ended(void)
{
    return watched_command && atomic_load(&watched->ended);
}

/* ---- who traces ---- */

static struct live_tracing *find_tracing(struct tracer *tracer, const struct sandbox_owner *owner)
{
    const uint64_t pid = (uint64_t)owner->pid;
    struct traced_process *process = hash_table_find(&tracer->processes, pid);
    if (!process)
        process = hash_table_add(&tracer->processes, pid);
    if (process && !process->tracing)
        process->tracing = live_tracing_create(owner->pid, owner->folder);
    return process ? process->tracing : NULL;
}

static void end_tracing(struct traced_process *process)
{
    if (process)
        live_tracing_destroy(process->tracing);
    if (process)
        process->tracing = NULL;
}

static int serve(void *context, const struct sandbox_owner *owner, uint32_t what)
{
    struct tracer *tracer = context;
    struct shared *shared = tracer->shared;
    if (what == WISH_END) {
        end_tracing(hash_table_find(&tracer->processes, (uint64_t)owner->pid));
        return 0;
    }
    const uint32_t first = what >> WISH_FIRST_SHIFT & 0xff, count = what >> WISH_COUNT_SHIFT;
    if ((what & 0xff) != WISH_ORDERS || count > LIVE_TOGETHER || first + count > LIVE_EXCHANGES)
        return EINVAL;
    struct live_tracing *tracing = find_tracing(tracer, owner);
    if (!tracing)
        return ENOMEM;
    struct live_errand errands[LIVE_TOGETHER];
    for (uint32_t i = 0; i < count; i++) {
        struct live_exchange *exchange = &shared->exchanges[first + i];
        errands[i] = (struct live_errand){&exchange->order, exchange->bytes, &exchange->delivery};
    }
    live_tracing_do(tracing, errands, count);
    live_tracing_rest(tracing);
    return 0;
}

static void end_tracer(struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->processes.count; i++)
        end_tracing(hash_table_at(&tracer->processes, i));
    hash_table_deinit(&tracer->processes);
    sandbox_trace_end(&tracer->traced);
}

/* ---- the parser ---- */

static bool give(void *context, int32_t pid, uint32_t first, uint32_t count)
{
    (void)context;
    return sandbox_order(pid, WISH_ORDERS | first << WISH_FIRST_SHIFT | count << WISH_COUNT_SHIFT);
}

static void end(void *context, int32_t pid)
{
    (void)context;
    (void)sandbox_order(pid, WISH_END);
}

/* What the parser begins with. */
struct begun {
    const struct tracing_task *task;
    const struct live_agent *agent;
    pid_t tracer;
};

static int begin(void *context)
{
    // The process has them mapped, too: they are as good as copies, and cost nothing.
    static const struct target_options options = {.maps_modules = true};
    const struct begun *begun = context;
    const struct tracing_task *task = begun->task;
    task->record->open = &options;
    shrunk_files_fill();
    if (getpid() == begun->tracer) {
        // There is no other one.
        sandbox_begin_tracing();
        return task->work(task->context);
    }
    // They are for the one who traces, and told by him; a terminal sends them to both.
    for (size_t i = 0; i < PSC_ARRAY_SIZE(ending_signals); i++)
        signal(ending_signals[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    task->record->agent = begun->agent;
    task->record->helper = begun->tracer;
    return task->work(task->context);
}

/* ---- both ---- */

/*
 * A thread stands until this program runs, and each thread and process takes a descriptor or two.
 * The parser has the same (fork(2)).
 */
static void be_quick(void)
{
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
    (void)setpriority(PRIO_PROCESS, 0, -10);
}

static int run(const struct tracing_task *task, struct tracer *tracer)
{
    struct shared *shared = tracer->shared;
    const struct live_agent agent = {.exchanges = shared->exchanges, .give = give, .end = end};
    const struct sandbox_rules rules = {
        .traced = &tracer->traced, .terminal = task->terminal, .killed = task->killed};
    struct begun begun = {task, &agent, getpid()};
    sandbox_begin();
    be_quick();
    return sandbox_run(&rules, begin, &begun);
}

int tracing_run(const struct tracing_task *task)
{
    static struct tracer tracer;
    tracer.shared = watched;
    tracer.processes = HASH_TABLE_OF(struct traced_process);
    tracer.traced.children = task->record->children;
    tracer.traced.serve = serve;
    tracer.traced.context = &tracer;
    watch_command(task);
    // One that is not there is told of by who looks for it.
    sandbox_trace(&tracer.traced, task->record->pid);
    const int code = run(task, &tracer);
    end_tracer(&tracer);
    return code;
}
