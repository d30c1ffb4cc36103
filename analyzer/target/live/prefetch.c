/* What is made ready before a living process is stopped, so that the stop is short. */
#include "live_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room is made ready for so much of one stack; what is deeper is copied a little slower. */
#define LARGEST_READY_STACK ((psc_addr)32 * 1024 * 1024)

/* Where the stack of a thread that waits begins (proc(5), /proc/PID/syscall); 0: it runs. */
static psc_addr read_stack_pointer(const struct live *live, const char *tid)
{
    char path[64], text[512];
    unsigned long long sp = 0;
    snprintf(path, sizeof(path), "../%.16s/syscall", tid);
    int fd = openat(live->folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    // The last two words are the stack pointer and the program counter.
    char *last = strrchr(text, ' ');
    if (last)
        *last = '\0';
    last = last ? strrchr(text, ' ') : NULL;
    return last && sscanf(last, " 0x%llx", &sp) == 1 ? sp : 0;
}

/* How many bytes of stacks there are, about. */
static size_t estimate_stacks(struct target *target)
{
    const struct live *live = live_of(target);
    size_t total = 0;
    int fd = openat(live->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks))) {
        psc_addr sp = entry->d_name[0] == '.' ? 0 : read_stack_pointer(live, entry->d_name);
        const struct target_mapping *mapping = sp ? target_find_mapping(target, sp) : NULL;
        psc_addr size = mapping && !mapping->file ? mapping->end - sp : 0;
        total += size < LARGEST_READY_STACK ? size : LARGEST_READY_STACK;
    }
    if (tasks)
        closedir(tasks);
    else if (fd >= 0)
        close(fd);
    return total;
}

void visit_now(struct target *target, const struct live_request *request)
{
    target->stands = true;
    request->visit(request->context);
    target->stands = false;
}

/* Pages: more than these are not looked for, nor copied beforehand. */
#define WANTED_LIMIT ((size_t)16384)

/*
 * Lets the visitor read while the process runs, as it is going to in the stop. What it gets may be
 * a mixture of moments and is thrown away, but most of its pages will be read again.
 * @return how many pages those are.
 */
static size_t find_wanted(struct target *target, const struct live_request *request)
{
    struct live *live = live_of(target);
    size_t warnings = target->warnings.count, threads = target->thread_count;
    size_t count = 0, used = 0;
    free(live->wanted);
    live->wanted = NULL;
    live->wanted_count = 0;
    // Registers of an earlier snapshot would lead astray.
    target->thread_count = 0;
    live->pages.most = WANTED_LIMIT;
    visit_now(target, request);
    live->pages.most = 0;
    target->thread_count = threads;
    target->warnings.count = warnings;
    PSC_CLEANUP(cleanup_free) psc_addr *pages = pages_list(&live->pages, &count);
    if (count > WANTED_LIMIT)
        count = WANTED_LIMIT;
    live->wanted = calloc(count ? count : 1, sizeof(*live->wanted));
    for (size_t i = 0; live->wanted && i < count; i++) {
        // A page that may not be read, a guard between stacks, would end the call that copies.
        const struct target_mapping *mapping = target_find_mapping(target, pages[i]);
        if (!mapping || !mapping->readable)
            continue;
        if (used && live->wanted[used - 1].end == pages[i])
            live->wanted[used - 1].end += LIVE_PAGE;
        else
            live->wanted[used++] = (struct live_range){pages[i], pages[i] + LIVE_PAGE};
    }
    live->wanted_count = used;
    return live->wanted ? count : 0;
}

bool prefetch_for_snapshot(struct target *target, const struct live_request *request)
{
    struct live *live = live_of(target);
    size_t size = find_wanted(target, request) * LIVE_PAGE + estimate_stacks(target);
    pages_clear(&live->pages);
    return stacks_init(&live->stacks, size);
}
