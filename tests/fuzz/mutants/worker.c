/*
 * The worker: makes, looks at and mends one mutant after the other, within limits of its own.
 */
#include "run.h"

#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

/* What a mutant may cost: SECURITY.md. A sanitizer takes several times as much. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define PROCESSOR_SECONDS 30
#define MEGABYTES         1500
#else
#define PROCESSOR_SECONDS 5
#define MEGABYTES         500
#endif
#define WALL_SECONDS 300 /* The machine may be busy. */

#define SLIM_EVERY 100 /* Mutants of cores, of one of which a slim core is written. */

PSC_API const char *__asan_default_options(void);
PSC_API const char *__ubsan_default_options(void);
int __lsan_do_recoverable_leak_check(void) __attribute__((__weak__));
#ifdef PSC_COVERAGE
void __gcov_dump(void);
#endif

// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizers' names.
const char *__asan_default_options(void)
{
    return "exitcode=99:allocator_may_return_null=1:quarantine_size_mb=32:hard_rss_limit_mb=4000";
}

const char *__ubsan_default_options(void)
{
    return "exitcode=99:print_stacktrace=1";
}
// NOLINTEND(bugprone-reserved-identifier)

// NOLINTBEGIN(bugprone-signal-handler): it ends here, and what calls this will see it end.
/* Where it is: `addr2line -fie mutants OFFSET`. */
static void print_callers(void)
{
    void *callers[40];
    backtrace_symbols_fd(callers, backtrace(callers, 40), STDERR_FILENO);
}

static void end_slow(int number)
{
    print_callers();
    _exit(number == SIGPROF ? WORKER_SLOW : WORKER_STANDS);
}

#ifndef SANITIZED
/* A sanitizer says itself where it was. */
static void end_crashed(int number)
{
    print_callers();
    signal(number, SIG_DFL);
    raise(number);
}
#endif
// NOLINTEND(bugprone-signal-handler)

static void start_clocks(void)
{
    const struct itimerval processor = {{0, 0}, {PROCESSOR_SECONDS, 0}};
    const struct itimerval wall = {{0, 0}, {WALL_SECONDS, 0}};
    setitimer(ITIMER_PROF, &processor, NULL);
    setitimer(ITIMER_REAL, &wall, NULL);
}

static void limit_worker(void)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
#ifndef SANITIZED
    const struct rlimit space = {(rlim_t)8 << 30, (rlim_t)8 << 30}; // Of last resort.
    setrlimit(RLIMIT_AS, &space);
    signal(SIGSEGV, end_crashed);
    signal(SIGBUS, end_crashed);
    signal(SIGABRT, end_crashed);
    signal(SIGFPE, end_crashed);
#endif
    signal(SIGPROF, end_slow);
    signal(SIGALRM, end_slow);
}

/* Of now on (proc_pid_clear_refs(5)); what has been used before counts for nobody. */
static void forget_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    malloc_trim(0);
    if (file >= 0 && write(file, "5", 1) != 1)
        perror("/proc/self/clear_refs");
    if (file >= 0)
        close(file);
}

static long peak_megabytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_maxrss / 1024;
}

/* Of the debugger, which has the bytes itself, and of a process there is nothing to be copied. */
static enum opening opening_of(const struct run *run, uint64_t number)
{
    if (run->kind == KIND_LIVE || run->kind == KIND_DEBUGGER)
        return OPENING_MAPS;
    return number / BATCH % 8 == 3   ? OPENING_COPIES
           : number / BATCH % 8 == 6 ? OPENING_WINDOWS
                                     : OPENING_MAPS;
}

static void look(const struct run *run, struct subject *subject, struct choice *choice,
                 const struct look_options *options, struct progress *progress)
{
    struct complaint *complaint = &progress->complaint;
    if (run->kind == KIND_HEAP)
        look_at_heap(subject->target, choice, options, complaint, &progress->reports);
    else
        look_at(subject->target, choice, options, complaint, &progress->reports);
    if ((run->kind == KIND_MEMORY || run->kind == KIND_CORE) && choose_one_in(choice, SLIM_EVERY))
        write_slim_core(subject, choice, options, complaint, &progress->reports);
    if (run->kind == KIND_LIVE && choose_one_in(choice, 4))
        record_it(subject->pid, choice, complaint, &progress->reports);
}

static void run_mutant(const struct run *run, uint64_t number, const struct look_options *options,
                       struct progress *progress)
{
    struct subject *subject = subject_of(run, number);
    struct choice choice = choice_of(run->seed, number);
    struct psc_error err = {0};
    start_clocks();
    // What is opened undamaged is understood further; now and then it is damaged before.
    subject->opening = opening_of(run, number);
    bool is_mapped = subject->opening == OPENING_MAPS;
    if (subject->memory && is_mapped && number / BATCH % 4 && subject_open(subject, &err) != PSC_OK)
        progress->refused++;
    subject_damage(subject, run->kind, &choice);
    struct flicker *flicker = run->kind == KIND_LIVE && choose_one_in(&choice, 3)
                                  ? flicker_start(subject->memory, choose_bits(&choice))
                                  : NULL;
    err = (struct psc_error){0};
    enum psc_status status = subject_open(subject, &err);
    if (status == PSC_OK)
        look(run, subject, &choice, options, progress);
    else if (!err.message[0] || err.status != status)
        complain(&progress->complaint, "not opened: %s, \"%s\"", psc_status_name(status),
                 err.message);
    progress->refused += status != PSC_OK;
    flicker_stop(flicker);
    if (progress->complaint.text[0])
        _exit(WORKER_COMPLAINT);
    if (run->keep)
        return;
    if (!subject->memory || !is_mapped || number % BATCH == BATCH - 1)
        subject_close(subject);
    subject_mend(subject);
}

/* Of a process that is read late, what a reader may still write to is left behind on purpose. */
static void search_leaks(const struct run *run, uint64_t number, struct progress *progress)
{
    if (run->kind != KIND_LIVE && __lsan_do_recoverable_leak_check &&
        __lsan_do_recoverable_leak_check())
        _exit(WORKER_LEAK);
    progress->number = number;
}

_Noreturn void work(const struct run *run, uint64_t from, uint64_t to, uint64_t leaks_every,
                    struct progress *progress)
{
    char path[4096];
    static const char *const names[] = {"", "-files", "-values", "-summary", "-heap"};
    struct schema *schemas[5];
    limit_worker();
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof(path), "%s/pystack-core%s-1.schema.json", run->schemas, names[i]);
        schemas[i] = schema_load(path);
    }
    const struct look_options options = {
        run->kind == KIND_LIVE, schemas[0], schemas[1], schemas[2], schemas[3], schemas[4]};
    long before = 0;
    for (uint64_t number = from; number < to; number++) {
        progress->number = number;
        subject_prepare(subject_of(run, number), run->kind);
        if (number == from || number % BATCH == 0) {
            forget_peak();
            before = peak_megabytes();
        }
        run_mutant(run, number, &options, progress);
        if (peak_megabytes() > before + MEGABYTES)
            _exit(WORKER_MEMORY);
        if ((number + 1 - from) % leaks_every == 0)
            search_leaks(run, number + 1, progress);
    }
    for (size_t i = 0; i < run->subject_count; i++)
        subject_close(&run->subjects[i]);
    search_leaks(run, to, progress);
    progress->number = to;
#ifdef PSC_COVERAGE
    __gcov_dump(); // There is no exit() to do it.
#endif
    _exit(0);
}
