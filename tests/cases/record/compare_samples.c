/**
 * @file
 * Samples of threads that sleep, taken without a stop and not walked again where nothing has
 * changed, beside those of the same threads when they are stopped and walked.
 *
 *     compare_samples PID SECONDS          threads that sleep
 *     compare_samples PID SECONDS stopped  all threads, where a signal stops them now and then
 *
 * In the second form nothing moves between both looks, so that threads that run are compared, too:
 * what the first session takes from its last samples, the second one reads and merges each time.
 *
 * Prints how many were compared, how many differ, and the first that do. Frames that are not shown
 * are not compared: of the interpreter's own an inlined call or a line is known once it was shown
 * for any thread of the session.
 */
#include "capture.h"
#include "live.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TOLD 5
/* On a busy machine it takes longer until so many are compared of a process that stands. */
#define STANDING_LEAST   60
#define STANDING_SECONDS 60

/* The frames of a thread as they were walked last. */
struct walked_thread {
    uint64_t tid;
    struct trace_frame *frames;
    size_t count;
};

struct comparison {
    struct capture_session *used;
    struct capture_session *fresh;
    struct hash_table walked;
    size_t compared, different, moved, stopped, unchanged;
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

static void tell_frame(const char *which, const struct trace_frame *frame)
{
    const struct trace_location *location = frame->location;
    printf("  %s%s %s:%u, pc %llx, sp %llx, role %u\n", which, name_of(frame),
           location->file ? location->file : "?", (unsigned)location->line,
           (unsigned long long)frame->pc, (unsigned long long)frame->sp, (unsigned)frame->role);
}

/* The next one that is shown, or NULL. */
static const struct trace_frame *next_shown(const struct trace_frame *frames, size_t count,
                                            size_t *at)
{
    while (*at < count && frames[*at].hidden)
        ++*at;
    return *at < count ? &frames[(*at)++] : NULL;
}

static bool are_same(const struct walked_thread *one, const struct trace_thread *other, bool tells)
{
    size_t at = 0, other_at = 0;
    for (;;) {
        const struct trace_frame *a = next_shown(one->frames, one->count, &at);
        const struct trace_frame *b = next_shown(other->frames, other->frame_count, &other_at);
        if (a && b && is_equal(a, b))
            continue;
        if (tells && a)
            tell_frame("", a);
        if (tells && b)
            tell_frame("stopped ", b);
        return !a && !b;
    }
}

static struct walked_thread *find_walked(struct comparison *comparison, int32_t tid)
{
    struct walked_thread *walked = hash_table_find(&comparison->walked, (uint64_t)tid);
    return walked ? walked : hash_table_add(&comparison->walked, (uint64_t)tid);
}

static bool keep_frames(struct walked_thread *walked, const struct trace_thread *thread)
{
    size_t size = thread->frame_count * sizeof(*walked->frames);
    struct trace_frame *frames = realloc(walked->frames, size ? size : 1);
    if (!frames)
        return false;
    if (size)
        memcpy(frames, thread->frames, size);
    walked->frames = frames;
    walked->count = thread->frame_count;
    return true;
}

static void compare(struct comparison *comparison, int32_t pid, int32_t tid)
{
    char text[256], path[96];
    uint64_t time = 0, runs = 0, before = 0, later = 0;
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
    struct walked_thread *walked = find_walked(comparison, tid);
    if (!walked)
        goto end;
    struct capture_sample fast = {.tid = tid, .sleep = &sleep, .has_frames = walked->frames},
                          slow = {.tid = tid, .afresh = true};
    if (capture_session_begin(comparison->used, &err) != PSC_OK ||
        capture_session_sample(comparison->used, &fast, &err) != PSC_OK ||
        (!fast.unchanged && !keep_frames(walked, fast.thread)))
        goto end;
    comparison->unchanged += fast.unchanged;
    comparison->stopped += fast.stood != 0;
    uint32_t state = fast.thread->state;
    if (fast.stood)
        goto end;
    if (capture_session_begin(comparison->fresh, &err) != PSC_OK ||
        !live_read_runs(schedstat, &time, &before) ||
        capture_session_sample(comparison->fresh, &slow, &err) != PSC_OK ||
        !live_read_runs(schedstat, &time, &later))
        goto end;
    // A stop makes it run to where it stops, and further on.
    if (before != runs || slow.pc != fast.pc || slow.sp != fast.sp || later > runs + 2) {
        comparison->moved++;
        goto end;
    }
    const uint32_t ours = TRACE_STATE_IDLE | TRACE_STATE_NO_PYTHON | TRACE_STATE_MAIN;
    bool same =
        (state & ours) == (slow.thread->state & ours) && are_same(walked, slow.thread, false);
    comparison->compared++;
    if (!same && comparison->different++ < TOLD) {
        printf("thread %d%s, state %x, stopped %x\n", tid, fast.unchanged ? ", unchanged" : "",
               (unsigned)state, (unsigned)slow.thread->state);
        (void)are_same(walked, slow.thread, true);
    }
end:
    if (schedstat >= 0)
        close(schedstat);
}

/* One of a process that stands. */
static void compare_standing(struct comparison *comparison, int32_t pid, int32_t tid)
{
    struct psc_error err;
    struct capture_sample one = {.tid = tid}, other = {.tid = tid, .afresh = true};
    struct walked_thread *walked = find_walked(comparison, tid);
    (void)pid;
    if (!walked || capture_session_begin(comparison->used, &err) != PSC_OK ||
        capture_session_sample(comparison->used, &one, &err) != PSC_OK ||
        !keep_frames(walked, one.thread))
        return;
    uint32_t state = one.thread->state;
    if (capture_session_begin(comparison->fresh, &err) != PSC_OK ||
        capture_session_sample(comparison->fresh, &other, &err) != PSC_OK)
        return;
    if (!one.suspended || !other.suspended || one.pc != other.pc || one.sp != other.sp) {
        comparison->moved++;
        return;
    }
    comparison->compared++;
    comparison->stopped++;
    if (state == other.thread->state && are_same(walked, other.thread, false))
        return;
    if (comparison->different++ < TOLD) {
        printf("thread %d, state %x, afresh %x\n", tid, (unsigned)state,
               (unsigned)other.thread->state);
        (void)are_same(walked, other.thread, true);
    }
}

typedef void (*compare_fn)(struct comparison *comparison, int32_t pid, int32_t tid);

static void compare_all(struct comparison *comparison, int32_t pid, compare_fn compare_thread)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks)))
        if (atoi(entry->d_name) > 0)
            compare_thread(comparison, pid, atoi(entry->d_name));
    if (tasks)
        closedir(tasks);
}

