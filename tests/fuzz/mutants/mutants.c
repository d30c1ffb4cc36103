/*
 * Runs mutants of one kind: a worker makes, looks at and mends one after the other, and this
 * process watches it. What ends the worker (a signal, a sanitizer, a limit), what it complains of
 * and what it does not free is a failure, which is told with the command that repeats it; the next
 * worker goes on behind it.
 *
 * Exit 0: no failure; 1: failures; 2: could not work.
 */
#include "mutants.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
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

#define BATCH        16  /* Mutants of memory, one after the other, share a target that is open. */
#define SLIM_EVERY   100 /* Mutants of cores, of one of which a slim core is written. */
#define LEAKS_EVERY  64  /* Mutants between two searches for what was not freed. */
#define FAILURES_MAX 20

/* How a worker ends that did not come to its end; the program's own exit codes are 0, 1, 2, 64. */
enum worker_exit {
    WORKER_SANITIZER = 99,
    WORKER_SLOW = 98,
    WORKER_STANDS = 97,
    WORKER_MEMORY = 96,
    WORKER_LEAK = 95,
    WORKER_COMPLAINT = 94
};

static const char *const kind_names[KIND_COUNT] = {"memory", "core", "elf",      "debug",
                                                   "text",   "live", "debugger", "heap"};

struct run {
    enum kind kind;
    uint64_t seed, first, count;
    const char *list, *save, *schemas, *program;
    bool keep;
    struct subject *subjects;
    size_t subject_count;
    uint64_t failures;
};

/* What the worker tells the process that watches it. */
struct progress {
    uint64_t number; /* Of the mutant that is looked at. */
    uint64_t reports;
    uint64_t refused; /* Subjects that could not be opened any more. */
    struct complaint complaint;
};

static struct progress *progress;

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

/* ---- the worker ---- */

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

static struct subject *subject_of(const struct run *run, uint64_t number)
{
    return &run->subjects[number / BATCH % run->subject_count];
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
                 const struct look_options *options)
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

static void run_mutant(const struct run *run, uint64_t number, const struct look_options *options)
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
        look(run, subject, &choice, options);
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
static void search_leaks(const struct run *run, uint64_t number)
{
    if (run->kind != KIND_LIVE && __lsan_do_recoverable_leak_check &&
        __lsan_do_recoverable_leak_check())
        _exit(WORKER_LEAK);
    progress->number = number;
}

static _Noreturn void work(const struct run *run, uint64_t from, uint64_t to, uint64_t leaks_every)
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
        run_mutant(run, number, &options);
        if (peak_megabytes() > before + MEGABYTES)
            _exit(WORKER_MEMORY);
        if ((number + 1 - from) % leaks_every == 0)
            search_leaks(run, number + 1);
    }
    for (size_t i = 0; i < run->subject_count; i++)
        subject_close(&run->subjects[i]);
    search_leaks(run, to);
    progress->number = to;
#ifdef PSC_COVERAGE
    __gcov_dump(); // There is no exit() to do it.
#endif
    _exit(0);
}

/* ---- watching it ---- */

static void copy_file(const char *from, const char *to)
{
    char buffer[65536];
    size_t got;
    FILE *in = fopen(from, "re"), *out = in ? fopen(to, "we") : NULL;
    while (out && (got = fread(buffer, 1, sizeof(buffer), in)) > 0)
        if (fwrite(buffer, 1, got, out) != got)
            break;
    if (out)
        fclose(out);
    if (in)
        fclose(in);
}

/* The files of a subject as they are now: "SAVE/memory-1-200.core" and so on. */
static void save_mutant(const struct run *run, uint64_t number)
{
    const struct subject *subject = subject_of(run, number);
    for (size_t i = 0; run->save && i < subject->file_count; i++) {
        char path[4096];
        const char *name = strrchr(subject->files[i].path, '/');
        snprintf(path, sizeof(path), "%s/%s-%llu-%llu-%s", run->save, kind_names[run->kind],
                 (unsigned long long)run->seed, (unsigned long long)number,
                 name ? name + 1 : subject->files[i].path);
        copy_file(subject->files[i].path, path);
        printf("  saved: %s\n", path);
    }
}

