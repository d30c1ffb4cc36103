/* The end that asks. */
#include "debuginfod_private.h"

#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct debuginfod {
    pid_t child;
    int questions, answers;
    struct debuginfod_answer answer;
};

bool debuginfod_is_configured(void)
{
    static const char *const words[] = {"1", "on", "yes", "true"};
    const char *value = getenv("PYSTACK_CORE_DEBUGINFOD");
    for (size_t i = 0; value && i < sizeof(words) / sizeof(*words); i++)
        if (!strcasecmp(value, words[i]))
            return true;
    return false;
}

static bool is_in_path(const char *name)
{
    char path[PATH_MAX];
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
        size_t size = strcspn(at, ":");
        int length = snprintf(path, sizeof(path), "%.*s/%s", (int)size, at, name);
        if (size && length > 0 && (size_t)length < sizeof(path) && !access(path, X_OK))
            return true;
        at += size + (at[size] == ':');
    }
    return false;
}

static bool is_possible(const struct debuginfod_request *request)
{
    const char *known = getenv("DEBUGINFOD_URLS");
    if (!is_in_path("debuginfod-find")) {
        complain("--debuginfod: debuginfod-find is not installed, without which nothing is fetched "
                 "(Debian: apt-get install debuginfod; Fedora: elfutils-debuginfod-client)");
        return false;
    }
    if (request->urls ? setenv("DEBUGINFOD_URLS", request->urls, 1) != 0 : !known || !*known) {
        complain("--debuginfod: no server is named, so nothing is fetched: --debuginfod=URL or "
                 "DEBUGINFOD_URLS does (Debian's is https://debuginfod.debian.net)");
        return false;
    }
    return true;
}

static void close_pipe(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static bool fork_child(struct debuginfod *debuginfod, const int questions[2], const int answers[2],
                       unsigned seconds)
{
    pid_t parent = getpid();
    fflush(NULL);
    debuginfod->child = fork();
    if (debuginfod->child)
        return debuginfod->child > 0;
    close(questions[1]);
    close(answers[0]);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent)
        fetcher_serve(questions[0], answers[1], seconds);
    _exit(EXIT_COMPLETE);
}

struct debuginfod *debuginfod_begin(const struct debuginfod_request *request)
{
    int questions[2], answers[2];
    if (!is_possible(request))
        return NULL;
    struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));
    if (!debuginfod || pipe2(questions, O_CLOEXEC)) {
        complain("--debuginfod: out of memory or descriptors");
        free(debuginfod);
        return NULL;
    }
    if (pipe2(answers, O_CLOEXEC)) {
        complain("--debuginfod: %s", strerror(errno));
        close_pipe(questions);
        free(debuginfod);
        return NULL;
    }
    if (!fork_child(debuginfod, questions, answers,
                    request->seconds ? request->seconds : DEBUGINFOD_SECONDS)) {
        complain("--debuginfod: %s", strerror(errno));
        close_pipe(questions);
        close_pipe(answers);
        free(debuginfod);
        return NULL;
    }
    close(questions[0]);
    close(answers[1]);
    debuginfod->questions = questions[1];
    debuginfod->answers = answers[0];
    return debuginfod;
}

const char *debuginfod_fetch(void *context, enum psc_fetched what, const char *build_id,
                             const char *path)
{
    struct debuginfod *debuginfod = context;
    struct debuginfod_question question = {.what = what};
    struct debuginfod_answer *answer = &debuginfod->answer;
    size_t id_size = strlen(build_id) + 1, path_size = path ? strlen(path) + 1 : 0;
    if (id_size > sizeof(question.build_id) || path_size > sizeof(question.path))
        return NULL;
    memcpy(question.build_id, build_id, id_size);
    memcpy(question.path, path ? path : "", path_size);
    if (!write_whole(debuginfod->questions, &question, sizeof(question)) ||
        !read_whole(debuginfod->answers, answer, sizeof(*answer)))
        return NULL;
    answer->path[sizeof(answer->path) - 1] = '\0';
    return answer->path[0] == '/' ? answer->path : NULL;
}

void debuginfod_end(struct debuginfod *debuginfod)
{
    if (!debuginfod)
        return;
    close(debuginfod->questions);
    close(debuginfod->answers);
    while (waitpid(debuginfod->child, NULL, 0) < 0 && errno == EINTR)
        ;
    free(debuginfod);
}
