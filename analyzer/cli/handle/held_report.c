/* The report of a process that the kernel holds, made by a child that may fail. */
#include "handle_private.h"

#include "messages.h"
#include "sandbox.h"

#include <pystack_core.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_LIMIT ((rlim_t)256 << 20) /* Of each file that is written. */

/* ---- the one who parses ---- */

struct held_work {
    const struct held_job *job;
    const struct psc_open_options *open;
    int told; /* A pipe to the one who waits. */
};

/* The one who waits lets the process go. */
static void tell_that_memory_is_read(void *context)
{
    const struct held_work *work = context;
    (void)!write(work->told, "", 1);
}

static int write_bytes(void *context, const char *bytes, size_t size)
{
    int fd = *(const int *)context;
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

static bool print_as(const struct psc_trace *trace, enum psc_format format, int fd)
{
    struct psc_print_options print = PSC_PRINT_OPTIONS_INIT;
    struct psc_error err = {0};
    print.format = format;
    if (psc_print(trace, &print, write_bytes, &fd, &err) == PSC_OK)
        return true;
    complain("%s", err.message);
    return false;
}

static void tell(const struct psc_trace *trace, struct held_result *result)
{
    struct psc_signature_info signature = PSC_SIGNATURE_INFO_INIT;
    if (psc_trace_get_signature(trace, &signature, NULL) != PSC_OK)
        return;
    snprintf(result->title, sizeof(result->title), "%s", signature.title ? signature.title : "");
    snprintf(result->signature, sizeof(result->signature), "%s",
             signature.hash ? signature.hash : "");
}

/* Text first: what comes later may fail. */
static int write_all_of(struct held_work *work, struct psc_target *target)
{
    const struct held_job *job = work->job;
    struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
    struct psc_slim_options slim = PSC_SLIM_OPTIONS_INIT;
    struct psc_trace *trace = NULL;
    struct psc_error err = {0};
    options.all_modules = 1;
    if (psc_capture(target, &options, &trace, &err) != PSC_OK) {
        complain("%s", err.message);
        return EXIT_NOTHING;
    }
    bool good =
        print_as(trace, PSC_FORMAT_TEXT, job->text) && print_as(trace, PSC_FORMAT_JSON, job->json);
    for (size_t i = 0; i < psc_trace_warning_count(trace); i++)
        complain("%s", psc_trace_warning(trace, i));
    tell(trace, job->result);
    psc_trace_destroy(trace);
    job->result->reported = good;
    slim.no_native_values = 1;
    slim.memory_is_read = tell_that_memory_is_read;
    slim.context = work;
    enum psc_status status = psc_write_slim_core(target, job->core, &slim, &err);
    if (status != PSC_OK)
        complain("%s", err.message);
    job->result->has_core = status == PSC_OK || status == PSC_ERR_LIMIT;
    return good ? EXIT_COMPLETE : EXIT_NOTHING;
}

static int parse(void *context)
{
    struct held_work *work = context;
    struct psc_target *target = NULL;
    struct psc_error err = {0};
    char head[32];
    snprintf(head, sizeof(head), "/proc/self/fd/%d", work->job->head);
    if (psc_open_core(head, NULL, work->open, &target, &err) != PSC_OK) {
        complain("%s", err.message);
        return EXIT_NOTHING;
    }
    int code = write_all_of(work, target);
    psc_close(target);
    return code;
}

/* ---- its parent, which opens files for it ---- */

static bool is_same(const char *a, const char *b)
{
    struct stat one, other;
    return !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* Where its files are: in a container below its own root, while it is there. */
static const char *find_root(int32_t pid, char *buffer, size_t size)
{
    char space[64];
    snprintf(space, sizeof(space), "/proc/%d/ns/mnt", pid);
    snprintf(buffer, size, "/proc/%d/root", pid);
    return is_same(buffer, "/") && is_same(space, "/proc/self/ns/mnt") ? NULL : buffer;
}

static int open_folder(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* When this program was started, in clock ticks, by the kernel that had seen the death; 0: unknown.
 */
static uint64_t find_own_start(void)
{
    char text[1024];
    uint64_t began = 0;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    // Behind the name: the state and 18 numbers (proc(5)).
    const char *at = strrchr(text, ')');
    for (int i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, " %" SCNu64, &began) == 1 ? began : 0;
}

static int open_and_parse(const struct held_job *job, uint64_t since, int told)
{
    const struct handle_request *request = job->request;
    struct psc_open_options open = PSC_OPEN_OPTIONS_INIT;
    struct held_work work = {.job = job, .open = &open, .told = told};
    char root[64], memory[64], process[64];
    const char *const files[] = {memory};
    open.sysroot = find_root(request->pid, root, sizeof(root));
    open.core_name = job->name;
    open.core_owner_known = 1;
    open.core_user = request->user;
    open.core_group = request->group;
    open.maps_files = 1;
    open.notes_reads = request->redacts ? PSC_NOTES_READS_REDACTED : PSC_NOTES_READS_ALL;
    open.held_pid = request->pid;
    open.held_since = since;
    snprintf(memory, sizeof(memory), "/proc/%d/mem", request->pid);
    snprintf(process, sizeof(process), "/proc/%d", request->pid);
    if (!request->no_sandbox)
        sandbox_begin();
    // Its memory and the names of its threads are read by the child, too.
    const struct sandbox_owner owner = {request->user, request->group, request->pid,
                                        open_folder(process)};
    const struct sandbox_rules rules = {.owners = &owner,
                                        .owner_count = 1,
                                        .sysroot = open.sysroot,
                                        .files = files,
                                        .file_count = 1};
    return sandbox_run(&rules, parse, &work);
}

static void limit(int what, rlim_t most)
{
    const struct rlimit limits = {most, most};
    (void)setrlimit(what, &limits);
}

static void limit_child(const struct handle_request *request)
{
#ifndef __SANITIZE_ADDRESS__ // Whose shadow memory is terabytes of address space.
    limit(RLIMIT_AS, (rlim_t)request->megabytes << 20);
#endif
    limit(RLIMIT_CPU, (rlim_t)request->seconds + 1);
    limit(RLIMIT_FSIZE, FILE_LIMIT);
}

/* ---- the one who waits ---- */

/* Whether the other end was closed in time; a byte before that says that all memory is read. */
static bool wait_for_end(const struct held_job *job, int fd, double until)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    for (;;) {
        char told;
        double left = until - handle_now();
        int got = left > 0 ? poll(&wait, 1, (int)(left * 1000) + 1) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        if (read(fd, &told, 1) != 1)
            return true;
        job->let_go(job->context);
    }
}

static const char *describe_end(int status, bool in_time, const struct held_result *result)
{
    static char text[128];
    if (result->reported && result->has_core)
        return NULL;
    if (!in_time)
        return result->reported ? "the small core was not made in time"
                                : "the report was not made in time";
    if (result->reported)
        return "no small core could be made";
    if (!WIFSIGNALED(status))
        return "no report could be made";
    snprintf(text, sizeof(text), "what makes the report was ended by signal %d", WTERMSIG(status));
    return text;
}

const char *held_report_make(const struct held_job *job, double until)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC))
        return strerror(errno);
    const uint64_t since = find_own_start();
    pid_t parent = getpid(), child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return strerror(errno);
    }
    if (!child) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (getppid() != parent)
            _exit(EXIT_NOTHING);
        handle_drop_input();
        if (job->log >= 0)
            dup2(job->log, STDERR_FILENO);
        limit_child(job->request);
        int code = open_and_parse(job, since, ends[1]);
        fflush(NULL);
        _exit(code);
    }
    close(ends[1]);
    bool in_time = wait_for_end(job, ends[0], until);
    close(ends[0]);
    if (!in_time)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return describe_end(status, in_time, job->result);
}
