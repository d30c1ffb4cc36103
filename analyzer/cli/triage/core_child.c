#include "core_child.h"

#include "messages.h"
#include "options.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of one report behind which its lists are cut: as a tree it takes ten times as much memory. */
#define REPORT_SIZE_LIMIT ((uint64_t)32 * 1024 * 1024)

static void limit_child(const struct triage_options *options)
{
#ifndef __SANITIZE_ADDRESS__ // Whose shadow memory is terabytes of address space.
    const rlim_t bytes = (rlim_t)options->megabytes << 20;
    const struct rlimit memory = {bytes, bytes};
    setrlimit(RLIMIT_AS, &memory);
#else
    (void)options;
#endif
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); // A core of ours beside theirs would be the next to be read.
}

static void finish_options(const struct triage_options *options, struct options *report)
{
    report->print.one_line = 1;
    report->print.size_limit = REPORT_SIZE_LIMIT;
    // Later than this process, which has a better word for it.
    report->keeper_seconds = options->seconds < UINT32_MAX ? options->seconds + 1 : 0;
}

/* What the words `pystack-core OPTIONS --format json -- CORE` ask for. */
static bool parse_words(const struct triage_options *options, struct options *ret)
{
    size_t count = 0;
    char **words = calloc(options->forwarded_count + 6, sizeof(*words));
    static char program[] = "pystack-core", format[] = "--format", json[] = "json", end[] = "--",
                core[] = "-";
    if (!words) {
        complain("out of memory");
        return false;
    }
    words[count++] = program;
    for (size_t i = 0; i < options->forwarded_count; i++)
        words[count++] = options->forwarded[i];
    words[count++] = format;
    words[count++] = json;
    words[count++] = end;
    words[count++] = core;
    bool good = options_parse(ret, (int)count, words) == OPTIONS_RUN;
    if (good)
        finish_options(options, ret);
    else
        options_deinit(ret);
    free(words);
    return good;
}

static bool hear_number(const struct core_child *child, uint32_t *ret)
{
    ssize_t got;
    do
        got = recv(child->orders, ret, sizeof(*ret), 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(*ret);
}

static void show(const struct core_child *child, struct options *report, uint32_t number,
                 struct core_answer *ret)
{
    report->core = child->cores->items[number].path;
    report->is_no_core = false;
    report->was_kept = false;
    ret->code = child->options->report_one(report);
    if (ret->code == EXIT_NOTHING && report->is_no_core)
        ret->code = EXIT_NO_CORE;
    ret->more = report->was_kept;
}

void core_child_run(const struct core_child *child)
{
    const int kept[] = {child->orders, child->output, child->said, child->keeper};
    struct core_answer answer = {.more = 1};
    struct options report;
    uint32_t number;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != child->parent)
        _exit(EXIT_NOTHING);
    signal(SIGINT, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    if (dup2(child->output, STDOUT_FILENO) < 0 || dup2(child->said, STDERR_FILENO) < 0)
        _exit(EXIT_NOTHING);
    sandbox_close_others(kept, sizeof(kept) / sizeof(*kept));
    limit_child(child->options);
    if (!parse_words(child->options, &report))
        _exit(EXIT_NOTHING);
    report.keeper = child->keeper;
    while (answer.more && hear_number(child, &number)) {
        alarm(child->options->seconds);
        show(child, &report, number, &answer);
        alarm(0);
        fflush(stderr);
        if (send(child->orders, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
            break;
    }
    _exit(EXIT_COMPLETE);
}

bool core_child_start_keeper(const struct triage_options *options, struct sandbox_keeper *ret)
{
    struct options report;
    *ret = (struct sandbox_keeper){.control = -1};
    if (!parse_words(options, &report))
        return false;
    report.starts_keeper = ret;
    bool good = options->report_one(&report) == EXIT_COMPLETE;
    options_deinit(&report);
    return good;
}
