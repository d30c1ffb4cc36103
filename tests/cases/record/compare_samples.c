/**
 * @file
 * Samples of threads that sleep, taken without a stop, beside those of the same threads when they
 * are stopped: a session that has sampled often, against one that stops and knows nothing yet.
 *
 *     compare_samples PID SECONDS
 *
 * Prints how many were compared, how many differ, and the first that do.
 */
#include "capture.h"
#include "live.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FRAME_LIMIT 40000
#define TOLD        5

struct comparison {
    struct capture_session *used;
    struct capture_session *fresh;
    struct trace_frame *frames;
    size_t compared, different, moved, stopped;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static ssize_t read_file(int32_t pid, int32_t tid, const char *name, char *buffer, size_t size)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, buffer, size - 1);
    if (fd >= 0)
        close(fd);
    buffer[got > 0 ? got : 0] = '\0';
    return got;
}

static bool is_text_equal(const char *one, const char *other)
{
    return !strcmp(one ? one : "", other ? other : "");
}

/* Up to 3.10 a qualified name is found, or not, when a code object is met for the first time. */
static bool is_name_equal(const char *one, const char *other)
{
    const char *a = one ? strrchr(one, '.') : NULL, *b = other ? strrchr(other, '.') : NULL;
    return is_text_equal(a ? a + 1 : one, b ? b + 1 : other);
}

/* Locations are each session's own. */
static bool is_equal(const struct trace_frame *one, const struct trace_frame *other)
{
    const struct trace_location *a = one->location, *b = other->location;
    return one->pc == other->pc && one->sp == other->sp && one->id == other->id &&
           one->role == other->role && one->hidden == other->hidden && a->kind == b->kind &&
           a->line == b->line && is_name_equal(a->function, b->function) &&
           is_text_equal(a->symbol, b->symbol) && is_text_equal(a->file, b->file);
}

static const char *name_of(const struct trace_frame *frame)
{
    const struct trace_location *location = frame->location;
    return location->function ? location->function : location->symbol ? location->symbol : "?";
}

static void tell(int32_t tid, const struct comparison *comparison, size_t count,
                 const struct trace_thread *stopped)
{
    printf("thread %d: %zu frames, stopped %zu\n", tid, count, stopped->frame_count);
    for (size_t i = 0; i < count && i < stopped->frame_count; i++)
        if (!is_equal(&comparison->frames[i], &stopped->frames[i])) {
            printf("  frame %zu: %s, stopped %s\n", i, name_of(&comparison->frames[i]),
                   name_of(&stopped->frames[i]));
            break;
        }
}

static void compare(struct comparison *comparison, int32_t pid, int32_t tid)
{
    char text[256], path[96];
    uint64_t time = 0, runs = 0, later = 0;
    struct psc_error err;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
    int schedstat = open(path, O_RDONLY | O_CLOEXEC);
    if (schedstat < 0 || !live_read_runs(schedstat, &time, &runs) || !runs)
        goto end;
    ssize_t size = read_file(pid, tid, "syscall", text, sizeof(text));
    const char *last = strrchr(text, ' ');
    if (size <= 0 || !last)
        goto end;
    struct live_sleep sleep = {.call = text,
                               .call_size = (size_t)size,
                               .pc = strtoull(last, NULL, 16),
                               .schedstat = schedstat,
                               .runs = runs};
    struct capture_sample fast = {.tid = tid, .sleep = &sleep}, slow = {.tid = tid};
    if (capture_session_begin(comparison->used, &err) != PSC_OK ||
        capture_session_sample(comparison->used, &fast, &err) != PSC_OK ||
        fast.thread->frame_count > FRAME_LIMIT)
        goto end;
    comparison->stopped += fast.stood != 0;
    size_t count = fast.thread->frame_count;
    uint32_t state = fast.thread->state;
    if (fast.stood)
        goto end;
    memcpy(comparison->frames, fast.thread->frames, count * sizeof(*comparison->frames));
    if (capture_session_begin(comparison->fresh, &err) != PSC_OK ||
        capture_session_sample(comparison->fresh, &slow, &err) != PSC_OK ||
        !live_read_runs(schedstat, &time, &later))
        goto end;
    // A stop makes it run to where it stops, and further on.
    if (slow.pc != fast.pc || slow.sp != fast.sp || later > runs + 2) {
        comparison->moved++;
        goto end;
    }
    const uint32_t ours = TRACE_STATE_IDLE | TRACE_STATE_NO_PYTHON | TRACE_STATE_MAIN;
    bool same = count == slow.thread->frame_count && (state & ours) == (slow.thread->state & ours);
    for (size_t i = 0; same && i < count; i++)
        same = is_equal(&comparison->frames[i], &slow.thread->frames[i]);
    comparison->compared++;
    if (!same && comparison->different++ < TOLD)
        tell(tid, comparison, count, slow.thread);
end:
    if (schedstat >= 0)
        close(schedstat);
}

static void compare_all(struct comparison *comparison, int32_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks)))
        if (atoi(entry->d_name) > 0)
            compare(comparison, pid, atoi(entry->d_name));
    if (tasks)
        closedir(tasks);
}

int main(int argc, char **argv)
{
    struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
    struct psc_error err = {0};
    struct comparison comparison = {0};
    if (argc != 3)
        return 2;
    int32_t pid = atoi(argv[1]);
    double end = now() + atof(argv[2]);
    options.python_optional = 1;
    comparison.frames = calloc(FRAME_LIMIT, sizeof(*comparison.frames));
    if (!comparison.frames ||
        capture_session_open(pid, NULL, &options, &comparison.used, &err) != PSC_OK ||
        capture_session_open(pid, NULL, &options, &comparison.fresh, &err) != PSC_OK) {
        fprintf(stderr, "compare_samples: %s\n", err.message);
        return 1;
    }
    while (now() < end) {
        compare_all(&comparison, pid);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    printf("compared %zu different %zu moved %zu stopped %zu\n", comparison.compared,
           comparison.different, comparison.moved, comparison.stopped);
    capture_session_close(comparison.used);
    capture_session_close(comparison.fresh);
    free(comparison.frames);
    return comparison.different != 0;
}
