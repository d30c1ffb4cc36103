/* What a process and its threads are beside their memory: /proc/PID/stat and status, see proc(5).
 */
#include "live_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Linux caps arguments and environment at 6 MiB (fs/exec.c), but for what the program sets itself.
 */
#define ENVIRONMENT_LIMIT ((size_t)8 * 1024 * 1024)
/* Threads of a process that are looked at. */
#define SEEN_LIMIT ((size_t)1000000)

/* The beginning of a file, as text. */
static void read_beginning(pid_t pid, const char *name, char *buffer, size_t size)
{
    char path[64];
    struct live_text text = {0};
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    (void)live_read_path(AT_FDCWD, path, &text);
    size_t length = text.size < size - 1 ? text.size : size - 1;
    if (length)
        memcpy(buffer, text.bytes, length);
    buffer[length] = '\0';
    free(text.bytes);
}

static uint32_t read_number(const char *text, const char *field)
{
    const char *at = strstr(text, field);
    return at ? (uint32_t)strtoul(at + strlen(field), NULL, 10) : 0;
}

void live_read_identity(const struct target *target, struct core_identity *ret)
{
    const struct live *live = live_of(target);
    const struct target_process *process = &target->process;
    char text[4096];
    *ret = (struct core_identity){.machine = target->machine,
                                  .pid = process->pid,
                                  .name = process->name,
                                  .arguments = process->arguments,
                                  .argument_count = process->argument_count};
    read_beginning(live->pid, "stat", text, sizeof(text));
    // The name, in parentheses, may hold anything.
    const char *end = strrchr(text, ')');
    int nice;
    // state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime
    // cstime priority nice
    if (end &&
        sscanf(end + 1,
               " %c %" SCNd32 " %" SCNd32 " %" SCNd32 " %*d %*d %" SCNu64
               " %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
               &ret->state, &ret->parent, &ret->group, &ret->session, &ret->flags, &nice) == 6)
        ret->nice = (int8_t)nice;
    read_beginning(live->pid, "status", text, sizeof(text));
    ret->user = read_number(text, "\nUid:");
    ret->user_group = read_number(text, "\nGid:");
}

/* ---- what is known beside ---- */

static uint64_t read_kilobytes(const char *text, const char *field)
{
    const char *at = strstr(text, field);
    return at ? strtoull(at + strlen(field), NULL, 10) * 1024 : 0;
}

static void read_memory(const struct live *live, struct live_facts *ret)
{
    char text[4096];
    // The first thread has none when it has ended before the others.
    read_beginning(live->memory_tid, "status", text, sizeof(text));
    ret->has_memory = strstr(text, "\nVmRSS:");
    ret->resident = read_kilobytes(text, "\nVmRSS:");
    ret->resident_anonymous = read_kilobytes(text, "\nRssAnon:");
    ret->resident_file = read_kilobytes(text, "\nRssFile:");
    ret->resident_shared = read_kilobytes(text, "\nRssShmem:");
    ret->swapped = read_kilobytes(text, "\nVmSwap:");
}

/*
 * Whether it would stand still without us. Who stopped it says by which signal; of one that nobody
 * stopped there is its state, behind the name in proc(5)'s stat.
 */
static void read_group_stop(const struct live *live, const char *stat, struct live_facts *ret)
{
    const char *name = strrchr(stat, ')');
    for (size_t i = 0; i < live->stop.count && !ret->stopped_by; i++)
        ret->stopped_by = live->stop.threads[i].group_stop;
    ret->is_stopped = ret->stopped_by || (name && !strncmp(name, ") T", 3));
}

/* Field 22 of proc(5)'s stat, clock ticks since the machine was started; 20 words behind the name.
 */
static void read_uptime(const char *stat, struct live_facts *ret)
{
    struct timespec now;
    long ticks = sysconf(_SC_CLK_TCK);
    const char *at = strrchr(stat, ')');
    for (size_t i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    if (!at || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now))
        return;
    double started = strtod(at, NULL) / (double)ticks;
    ret->uptime = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - started;
    ret->has_uptime = ret->uptime >= 0;
    // The start is rounded to whole ticks.
    if (!ret->has_uptime && ret->uptime > -1) {
        ret->uptime = 0;
        ret->has_uptime = true;
    }
}

static const char *read_working_directory(struct target *target)
{
    const struct live *live = live_of(target);
    char path[PATH_MAX];
    ssize_t length = readlinkat(live->folder, "cwd", path, sizeof(path) - 1);
    // "(unreachable)/..." is outside of the root of who looks (proc(5), d_path()).
    if (length <= 0 || path[0] != '/')
        return NULL;
    path[length] = '\0';
    size_t root = strlen(live->root);
    bool below = root && !strncmp(path, live->root, root) && (path[root] == '/' || !path[root]);
    return arena_strdup(target->arena, !below ? path : path[root] ? path + root : "/");
}

/* A container mostly has a name of its own, which is not to be had from outside. */
static const char *read_host(struct target *target)
{
    struct stat own, other;
    struct utsname names;
    bool same = !stat("/proc/self/ns/uts", &own) &&
                !fstatat(live_of(target)->folder, "ns/uts", &other, 0) &&
                own.st_dev == other.st_dev && own.st_ino == other.st_ino;
    return same && !uname(&names) ? arena_strdup(target->arena, names.nodename) : NULL;
}