int main(int argc, char **argv)
{
    struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
    struct psc_error err = {0};
    struct comparison comparison = {0};
    if (argc != 3 && argc != 4)
        return 2;
    int32_t pid = atoi(argv[1]);
    double end = now() + atof(argv[2]);
    options.python_optional = 1;
    comparison.walked = HASH_TABLE_OF(struct walked_thread);
    if (capture_session_open(pid, NULL, &options, &comparison.used, &err) != PSC_OK ||
        capture_session_open(pid, NULL, &options, &comparison.fresh, &err) != PSC_OK) {
        fprintf(stderr, "compare_samples: %s\n", err.message);
        return 1;
    }
    bool stands = argc == 4;
    while (now() < end ||
           (stands && comparison.compared < STANDING_LEAST && now() < end + STANDING_SECONDS)) {
        if (stands) {
            kill(pid, SIGSTOP);
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        compare_all(&comparison, pid, stands ? compare_standing : compare);
        if (stands)
            kill(pid, SIGCONT);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    printf("compared %zu different %zu moved %zu stopped %zu unchanged %zu\n", comparison.compared,
           comparison.different, comparison.moved, comparison.stopped, comparison.unchanged);
    capture_session_close(comparison.used);
    capture_session_close(comparison.fresh);
    for (size_t i = 0; i < comparison.walked.count; i++)
        free(((struct walked_thread *)hash_table_at(&comparison.walked, i))->frames);
    hash_table_deinit(&comparison.walked);
    return comparison.different != 0;
}
