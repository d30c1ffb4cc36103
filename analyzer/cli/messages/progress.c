/* One line on a terminal while a child works, until it or this process says something else. */
#include "messages.h"

#include "base.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Work that is over by then is not told of; afterwards the line is written anew so often. */
#define TELL_MILLISECONDS 1000
/* Bytes of a name that fit on a line. */
#define NAME_LIMIT 48

static const char erase[] = "\r\033[K";

static struct {
    const char *what;
    const char *name;
    struct timespec began;
    int told; /* Seconds. */
    /* Of this process and of its children. */
    struct progress_state {
        atomic_bool over, shown;
    } * state;
} progress;

static int milliseconds_since(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)(now.tv_sec - begin->tv_sec) * 1000 +
           (int)((now.tv_nsec - begin->tv_nsec) / 1000000);
}

void progress_begin(const char *what, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (progress.state || !isatty(STDERR_FILENO))
        return;
    void *state = mmap(NULL, sizeof(*progress.state), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED)
        return;
    progress.state = state;
    progress.what = what;
    progress.name = slash && slash[1] ? slash + 1 : path;
    clock_gettime(CLOCK_MONOTONIC, &progress.began);
}

int progress_wait(void)
{
    if (!progress.state || atomic_load(&progress.state->over))
        return -1;
    int left = (progress.told + 1) * TELL_MILLISECONDS - milliseconds_since(&progress.began);
    return left > 0 ? left : 0;
}

void progress_tell(void)
{
    char name[NAME_LIMIT + 1];
    if (progress_wait() != 0)
        return;
    progress.told = milliseconds_since(&progress.began) / TELL_MILLISECONDS;
    atomic_store(&progress.state->shown, true);
    snprintf(name, sizeof(name), "%s", progress.name);
    struct text escaped = {0};
    text_add_escaped(&escaped, name);
    fprintf(stderr, "%s%s %s, %d s", erase, progress.what,
            escaped.failed || !escaped.data ? "" : escaped.data, progress.told);
    fflush(stderr);
    text_deinit(&escaped);
    // The child has erased it before it was there.
    if (atomic_load(&progress.state->over))
        fputs(erase, stderr);
}

void progress_end(void)
{
    if (progress.state && !atomic_exchange(&progress.state->over, true) &&
        atomic_load(&progress.state->shown) && write(STDERR_FILENO, erase, strlen(erase)) < 0)
        progress.told = 0; // Nobody is there to see it.
}
