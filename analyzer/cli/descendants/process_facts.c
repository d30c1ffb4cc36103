/* What /proc says of a process (proc(5)). */
#include "descendants_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_LIMIT ((size_t)128 * 1024)
#define STAT_LIMIT      ((size_t)4096)
/* Threads of one process that are looked at. */
#define THREAD_LIMIT ((size_t)64)

char *process_file_read(pid_t pid, const char *name, size_t limit, size_t *ret_size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd < 0 ? NULL : malloc(limit + 1);
    size_t size = 0;
    ssize_t got = text ? 1 : 0;
    while (text && size < limit && (got = read(fd, text + size, limit - size)) > 0)
        size += (size_t)got;
    if (fd >= 0)
        close(fd);
    if (text && got < 0) {
        free(text);
        text = NULL;
    }
    if (text)
        text[size] = '\0';
    if (ret_size)
        *ret_size = text ? size : 0;
    return text;
}

bool process_stat_read(pid_t pid, struct process_stat *ret)
{
    char *text = process_file_read(pid, "stat", STAT_LIMIT, NULL);
    const char *rest = text ? strrchr(text, ')') : NULL;
    const char *name = text ? strchr(text, '(') : NULL;
    unsigned long long user = 0, system = 0, started = 0, stack = 0;
    long long child_user = 0, child_system = 0;
    int parent = 0, exit_code = 0;
    char state = 0;
    // Fields 3 to 52: state ppid ... utime stime cutime cstime ... starttime ... startstack ...
    int found =
        rest ? sscanf(rest + 1,
                      " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld %*d %*d %*d "
                      "%*d %llu %*u %*d %*u %*u %*u %llu %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d "
                      "%*d %*u %*u %*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %d",
                      &state, &parent, &user, &system, &child_user, &child_system, &started, &stack,
                      &exit_code)
             : 0;
    *ret = (struct process_stat){
        .state = state,
        .parent = parent,
        .ticks = user + system + (uint64_t)(child_user + child_system),
        .started = started,
        .image = stack,
        .exit_code = exit_code,
    };
    if (rest && name && name < rest)
        snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(rest - name - 1), name + 1);
    free(text);
    return found >= 7;
}

static char *read_link(pid_t pid, const char *name)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    ssize_t length = readlink(path, text, sizeof(text));
    return length > 0 && (size_t)length < sizeof(text) && *text == '/'
               ? strndup(text, (size_t)length)
               : NULL;
}

/* What is known stays where nothing new is told. */
static void replace(char **text, char *by)
{
    if (!by)
        return;
    free(*text);
    *text = by;
}

static void forget_image(struct descendant *process)
{
    if (process->memory >= 0)
        close(process->memory);
    process->memory = -1;
    process->environment = 0;
    process->tries = 0;
    process->in_test = process->session_seen = process->session_over = false;
}

static void read_image(struct descendant *process)
{
    size_t size;
    char *arguments = process_file_read(process->pid, "cmdline", ARGUMENTS_LIMIT, &size);
    if (arguments && size) {
        free(process->arguments);
        process->arguments = arguments;
        process->arguments_size = size;
    } else {
        free(arguments);
    }
    replace(&process->executable, read_link(process->pid, "exe"));
}

double process_used(pid_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
        return 0;
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double process_starved(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    uint64_t nanoseconds = 0;
    const struct dirent *entry;
    for (size_t i = 0; folder && i < THREAD_LIMIT && (entry = readdir(folder));) {
        unsigned long long waited = 0;
        if (*entry->d_name == '.')
            continue;
        snprintf(path, sizeof(path), "task/%.20s/schedstat", entry->d_name);
        char *text = process_file_read(pid, path, 256, NULL);
        if (text && sscanf(text, "%*u %llu", &waited) == 1)
            nanoseconds += waited;
        free(text);
        i++;
    }
    if (folder)
        closedir(folder);
    return (double)nanoseconds / 1e9;
}

/* Of a zombie, too, until it is waited for. */
bool process_written_read(struct descendant *process)
{
    char *text = process_file_read(process->pid, "io", 1024, NULL);
    const char *found = text ? strstr(text, "wchar:") : NULL;
    if (found)
        process->written = strtoull(found + 6, NULL, 10);
    free(text);
    return found != NULL;
}

void process_forget_program(struct descendant *process)
{
    free(process->executable);
    free(process->arguments);
    process->executable = process->arguments = NULL;
    process->arguments_size = 0;
    *process->name = '\0';
}

void process_name_take(struct descendant *process, const struct process_stat *stat)
{
    // What ended so soon after exec(3) that nobody has looked was not what it was before.
    if (*process->name && strcmp(process->name, stat->name) != 0 && stat->state == 'Z')
        process_forget_program(process);
    memcpy(process->name, stat->name, sizeof(process->name));
}

void process_facts_read(struct descendant *process, const struct process_stat *stat)
{
    process->parent = stat->parent;
    process->ticks = stat->ticks;
    process_name_take(process, stat);
    if (stat->state == 'Z' || stat->state == 'X')
        return;
    // One that is about to end has none.
    bool is_other = stat->image && stat->image != process->image;
    if (is_other || !process->arguments) {
        if (is_other)
            forget_image(process);
        process->image = is_other ? stat->image : process->image;
        read_image(process);
    }
    replace(&process->working_directory, read_link(process->pid, "cwd"));
    if (!prlimit(process->pid, RLIMIT_CORE, NULL, &process->core_limit))
        process->has_limit = true;
    (void)process_written_read(process);
}