static void describe_end(int status, char *buffer, size_t size)
{
    static const struct {
        enum worker_exit code;
        const char *what;
    } ends[] = {{WORKER_SANITIZER, "a sanitizer's report"},
                {WORKER_MEMORY, "more memory than a mutant may take"},
                {WORKER_LEAK, "memory that is not freed"},
                {WORKER_STANDS, "stands still"},
                {WORKER_SLOW, "more processor time than a mutant may take"}};
    snprintf(buffer, size, "exit %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    if (WIFSIGNALED(status))
        snprintf(buffer, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == WORKER_COMPLAINT)
        snprintf(buffer, size, "%s", progress->complaint.text);
    for (size_t i = 0; WIFEXITED(status) && i < sizeof(ends) / sizeof(*ends); i++)
        if (WEXITSTATUS(status) == (int)ends[i].code)
            snprintf(buffer, size, "%s", ends[i].what);
}

static void tell_failure(struct run *run, int status, const char *errors)
{
    char what[sizeof(progress->complaint.text)], line[400];
    uint64_t number = progress->number;
    const struct subject *subject = subject_of(run, number);
    uint64_t first = subject->memory ? number - number % BATCH : number;
    describe_end(status, what, sizeof(what));
    run->failures++;
    printf("FAILED %s mutant %llu of seed %llu, of %s: %s\n", kind_names[run->kind],
           (unsigned long long)number, (unsigned long long)run->seed, subject->name, what);
    printf("  again: %s --kind=%s --seed=%llu --first=%llu --count=%llu --schemas=%s %s\n",
           run->program, kind_names[run->kind], (unsigned long long)run->seed,
           (unsigned long long)first, (unsigned long long)number - first + 1, run->schemas,
           run->list);
    save_mutant(run, number);
    FILE *said = fopen(errors, "re");
    for (int lines = 0; said && lines < 120 && fgets(line, sizeof(line), said); lines++)
        printf("  | %s%s", line, strchr(line, '\n') ? "" : "\n");
    if (said)
        fclose(said);
    fflush(stdout);
}

static int watch(const struct run *run, uint64_t from, uint64_t to, uint64_t leaks_every,
                 const char *errors)
{
    int status;
    fflush(stdout);
    memset(&progress->complaint, 0, sizeof(progress->complaint));
    pid_t worker = fork();
    if (worker == 0) {
        int to_errors = open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (to_errors >= 0)
            dup2(to_errors, STDERR_FILENO);
        work(run, from, to, leaks_every);
    }
    while (worker > 0 && waitpid(worker, &status, 0) != worker)
        if (errno != EINTR)
            worker = -1;
    if (worker < 0) {
        perror("worker");
        exit(2);
    }
    return status;
}

static bool is_exit(int status, int code)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

/* Looks once more, mutant by mutant, at those since the last search: which one was it? */
static int find_leak(const struct run *run, uint64_t from, uint64_t end, const char *errors)
{
    char path[4096 + 8];
    uint64_t last = progress->number + 1 < end ? progress->number + 1 : end;
    uint64_t start = last > from + LEAKS_EVERY ? last - LEAKS_EVERY : from;
    subject_mend(subject_of(run, progress->number));
    snprintf(path, sizeof(path), "%s.alone", errors);
    int status = watch(run, start - start % BATCH, last, 1, path);
    if (is_exit(status, 0)) { // None alone; what was said of all of them stays.
        progress->number = last - 1;
        status = WORKER_LEAK << 8;
        unlink(path);
    } else if (rename(path, errors)) {
        perror(path);
    }
    return status;
}

static void pass_on_errors(const char *errors)
{
    char line[400];
    FILE *said = fopen(errors, "re");
    while (said && fgets(line, sizeof(line), said))
        fputs(line, stderr);
    if (said)
        fclose(said);
}

static void run_all(struct run *run)
{
    const uint64_t end = run->first + run->count;
    char errors[4096];
    const char *folder = getenv("TMPDIR");
    snprintf(errors, sizeof(errors), "%s/mutants-%d.err", folder ? folder : "/tmp", (int)getpid());
    for (uint64_t from = run->first; from < end && run->failures < FAILURES_MAX;) {
        int status = watch(run, from, end, LEAKS_EVERY, errors);
        if (is_exit(status, WORKER_LEAK))
            status = find_leak(run, from, end, errors);
        if (is_exit(status, 0))
            break;
        if (is_exit(status, 2)) {
            pass_on_errors(errors);
            exit(2);
        }
        tell_failure(run, status, errors);
        struct subject *subject = subject_of(run, progress->number);
        for (size_t i = 0; i < subject->file_count; i++)
            subject->files[i].rewritten = true; // The worker's patches are not known here.
        subject_mend(subject);
        from = progress->number + 1;
    }
    unlink(errors);
}

static struct run take_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"kind", required_argument, NULL, 'k'},    {"seed", required_argument, NULL, 's'},
        {"first", required_argument, NULL, 'f'},   {"count", required_argument, NULL, 'c'},
        {"save", required_argument, NULL, 'd'},    {"keep", no_argument, NULL, 'K'},
        {"schemas", required_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
    struct run run = {.kind = KIND_COUNT, .seed = 1, .count = 1000, .schemas = "schema"};
    int option;
    run.program = argv[0];
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'k':
            for (run.kind = KIND_MEMORY;
                 run.kind < KIND_COUNT && strcmp(kind_names[run.kind], optarg) != 0;)
                run.kind++;
            break;
        case 's':
            run.seed = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            run.first = strtoull(optarg, NULL, 10);
            break;
        case 'c':
            run.count = strtoull(optarg, NULL, 10);
            break;
        case 'd':
            run.save = optarg;
            break;
        case 'j':
            run.schemas = optarg;
            break;
        case 'K':
            run.keep = true;
            break;
        default:
            exit(2);
        }
    }
    run.list = optind < argc ? argv[optind] : NULL;
    if (!run.list || run.kind == KIND_COUNT) {
        fprintf(
            stderr,
            "usage: %s --kind=memory|core|elf|debug|text|live|debugger|heap [--seed=N] [--first=N] "
            "[--count=N] [--save=FOLDER] [--keep] [--schemas=FOLDER] LIST\n",
            argv[0]);
        exit(2);
    }
    return run;
}

int main(int argc, char **argv)
{
    static struct subject subjects[SUBJECTS_MAX];
    struct run run = take_options(argc, argv);
    struct timespec start, stop;
    progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 2;
    run.subjects = subjects;
    run.subject_count = subjects_load(run.list, run.kind, subjects, SUBJECTS_MAX);
    if (!run.subject_count) {
        fprintf(stderr, "%s: no subjects\n", run.list);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    run_all(&run);
    clock_gettime(CLOCK_MONOTONIC, &stop);
    printf("%s: %llu mutants of %zu subjects, seed %llu, %llu reports, %llu refused, %llu failed, "
           "%.1f s\n",
           kind_names[run.kind], (unsigned long long)(progress->number - run.first),
           run.subject_count, (unsigned long long)run.seed, (unsigned long long)progress->reports,
           (unsigned long long)progress->refused, (unsigned long long)run.failures,
           (double)(stop.tv_sec - start.tv_sec) + (double)(stop.tv_nsec - start.tv_nsec) / 1e9);
    return run.failures ? 1 : 0;
}
