/* Cores that stay are made small, each by a child of its own. */
#include "ci_private.h"

#include "messages.h"
#include "sandbox.h"
#include "slim_cores.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the options for triage those on files, and masking. */
static bool is_for_slim(const char *word, bool *ret_redacts)
{
    static const char *const names[] = {
        "--sysroot=", "--lib-dir=", "--debug-dir=", "--source-map=", "--source-dir="};
    *ret_redacts |= !strcmp(word, "--redact");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(word, names[i], strlen(names[i])))
            return true;
    return false;
}

static int slim_in_place(const char *path, const struct ci_options *options)
{
    char *small;
    struct slim_job job = {.core = path,
                           .words = calloc(options->forwarded_count + 1, sizeof(*job.words))};
    if (!job.words || asprintf(&small, "%s.small", path) < 0)
        return EXIT_NOTHING;
    for (size_t i = 0; i < options->forwarded_count; i++)
        if (is_for_slim(options->forwarded[i], &job.redacts))
            job.words[job.word_count++] = options->forwarded[i];
    job.small = small;
    sandbox_begin();
    int code = slim_core_make(&job);
    if (code <= EXIT_PARTIAL && rename(small, path)) {
        complain("%s: %s", path, strerror(errno));
        code = EXIT_NOTHING;
    }
    return code;
}

void left_cores_slim(const struct left_cores *cores, const struct ci_options *options)
{
    for (size_t i = 0; i < cores->count; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (!child) {
            int code = slim_in_place(cores->paths[i], options);
            fflush(NULL);
            _exit(code);
        }
        int status = 0;
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > EXIT_PARTIAL)
            complain("%s: stays as large as it is", cores->paths[i]);
    }
}
