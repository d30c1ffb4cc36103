/* Why a process cannot be read, and the way out: one sentence. */
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#define PF_KTHREAD         0x00200000u /* include/linux/sched.h */
#define CAP_SYS_PTRACE_BIT 19          /* include/uapi/linux/capability.h */

/* What /proc/PID/status and stat say. */
struct standing {
    char name[64];
    char state;
    long group;
    long parent;
    long tracer;
    uint64_t user;
    uint64_t capabilities; /* Effective. */
    bool kernel;
};

static size_t read_small(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, buffer, size - 1);
    if (fd >= 0)
        close(fd);
    buffer[got < 0 ? 0 : got] = '\0';
    return got < 0 ? 0 : (size_t)got;
}

static const char *find_field(const char *status, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = status; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, length) && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " \t");
    }
    return "";
}

/*
 * A filter refuses the call before the kernel looks for the process, of which there is none with
 * the largest number (PID_MAX_LIMIT is 2^22). A filter of ours, that allows this, does not count.
 */
static bool is_ptrace_filtered(void)
{
    errno = 0;
    return ptrace(PTRACE_SEIZE, INT32_MAX, NULL, NULL) < 0 && errno != ESRCH;
}

/* False when there is no such process. */
static bool read_standing(const char *which, struct standing *ret)
{
    char path[64], text[8192];
    *ret = (struct standing){0};
    snprintf(path, sizeof(path), "/proc/%s/status", which);
    if (!read_small(path, text, sizeof(text)))
        return false;
    const char *name = find_field(text, "Name");
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(name, "\n"), name);
    ret->state = *find_field(text, "State");
    ret->group = strtol(find_field(text, "Tgid"), NULL, 10);
    ret->parent = strtol(find_field(text, "PPid"), NULL, 10);
    ret->tracer = strtol(find_field(text, "TracerPid"), NULL, 10);
    ret->user = strtoull(find_field(text, "Uid"), NULL, 10);
    ret->capabilities = strtoull(find_field(text, "CapEff"), NULL, 16);

    snprintf(path, sizeof(path), "/proc/%s/stat", which);
    read_small(path, text, sizeof(text));
    char *at = strrchr(text, ')');
    // proc(5): behind the name come state, ppid, pgrp, session, tty_nr, tpgid, flags.
    unsigned flags;
    if (at && sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1)
        ret->kernel = flags & PF_KTHREAD;
    return true;
}

static bool read_standing_of(pid_t pid, struct standing *ret)
{
    char which[16];
    snprintf(which, sizeof(which), "%d", pid);
    return read_standing(which, ret);
}

enum psc_status live_check(pid_t pid, struct psc_error *err)
{
    struct standing standing;
    if (!read_standing_of(pid, &standing)) {
        if (pid > 0 && (!kill(pid, 0) || errno == EPERM))
            return psc_fail(err, PSC_ERR_IO,
                            "process %d is there, but /proc does not show it; mount /proc, or "
                            "without hidepid, or run as root",
                            pid);
        return psc_fail(err, PSC_ERR_NOT_FOUND, "there is no process %d", pid);
    }
    if (standing.group != pid && standing.group > 0)
        return psc_fail(err, PSC_ERR_ARGUMENT,
                        "%d is a thread of process %ld; name the process: --pid %ld", pid,
                        standing.group, standing.group);
    if (standing.kernel)
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "process %d (%s) is a thread of the kernel; only processes with memory of "
                        "their own have stacks that can be shown",
                        pid, standing.name);
    if (pid == getpid())
        return psc_fail(err, PSC_ERR_ARGUMENT, "process %d is pystack-core itself", pid);
    return PSC_OK;
}

static bool is_undumpable(pid_t pid, const struct standing *standing)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    // proc(5): files of a process that is not dumpable belong to root.
    return standing->user && !stat(path, &status) && !status.st_uid;
}

