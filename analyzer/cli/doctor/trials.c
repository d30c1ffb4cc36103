/* What shows only when it is tried: a crash, and a look at a child. */
#include "doctor_private.h"

#include <pystack_core.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a look ---- */

static void wait_for_child(pid_t child, int *ret_status)
{
    while (waitpid(child, ret_status, 0) < 0 && errno == EINTR)
        ;
}

/* NULL: it can be looked at. malloc'd. */
static char *look_at_child(void)
{
    struct psc_error err = {0};
    struct psc_target *target = NULL;
    struct psc_trace *trace = NULL;
    struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
    options.mode = PSC_MODE_NATIVE;
    int status;
    pid_t child = fork();
    if (child < 0)
        return finding_text("no child process can be made: %s", strerror(errno));
    if (!child) {
        alarm(60);
        for (;;)
            pause();
    }
    char *problem = NULL;
    if (psc_open_process(child, NULL, &target, &err) != PSC_OK ||
        psc_capture(target, &options, &trace, &err) != PSC_OK)
        problem = finding_text("%s", err.message);
    for (size_t i = 0; !problem && i < psc_trace_warning_count(trace); i++)
        if (strstr(psc_trace_warning(trace, i), "ptrace") ||
            strstr(psc_trace_warning(trace, i), "trace it"))
            problem = finding_text("%s", psc_trace_warning(trace, i));
    psc_trace_destroy(trace);
    psc_close(target);
    kill(child, SIGKILL);
    wait_for_child(child, &status);
    return problem;
}

/* security/yama/yama_lsm.c; Documentation/admin-guide/LSM/Yama.rst */
static void check_scope(struct findings *findings)
{
    static const char name[] = "ptrace scope";
    char line[32];
    if (!read_first_line("/proc/sys/kernel/yama/ptrace_scope", line, sizeof(line)))
        return;
    switch (*line) {
    case '0':
        findings_add(findings, name, FINDING_GOOD, finding_text("0"), NULL);
        return;
    case '1':
        findings_add(findings, name, FINDING_GOOD,
                     finding_text("1: descendants can be looked at, as ci does; others by root"),
                     NULL);
        return;
    default:
        findings_add(findings, name, FINDING_WARNING,
                     finding_text("%s: %s", line,
                                  *line == '2' ? "only root may look at processes"
                                               : "nobody may look at processes until it is "
                                                 "started anew"),
                     finding_text("sudo sysctl -w kernel.yama.ptrace_scope=1"));
    }
}

static bool has_trace_capability(void)
{
    char line[256];
    bool found = false;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "CapEff:", 7))
            found = strtoull(line + 7, NULL, 16) >> 19 & 1; // CAP_SYS_PTRACE
    if (file)
        fclose(file);
    return found;
}

void check_tracing(struct findings *findings)
{
    check_scope(findings);
    char *problem = look_at_child();
    if (problem)
        findings_add(findings, "living children", FINDING_WARNING, problem,
                     findings->container
                         ? finding_text("start the container with --cap-add=SYS_PTRACE, or "
                                        "--security-opt seccomp=unconfined")
                         : finding_text("sudo sysctl -w kernel.yama.ptrace_scope=1, and no seccomp "
                                        "filter against ptrace"));
    else
        findings_add(findings, "living children", FINDING_GOOD, finding_text("can be looked at"),
                     NULL);
    findings_add(findings, "other processes", FINDING_GOOD,
                 has_trace_capability()
                     ? finding_text("can be looked at by --pid (CAP_SYS_PTRACE)")
                     : finding_text("those of other users, with --pid, by sudo alone"),
                 NULL);
}

/* ---- memory ---- */

void check_cgroup(struct findings *findings)
{
    static const char *const counters[] = {"/sys/fs/cgroup/memory.events",
                                           "/sys/fs/cgroup/memory/memory.oom_control",
                                           "/sys/fs/cgroup/cgroup.controllers"};
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        if (!access(counters[i], R_OK))
            return;
    findings_add(findings, "memory counters", FINDING_WARNING,
                 finding_text("no cgroup can be read: ci cannot tell that memory ran out"),
                 finding_text("mount the cgroup file system at /sys/fs/cgroup"));
}

/* ---- a crash ---- */

static void crash_in(const char *folder)
{
    struct rlimit limit;
    const char filter[] = "0x10"; // Small: no memory, core(5).
    int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t written = write(fd, filter, sizeof(filter) - 1);
        (void)written;
        close(fd);
    }
    if (!getrlimit(RLIMIT_CORE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_CORE, &limit);
    }
    if (chdir(folder))
        _exit(1);
    signal(SIGABRT, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    abort();
}

/* Removes the core of the child, wherever the pattern puts it; false: there was none. */
static bool take_core(const struct findings *findings, const char *folder, pid_t child)
{
    glob_t found = {0};
    char *name = core_pattern_glob(&findings->pattern, folder, child);
    bool good = name && !glob(name, GLOB_NOSORT, NULL, &found) && found.gl_pathc;
    // Without the process id in it the name may be another core's.
    if (good && (findings->pattern.destination == CORE_RELATIVE ||
                 core_pattern_names_pid(&findings->pattern)))
        unlink(found.gl_pathv[0]);
    globfree(&found);
    free(name);
    return good;
}

static void try_in(struct findings *findings, const char *folder)
{
    static const char name[] = "a crash here";
    int status = 0;
    pid_t child = fork();
    if (child < 0)
        return;
    if (!child)
        crash_in(folder);
    wait_for_child(child, &status);
    bool found = take_core(findings, folder, child);
    if (WIFSIGNALED(status) && WCOREDUMP(status) && found)
        findings_add(findings, name, FINDING_GOOD, finding_text("left a core file"), NULL);
    else if (WIFSIGNALED(status) && WCOREDUMP(status))
        findings_add(findings, name, FINDING_WARNING,
                     finding_text("the kernel wrote a core, but it is not where core_pattern says"),
                     finding_text("read kernel.core_pattern on the host"));
    else
        findings_add(findings, name, FINDING_STOPS,
                     finding_text("left no core file, though nothing seemed to be in its way"),
                     finding_text("look at the last lines of sudo dmesg"));
}

void check_by_trial(struct findings *findings)
{
    bool is_file = findings->pattern_known && (findings->pattern.destination == CORE_RELATIVE ||
                                               findings->pattern.destination == CORE_ABSOLUTE);
    // A relative name with a folder in it wants that folder wherever a process dies.
    if (findings_stop(findings) > findings->limit_can_be_raised || !is_file ||
        (findings->pattern.destination == CORE_RELATIVE && strchr(findings->pattern.text, '/')))
        return;
    char folder[] = "pystack-core-doctor-XXXXXX", place[4096];
    if (!mkdtemp(folder))
        return;
    if (realpath(folder, place))
        try_in(findings, place);
    rmdir(folder);
}
