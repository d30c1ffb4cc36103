/*
 * Runs mutants of one kind: a worker makes, looks at and mends one after the other, and this
 * process watches it. What ends the worker (a signal, a sanitizer, a limit), what it complains of
 * and what it does not free is a failure, which is told with the command that repeats it; the next
 * worker goes on behind it.
 *
 * Exit 0: no failure; 1: failures; 2: could not work.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEAKS_EVERY  64 /* Mutants between two searches for what was not freed. */
#define FAILURES_MAX 20

static const char *const kind_names[KIND_COUNT] = {"memory", "core", "elf",      "debug",
                                                   "text",   "live", "debugger", "heap"};

static struct progress *progress;

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
        work(run, from, to, leaks_every, progress);
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