static bool opens_memory(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* ---- sentences ---- */

/* kernel.yama.ptrace_scope: Documentation/admin-guide/LSM/Yama.rst */
static enum psc_status describe_scope(const struct refusal *refusal, struct psc_error *err)
{
    int pid = refusal->pid;
    switch (refusal->ptrace_scope) {
    case '1':
        return psc_fail(err, PSC_ERR_IO,
                        "process %d is no child of this one, and kernel.yama.ptrace_scope is 1; "
                        "run as root (sudo pystack-core --pid %d), or allow it: sudo sysctl "
                        "kernel.yama.ptrace_scope=0; in a container: --cap-add=SYS_PTRACE",
                        pid, pid);
    case '2':
        return psc_fail(err, PSC_ERR_IO,
                        "process %d may not be traced: kernel.yama.ptrace_scope is 2, which leaves "
                        "that to root: sudo pystack-core --pid %d; in a container: "
                        "--cap-add=SYS_PTRACE",
                        pid, pid);
    case '3':
        return psc_fail(err, PSC_ERR_IO,
                        "process %d may not be traced: kernel.yama.ptrace_scope is 3, and nobody "
                        "may until the next boot; take a core instead (kill -ABRT %d)",
                        pid, pid);
    default:
        if (!refusal->own_user)
            return psc_fail(err, PSC_ERR_IO,
                            "process %d may not be traced, since root has no CAP_SYS_PTRACE here; "
                            "run the container with --cap-add=SYS_PTRACE, or this on the host",
                            pid);
        return psc_fail(err, PSC_ERR_IO,
                        "process %d may not be traced from here; run as root (sudo pystack-core "
                        "--pid %d), in a container give it the right: --cap-add=SYS_PTRACE",
                        pid, pid);
    }
}

static enum psc_status describe_user(const struct refusal *refusal, struct psc_error *err)
{
    // Root without the capability: in a container.
    if (!refusal->own_user)
        return psc_fail(err, PSC_ERR_IO,
                        "process %d belongs to user %" PRIu64
                        ", and root has no CAP_SYS_PTRACE here; run the container with "
                        "--cap-add=SYS_PTRACE, or this on the host",
                        refusal->pid, refusal->user);
    return psc_fail(err, PSC_ERR_IO,
                    "process %d belongs to user %" PRIu64
                    "; run this as that user or as root: sudo pystack-core --pid %d",
                    refusal->pid, refusal->user, refusal->pid);
}

static enum psc_status describe_tracer(const struct refusal *refusal, struct psc_error *err)
{
    const struct live_tracer *tracer = &refusal->tracer;
    return psc_fail(err, PSC_ERR_IO,
                    "process %d %s traced by %d%s%s%s%s, and a process can have one tracer only; "
                    "%s",
                    refusal->pid, refusal->tracer_gone ? "was" : "is", tracer->pid,
                    tracer->name[0] ? " (" : "", tracer->name, tracer->name[0] ? ")" : "",
                    refusal->tracer_gone ? " when this tried to stop it" : "",
                    refusal->tracer_gone ? "try again" : "detach that one first");
}

enum psc_status describe_refusal(const struct refusal *refusal, struct psc_error *err)
{
    int pid = refusal->pid;
    if (refusal->error == ENOMEM)
        return psc_fail_memory(err);
    if (!refusal->state)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "process %d has ended", pid);
    if (refusal->state == 'Z' || refusal->state == 'X')
        return psc_fail(err, PSC_ERR_NOT_FOUND,
                        "process %d (%s) is a zombie: it has ended and nothing of it is left but "
                        "its exit status, which its parent, process %ld, has not asked for",
                        pid, refusal->name, refusal->parent);
    // No thread and no memory any more, though not a zombie yet. execve() leaves none of the old
    // ones.
    if (refusal->error == ESRCH)
        return psc_fail(
            err, PSC_ERR_NOT_FOUND,
            "process %d has ended, or has begun another program, while it was looked at", pid);
    bool refused = refusal->error == EPERM || refusal->error == EACCES;
    if (refusal->tracer.pid && (!refused || refusal->memory_opens))
        return describe_tracer(refusal, err);
    if (!refused)
        return psc_fail(err, PSC_ERR_IO, "process %d cannot be stopped: %s", pid,
                        describe_errno(refusal->error, &(struct errno_text){0}));
    if (refusal->own_filter && refusal->memory_opens)
        return psc_fail(err, PSC_ERR_IO,
                        "process %d cannot be stopped: a seccomp filter forbids ptrace here; run "
                        "the container with --cap-add=SYS_PTRACE or --security-opt "
                        "seccomp=unconfined, or this on the host",
                        pid);
    // kernel/ptrace.c, fs/proc/base.c: both ask the same question of rights; being traced is what
    // only one of them minds. TracerPid is 0 for a tracer of a pid namespace further out.
    if (refusal->memory_opens)
        return psc_fail(
            err, PSC_ERR_IO,
            "process %d cannot be stopped although its memory may be read: it is traced "
            "already, by a process that is not visible here (outside of this pid "
            "namespace), or it is ending; run this where the tracer is (on the host)",
            pid);
    if (refusal->ptrace_scope == '3')
        return describe_scope(refusal, err);
    if (refusal->own_right)
        return psc_fail(
            err, PSC_ERR_IO,
            "process %d may not be looked into although this is allowed to trace "
            "(CAP_SYS_PTRACE); a security module or a user namespace of its own forbids "
            "it: run this in the process's own container, or on the host as root",
            pid);
    if (refusal->user != refusal->own_user)
        return describe_user(refusal, err);
    if (refusal->undumpable)
        return psc_fail(err, PSC_ERR_IO,
                        "process %d does not let others of its user look into it (it is setuid, or "
                        "asked for that by prctl); run as root: sudo pystack-core --pid %d",
                        pid, pid);
    return describe_scope(refusal, err);
}

