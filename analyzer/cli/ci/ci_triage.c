/* What is known of all deaths goes to triage, and its outputs to where they belong. */
#include "ci_private.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* GitHub's: annotations on a stream of the step, a page that grows. */
struct github {
    char *annotations, *summary; /* Files in between, malloc'd. */
    const char *page;            /* GITHUB_STEP_SUMMARY, or NULL. */
};

static void find_github(const struct ci_run *run, struct github *ret)
{
    const char *actions = getenv("GITHUB_ACTIONS");
    *ret = (struct github){0};
    if (run->options->no_github || !actions || strcmp(actions, "true") != 0)
        return;
    ret->page = getenv("GITHUB_STEP_SUMMARY");
    if (asprintf(&ret->annotations, "%s/annotations", run->folder) < 0)
        ret->annotations = NULL;
    if (ret->page && asprintf(&ret->summary, "%s/summary", run->folder) < 0)
        ret->summary = NULL;
}

/* ---- triage ---- */

/* "--output=FORMAT=FILE" */
static char *output_word(const char *format, const char *path)
{
    char *word;
    return path && asprintf(&word, "--output=%s=%s", format, path) >= 0 ? word : NULL;
}

/* The words live as long as what was made of them. */
static enum options_result parse(const struct ci_options *options, const struct github *github,
                                 char **words, struct triage_options *ret)
{
    static char name[] = "triage", any[] = ".";
    size_t count = 0;
    char *more[] = {output_word("github", github->annotations),
                    output_word("markdown", github->summary)};
    words[count++] = name;
    for (size_t i = 0; i < options->forwarded_count; i++)
        words[count++] = options->forwarded[i];
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        if (more[i])
            words[count++] = more[i];
    words[count++] = any;
    return triage_options_parse(ret, (int)count, words);
}

static char **make_words(const struct ci_options *options)
{
    return calloc(options->forwarded_count + 8, sizeof(char *));
}

enum options_result ci_triage_check(const struct ci_options *options)
{
    const struct github none = {0};
    struct triage_options triage;
    char **words = make_words(options);
    if (!words)
        return OPTIONS_NO_MEMORY;
    enum options_result result = parse(options, &none, words, &triage);
    triage_options_deinit(&triage);
    free(words);
    return result;
}

/* A JUnit file that is to be written: what the command itself wrote there stays. */
static const char *find_junit(const struct ci_run *run)
{
    static const char option[] = "--output=junit=";
    const size_t size = sizeof(option) - 1;
    struct stat status;
    for (size_t i = 0; i < run->options->forwarded_count; i++) {
        const char *word = run->options->forwarded[i];
        if (!strncmp(word, option, size) && !stat(word + size, &status) &&
            S_ISREG(status.st_mode) && left_cores_is_new(&run->cores, &status))
            return word + size;
    }
    return NULL;
}

/* In a child process, which its end frees. */
static int triage(const struct ci_run *run, const struct github *github)
{
    struct triage_options triage;
    char **words = make_words(run->options);
    if (!words || parse(run->options, github, words, &triage) != OPTIONS_RUN)
        return EXIT_NOTHING;
    triage.words = run->cores.paths;
    triage.word_count = run->cores.count;
    triage.exits = (const char *const *)run->exits.items;
    triage.exit_count = run->exits.count;
    triage.may_find_nothing = true;
    triage.junit_merge = find_junit(run);
    if (!run->cores.count && !run->exits.count)
        triage.outputs[0].path = "/dev/null"; // Nobody wants to know.
    triage.report_one = run->options->report_one;
    return triage_run(&triage);
}

/* Standard output is the command's alone. */
static int run_triage(const struct ci_run *run, const struct github *github)
{
    int status = 0;
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    if (!child) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        int code = triage(run, github);
        fflush(stdout);
        fflush(stderr);
        _exit(code);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOTHING;
}

/* ---- files ---- */

static void append_file(const char *path, int to)
{
    char bytes[65536];
    int from = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;
    while (from >= 0 && to >= 0 && (got = read(from, bytes, sizeof(bytes))) > 0)
        if (write(to, bytes, (size_t)got) != got)
            break;
    if (from >= 0)
        close(from);
    unlink(path);
}

static void hand_on(const struct github *github)
{
    if (github->annotations)
        append_file(github->annotations, STDERR_FILENO);
    if (github->summary) {
        int page = open(github->page, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (page < 0)
            complain("%s: %s", github->page, strerror(errno));
        append_file(github->summary, page);
        if (page >= 0)
            close(page);
    }
}

static bool writes_files(const struct ci_options *options)
{
    for (size_t i = 0; i < options->forwarded_count; i++)
        if (!strncmp(options->forwarded[i], "--output=", 9))
            return true;
    return false;
}

int ci_triage(struct ci_run *run)
{
    struct github github;
    bool died = run->cores.count || run->exits.count;
    if (!died && !writes_files(run->options))
        return EXIT_COMPLETE;
    find_github(run, &github);
    if (!died) {
        free(github.annotations);
        free(github.summary);
        github = (struct github){0};
    }
    int code = run_triage(run, &github);
    hand_on(&github);
    free(github.annotations);
    free(github.summary);
    return code;
}