void live_keep_facts(struct target *target)
{
    struct live *live = live_of(target);
    char stat[4096];
    live->facts = (struct live_facts){0};
    read_beginning(live->pid, "stat", stat, sizeof(stat));
    read_memory(live, &live->facts);
    read_group_stop(live, stat, &live->facts);
    read_uptime(stat, &live->facts);
    live->facts.working_directory = read_working_directory(target);
    live->facts.host = read_host(target);
}

void live_read_facts(struct target *target, struct live_facts *ret)
{
    *ret = live_of(target)->facts;
}

char *live_read_environment(const struct target *target, size_t *ret_size)
{
    const struct live *live = live_of(target);
    struct live_text text = {0};
    *ret_size = 0;
    if (live->environment < 0)
        return NULL;
    if (!live_read_timed(live, live->environment, ENVIRONMENT_LIMIT, &text)) {
        free(text.bytes);
        return NULL;
    }
    *ret_size = text.size;
    return text.bytes;
}

/* ---- the ids of threads ---- */

static int compare_seen(const void *left, const void *right)
{
    const struct live_seen_thread *a = left, *b = right;
    return COMPARE(a->inner, b->inner);
}

/* NSpid: the ids in all pid namespaces that are seen from here, the innermost last. */
pid_t live_read_inner_tid(pid_t tid)
{
    char text[4096];
    read_beginning(tid, "status", text, sizeof(text));
    const char *at = strstr(text, "\nNSpid:");
    at = at ? at + strlen("\nNSpid:") : "";
    pid_t inner = tid;
    for (char *end; *at && *at != '\n'; at = end) {
        long number = strtol(at, &end, 10);
        if (end == at)
            break;
        inner = (pid_t)number;
        if (*end == '\n')
            break;
    }
    return inner;
}

/* The threads that there are, by their inner ids. */
static enum psc_status list_seen(const struct live *live, struct live_seen_thread **ret,
                                 size_t *ret_count)
{
    const struct dirent *entry;
    size_t capacity = 0, count = 0;
    bool other_names = live_read_inner_tid(live->pid) != live->pid;
    void *seen = NULL;
    rewinddir(live->stop.tasks);
    while ((entry = readdir(live->stop.tasks)) && count < SEEN_LIMIT) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        if (!array_reserve(&seen, &capacity, count + 1, sizeof(**ret))) {
            free(seen);
            return PSC_ERR_MEMORY;
        }
        ((struct live_seen_thread *)seen)[count++] =
            (struct live_seen_thread){other_names ? live_read_inner_tid(tid) : tid, tid};
    }
    if (count)
        qsort(seen, count, sizeof(**ret), compare_seen);
    *ret = seen;
    *ret_count = count;
    return PSC_OK;
}

static pid_t find_seen(const struct live_seen_thread *seen, size_t count, uint64_t inner)
{
    const struct live_seen_thread *found =
        inner <= INT32_MAX ? SORTED_FIND(seen, inner, count, (pid_t)inner) : NULL;
    return found ? found->tid : 0;
}

/*
 * The C library keeps a thread's tid behind its pthread_t, each in a place of its own. What is
 * there for another reason is mostly no thread of this process: only one of the places may be.
 */
static pid_t read_tid(struct target *target, psc_addr pthread, const struct live_seen_thread *seen,
                      size_t count)
{
    const struct target_machine *machine = target->machine;
    const uint16_t places[] = {machine->pthread_tid, machine->musl_tid[0], machine->musl_tid[1]};
    pid_t found = 0;
    uint64_t self;
    if (!pthread || (machine->thread_pointer_is_self &&
                     (target_read_u64(target, pthread, &self) != PSC_OK || self != pthread)))
        return 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(places); i++) {
        uint32_t inner;
        if (!places[i] || target_read_u32(target, pthread + places[i], &inner) != PSC_OK)
            continue;
        pid_t tid = find_seen(seen, count, inner);
        if (tid && found && tid != found)
            return 0;
        found = tid ? tid : found;
    }
    return found;
}

enum psc_status live_see_threads(struct live *live)
{
    live_forget_seen(live);
    return list_seen(live, &live->seen, &live->seen_count);
}

void live_forget_seen(struct live *live)
{
    free(live->seen);
    live->seen = NULL;
    live->seen_count = 0;
}

enum psc_status live_find_threads(struct target *target, struct live_thread_name *names,
                                  size_t count)
{
    struct live *live = live_of(target);
    bool known = live->seen != NULL;
    enum psc_status status = known ? PSC_OK : live_see_threads(live);
    for (size_t i = 0; status == PSC_OK && i < count; i++) {
        names[i].tid = read_tid(target, names[i].pthread, live->seen, live->seen_count);
        if (!names[i].tid)
            names[i].tid = find_seen(live->seen, live->seen_count, names[i].native_id);
    }
    if (!known)
        live_forget_seen(live);
    return status;
}