bool live_find_tracer(pid_t tid, struct live_tracer *ret)
{
    struct standing traced, tracer;
    *ret = (struct live_tracer){0};
    if (!read_standing_of(tid, &traced) || !traced.tracer)
        return false;
    // TracerPid is the id of a thread, which need not be that of its process.
    if (!read_standing_of((pid_t)traced.tracer, &tracer) || tracer.group == getpid())
        return true;
    ret->pid = (pid_t)tracer.group;
    memcpy(ret->name, tracer.name, sizeof(ret->name));
    return true;
}

/* `stop`: of which a thread could not be seized; or NULL. */
static enum psc_status refuse(pid_t pid, int error, const struct live_stop *stop,
                              struct psc_error *err)
{
    struct refusal refusal = {.pid = pid, .error = error, .own_user = geteuid()};
    struct standing standing, other;
    char scope[16];
    if (read_standing_of(pid, &standing)) {
        memcpy(refusal.name, standing.name, sizeof(refusal.name));
        refusal.state = standing.state;
        refusal.parent = standing.parent;
        refusal.user = standing.user;
        refusal.undumpable = is_undumpable(pid, &standing);
        refusal.memory_opens = opens_memory(pid);
    }
    // Threads are traced one by one.
    (void)live_find_tracer(pid, &refusal.tracer);
    if (!refusal.tracer.pid && stop)
        (void)live_find_tracer(stop->refused, &refusal.tracer);
    if (!refusal.tracer.pid && stop) {
        refusal.tracer = stop->tracer;
        refusal.tracer_gone = true;
    }
    if (read_standing("self", &other)) {
        refusal.own_right = other.capabilities >> CAP_SYS_PTRACE_BIT & 1;
        refusal.own_filter = is_ptrace_filtered();
    }
    if (read_small("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
        refusal.ptrace_scope = scope[0];
    return describe_refusal(&refusal, err);
}

enum psc_status live_refuse(pid_t pid, int error, struct psc_error *err)
{
    return refuse(pid, error, NULL, err);
}

enum psc_status live_refuse_stop(const struct live_stop *stop, struct psc_error *err)
{
    return refuse(stop->pid, stop->refusal, stop, err);
}

enum psc_status live_refuse_target(const struct target *target, int error, struct psc_error *err)
{
    const struct live_agent *agent = target->options.agent;
    const pid_t pid = live_of(target)->pid;
    if (!agent)
        return live_refuse(pid, error, err);
    struct live_exchange *exchange = agent->exchanges;
    exchange->order.kind = LIVE_ORDER_REFUSE;
    exchange->order.error = error;
    if (!agent->give(agent->context, pid, 0, 1))
        return live_refuse(pid, error, err);
    return psc_fail(err, (enum psc_status)exchange->delivery.status, "%s",
                    exchange->delivery.message);
}
