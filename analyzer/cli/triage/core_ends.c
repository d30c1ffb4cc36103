/* What is told of cores that were looked at, and their reports: anything may be in them. */
#include "core_runs.h"

#include "core_child.h"
#include "messages.h"
#include "passed_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_LIMIT ((off_t)1 << 30) /* Bytes of one report. */
#define TOLD_AT_ONCE ((size_t)16384)  /* Cores of one message. */

bool core_runs_begin(const struct core_runs *runs, const bool *wanted, size_t count)
{
    for (size_t at = 0; at < count;) {
        const size_t size = count - at < TOLD_AT_ONCE ? count - at : TOLD_AT_ONCE;
        const ssize_t written = write(runs->socket, wanted + at, size);
        if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? (size_t)written : 0;
    }
    return true;
}

int core_runs_next(const struct core_runs *runs, struct core_end *ret)
{
    int file;
    ssize_t got = passed_files_receive(runs->socket, ret, sizeof(*ret), &file, 1);
    if (got == (ssize_t)sizeof(*ret))
        return file;
    if (got > 0 && file >= 0)
        close(file);
    return -1;
}

void core_runs_release(const struct core_runs *runs, const struct core_end *end)
{
    // Without anybody who takes it nothing more comes either.
    (void)!write(runs->socket, &end->run, sizeof(end->run));
}

/* What a child said, in one line without our name; or why it said nothing. */
static void describe_end(const struct triage_options *options, const struct core_end *end,
                         char *ret, size_t size)
{
    static const char name[] = "pystack-core: ";
    const int status = end->status;
    snprintf(ret, size, "%.*s", (int)(SAID_SIZE - 1), end->said);
    char *line = strncmp(ret, name, strlen(name)) ? ret : ret + strlen(name);
    line[strcspn(line, "\n")] = '\0';
    memmove(ret, line, strlen(line) + 1);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(ret, size, "no report within %u s (--time-limit)", options->seconds);
    else if (WIFSIGNALED(status))
        snprintf(ret, size, "the one who looked at it was ended by signal %d", WTERMSIG(status));
    else if (!*ret)
        snprintf(ret, size, "exit code %d without a word", WEXITSTATUS(status));
    size_t used = strlen(ret);
    if (strstr(ret, strerror(ENOMEM)) || strstr(ret, "out of memory"))
        snprintf(ret + used, size - used, " (within %llu MB, --memory-limit)",
                 (unsigned long long)options->megabytes);
}

/* malloc'd; NULL: there is none. A copy: who wrote it may do so still. */
static char *read_report(int file, size_t *ret_size)
{
    struct stat status;
    const bool good = !fstat(file, &status) && status.st_size > 0 && status.st_size <= OUTPUT_LIMIT;
    char *bytes = good ? malloc((size_t)status.st_size) : NULL;
    *ret_size = bytes ? (size_t)status.st_size : 0;
    for (size_t at = 0; at < *ret_size;) {
        const ssize_t got = pread(file, bytes + at, *ret_size - at, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            *ret_size = at;
        else
            at += (size_t)got;
    }
    return bytes;
}

bool core_end_take(const struct triage_options *options, const struct core_end *end, int file,
                   struct core_report *report)
{
    char said[SAID_SIZE + 100];
    size_t size = 0;
    const bool ended = WIFEXITED(end->status);
    const int code = ended ? WEXITSTATUS(end->status) : EXIT_NOTHING;
    char *bytes = ended && code <= EXIT_PARTIAL ? read_report(file, &size) : NULL;
    describe_end(options, end, said, sizeof(said));
    report->is_none = report->may_be_none && ended && code == EXIT_NO_CORE;
    report->code = size ? code : EXIT_NOTHING;
    const bool taken = core_report_take(report, bytes ? bytes : "", size, said);
    free(bytes);
    return taken;
}
