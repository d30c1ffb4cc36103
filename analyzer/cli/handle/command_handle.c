/* `pystack-core handle`: from the pipe to the store. */
#include "handle_private.h"

#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_SECONDS 2.

/* ---- one crash ---- */

/* A file of /proc/PID, or what a link there leads to; "" when it is not there. */
static void read_fact(int32_t pid, const char *name, char *ret, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    ssize_t got = readlink(path, ret, size - 1);
    int fd = got < 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        got = read(fd, ret, size - 1);
        close(fd);
    }
    ret[got > 0 ? got : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

static void fill_record(const struct handle_request *request, struct crash_record *record)
{
    *record = (struct crash_record){
        .time = request->time ? request->time : (int64_t)time(NULL),
        .pid = request->pid,
        .user = request->user,
        .group = request->group,
        .signal = request->signal,
    };
    read_fact(request->pid, "comm", record->command, sizeof(record->command));
    read_fact(request->pid, "exe", record->executable, sizeof(record->executable));
}

/* It is there before anything of it is read: whatever happens then, so much is known. */
static bool write_head(int folder, const struct stream_head *head)
{
    int fd = crash_file_make(folder, CRASH_HEAD);
    bool good = fd >= 0 && write(fd, head->bytes, head->size) == (ssize_t)head->size;
    if (!good)
        complain(CRASH_HEAD ": %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

static void close_file(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* Files in which nothing is. */
static void remove_empty(int folder)
{
    static const char *const names[] = {CRASH_TEXT, CRASH_JSON, CRASH_CORE, CRASH_LOG};
    struct stat status;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!fstatat(folder, names[i], &status, AT_SYMLINK_NOFOLLOW) && !status.st_size)
            (void)unlinkat(folder, names[i], 0);
}

/* How long the process is held. */
struct holding {
    const struct handle_request *request;
    double since;
    double until; /* 0: it is held. */
};

/* All of it is passed on later, or nobody needs it. */
static void let_go(void *context)
{
    struct holding *holding = context;
    if (!holding->until)
        holding->until = handle_now();
    if (!holding->request->then)
        handle_drop_input();
}

static const char *make_report(struct holding *holding, const struct crash_store *store,
                               const struct stream_head *head, int folder,
                               struct crash_record *record)
{
    const struct handle_request *request = holding->request;
    char name[4096];
    struct held_result *result =
        mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (result == MAP_FAILED)
        return "out of memory";
    snprintf(name, sizeof(name), "%s/%s/" CRASH_CORE, store->path, record->id);
    const struct held_job job = {
        .request = request,
        .head = head->file,
        .text = crash_file_make(folder, CRASH_TEXT),
        .json = crash_file_make(folder, CRASH_JSON),
        .core = crash_file_make(folder, CRASH_CORE),
        .log = crash_file_make(folder, CRASH_LOG),
        .name = name,
        .result = result,
        .let_go = let_go,
        .context = holding,
    };
    const char *problem = "its files cannot be made";
    if (job.head >= 0 && job.text >= 0 && job.json >= 0 && job.core >= 0)
        problem = held_report_make(&job, holding->since + request->seconds);
    result->title[sizeof(result->title) - 1] = '\0';
    result->signature[sizeof(result->signature) - 1] = '\0';
    memcpy(record->title, result->title, sizeof(record->title));
    memcpy(record->signature, result->signature, sizeof(record->signature));
    if (!result->has_core)
        (void)unlinkat(folder, CRASH_CORE, 0);
    else if (!problem)
        (void)unlinkat(folder, CRASH_HEAD, 0);
    const int files[] = {job.text, job.json, job.core, job.log};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        close_file(files[i]);
    munmap(result, sizeof(*result));
    return problem;
}

static int keep_crash(const struct handle_request *request, const struct stream_head *head,
                      const char *problem, double since)
{
    struct crash_store store;
    struct crash_record record;
    struct holding holding = {.request = request, .since = since};
    int code = EXIT_NOTHING;
    if (!crash_store_open(&store, request->store, true))
        return code;
    fill_record(request, &record);
    int folder = crash_store_begin(&store, &record);
    if (folder >= 0 && write_head(folder, head)) {
        if (!problem)
            problem = make_report(&holding, &store, head, folder, &record);
        let_go(&holding);
        snprintf(record.problem, sizeof(record.problem), "%s", problem ? problem : "");
        if (problem)
            complain("process %d: %s", request->pid, problem);
        record.held_ms = (holding.until - since) * 1e3;
        remove_empty(folder);
        if (crash_store_end(&store, folder, &record))
            code = problem ? EXIT_PARTIAL : EXIT_COMPLETE;
    }
    close_file(folder);
    if (crash_store_lock(&store, LOCK_SECONDS))
        (void)crash_store_prune(&store, &request->limits);
    crash_store_close(&store);
    return code;
}

static int handle_crash(const struct handle_request *request)
{
    // A crash of this program is not handled: fs/coredump.c, do_coredump(), RLIMIT_CORE of 1.
    const struct rlimit none = {1, 1};
    const double since = handle_now();
    struct stream_head head = {.file = -1};
    (void)setrlimit(RLIMIT_CORE, &none);
    umask(S_IRWXG | S_IRWXO);
    const char *problem = stream_head_read(&head, STDIN_FILENO, request, since + request->seconds);
    int code = EXIT_NOTHING;
    if (!problem || head.size)
        code = keep_crash(request, &head, problem, since);
    else
        complain("standard input is to be a core: %s", problem);
    if (request->then) {
        int passed = stream_pass_on(&head, STDIN_FILENO, request->then);
        code = passed ? passed : code;
    }
    stream_head_deinit(&head);
    return code;
}

/* ---- the command line ---- */

static enum options_result take_store(void *request, const struct option_spec *spec,
                                      const char *value)
{
    (void)spec;
    ((struct handle_request *)request)->store = value;
    return OPTIONS_RUN;
}

static enum options_result take_number(const struct option_spec *spec, const char *value,
                                       uint64_t most, uint64_t *ret)
{
    return option_parse_number(spec, value, most, ret) ? OPTIONS_RUN : OPTIONS_WRONG;
}

static enum options_result take_size(void *request, const struct option_spec *spec,
                                     const char *value)
{
    uint64_t megabytes = 0;
    enum options_result result = take_number(spec, value, UINT64_C(1) << 40, &megabytes);
    ((struct handle_request *)request)->limits.bytes = megabytes * 1000000;
    return result;
}

static enum options_result take_age(void *request, const struct option_spec *spec,
                                    const char *value)
{
    uint64_t days = 0;
    enum options_result result = take_number(spec, value, 100000, &days);
    ((struct handle_request *)request)->limits.seconds = (int64_t)days * 24 * 3600;
    return result;
}

static enum options_result take_count(void *request, const struct option_spec *spec,
                                      const char *value)
{
    uint64_t count = 0;
    enum options_result result = take_number(spec, value, UINT32_MAX, &count);
    ((struct handle_request *)request)->limits.count = (size_t)count;
    return result;
}

static enum options_result take_seconds(void *request, const struct option_spec *spec,
                                        const char *value)
{
    uint64_t seconds = 0;
    enum options_result result = take_number(spec, value, 3600, &seconds);
    if (result == OPTIONS_RUN && !seconds) {
        complain_of_usage("--time-limit: a second at least");
        result = OPTIONS_WRONG;
    }
    ((struct handle_request *)request)->seconds = (double)seconds;
    return result;
}

static enum options_result take_memory(void *request, const struct option_spec *spec,
                                       const char *value)
{
    return take_number(spec, value, UINT64_C(1) << 24,
                       &((struct handle_request *)request)->megabytes);
}

static enum options_result take_flag(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct handle_request *handle = request;
    (void)value;
    if (!strcmp(spec->long_name, "install"))
        handle->installs = true;
    else if (!strcmp(spec->long_name, "uninstall"))
        handle->uninstalls = true;
    else if (!strcmp(spec->long_name, "redact"))
        handle->redacts = true;
    else
        handle->no_sandbox = true;
    return OPTIONS_RUN;
}

static enum options_result take_root(void *request, const struct option_spec *spec,
                                     const char *value)
{
    (void)spec;
    ((struct handle_request *)request)->root = value;
    return OPTIONS_RUN;
}

static const struct option_spec option_list[] = {
    {NULL, "store", 0, OPTION_REQUIRED, "DIR", "where crashes are kept (" CRASH_STORE ")",
     take_store, COMPLETE_DIRECTORIES, NULL},
    {NULL, "max-size", 0, OPTION_REQUIRED, "MB", "of all that are kept (1074); the oldest go",
     take_size, COMPLETE_NOTHING, NULL},
    {NULL, "max-age", 0, OPTION_REQUIRED, "DAYS", "of each (30)", take_age, COMPLETE_NOTHING, NULL},
    {NULL, "max-count", 0, OPTION_REQUIRED, "N", "how many are kept (1000)", take_count,
     COMPLETE_NOTHING, NULL},
    {NULL, "time-limit", 0, OPTION_REQUIRED, "SECONDS", "that a process is held at most (10)",
     take_seconds, COMPLETE_NOTHING, NULL},
    {NULL, "memory-limit", 0, OPTION_REQUIRED, "MB", "of address space for its report (8192)",
     take_memory, COMPLETE_NOTHING, NULL},
    {NULL, "redact", 0, OPTION_FLAG, NULL,
     "leave text of values, arguments and the environment out of the\n"
     "small core",
     take_flag, COMPLETE_NOTHING, NULL},
    {NULL, "no-sandbox", 0, OPTION_FLAG, NULL, "parse with all rights", take_flag, COMPLETE_NOTHING,
     NULL},
    {NULL, "then", 0, OPTION_FLAG, "COMMAND...",
     "the last option: pass the whole core on to this program, all words\n"
     "behind --then",
     NULL, COMPLETE_NOTHING, NULL},
    {"Behind kernel.core_pattern:", "install", 0, OPTION_FLAG, NULL,
     "put this program there, now and for every start (sysctl.d(5)),\n"
     "with --store, --redact and --then as they are given",
     take_flag, COMPLETE_NOTHING, NULL},
    {NULL, "uninstall", 0, OPTION_FLAG, NULL, "put back what was there before", take_flag,
     COMPLETE_NOTHING, NULL},
    {NULL, "root", 0, OPTION_REQUIRED, "DIR", "of the system whose settings these change (/)",
     take_root, COMPLETE_DIRECTORIES, NULL},
    OPTION_HELP,
};

const struct command_spec handle_command = {
    .name = "handle",
    .summary = "keep the report of each crash, behind kernel.core_pattern",
    .usage = "[OPTIONS] PID [UID [GID [SIGNAL [TIME]]]] [--then COMMAND...] < CORE\n"
             "--install [OPTIONS] [--then COMMAND...]\n--uninstall",
    .about =
        "Started by the kernel with the core of a process that dies on standard input: reads the\n"
        "head of it, makes the report and a small core of the process's own memory while the\n"
        "kernel holds it, and keeps them (pystack-core crashes). The rest of the core is read "
        "only\n"
        "to be passed on. In core_pattern: |/usr/bin/pystack-core handle %P %u %g %s %t",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "sudo pystack-core handle --install\n"
                "sudo sysctl kernel.core_pattern='|/usr/bin/pystack-core handle %P %u %g %s %t'\n"
                "sudo pystack-core handle --uninstall",
    .exit_status = "Exit status: 0 kept, 1 kept in part, 2 nothing was kept, 64 wrong "
                   "usage; of\nthe program behind --then its own, if it is not 0.",
};

static bool parse_number(const char *word, int64_t most, int64_t *ret)
{
    char *end;
    errno = 0;
    long long value = strtoll(word, &end, 10);
    *ret = value;
    return *word >= '0' && *word <= '9' && !*end && !errno && value <= most;
}

static bool take_words(struct handle_request *request, char **words, int count)
{
    int64_t numbers[5] = {0};
    static const int64_t most[5] = {INT32_MAX, UINT32_MAX, UINT32_MAX, 128, INT64_C(1) << 40};
    if (count < 1 || count > 5) {
        complain_of_usage("handle: %s",
                          count ? "more than PID UID GID SIGNAL TIME" : "no process is given");
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!parse_number(words[i], most[i], &numbers[i])) {
            complain_of_usage("handle: %s is no number that can stand there", words[i]);
            return false;
        }
    request->pid = (int32_t)numbers[0];
    request->user = count > 1 ? (uint32_t)numbers[1] : geteuid();
    request->group = count > 2 ? (uint32_t)numbers[2] : getegid();
    request->signal = (int32_t)numbers[3];
    request->time = numbers[4];
    return request->pid > 0;
}

int command_handle(int argc, char **argv)
{
    struct handle_request request = {.store = CRASH_STORE,
                                     .limits = CRASH_LIMITS_DEFAULT,
                                     .seconds = 10,
                                     .megabytes = 8192,
                                     .root = ""};
    int first, own = 1;
    while (own < argc && strcmp(argv[own], "--then") != 0)
        own++;
    if (own < argc) {
        request.then = argv + own + 1;
        argv[own] = NULL;
    }
    enum options_result result = command_line_parse(&handle_command, &request, own, argv, &first);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    if (request.then && !*request.then) {
        complain_of_usage("handle: --then names no program");
        return EXIT_USAGE;
    }
    if (request.installs)
        return handle_install(&request);
    if (request.uninstalls)
        return handle_uninstall(&request);
    return take_words(&request, argv + first, own - first) ? handle_crash(&request) : EXIT_USAGE;
}
