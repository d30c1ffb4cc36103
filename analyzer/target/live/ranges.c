/* Which memory of a thread is its stack, and which is to be copied while it stands still. */
#include "live_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Taken of a stack of which neither mapping nor end is known, and searched for its end. */
#define UNKNOWN_STACK         ((psc_addr)256 * 1024)
#define LARGEST_UNKNOWN_STACK ((psc_addr)64 * 1024 * 1024)
/* Taken of a stack that lies in other memory than the thread's own: it may be a part of the heap.
 */
#define OTHER_STACK ((psc_addr)1024 * 1024)
/* Mappings that one stack may be split into, by mprotect() or madvise(). */
#define PART_LIMIT 64
/* Room is made ready for so much of one stack; what is deeper is copied a little slower. */
#define LARGEST_READY_STACK ((psc_addr)32 * 1024 * 1024)
/* Pages: more than these are not looked for, nor copied beforehand. */
#define WANTED_LIMIT ((size_t)16384)

static bool may_be_stack(const struct target_mapping *mapping)
{
    return mapping && !mapping->file && mapping->readable && mapping->writable;
}

/*
 * The end of the stack that the thread was started on: the kernel's (with the program's name above
 * argv and environment), or the thread's own block, which glibc and musl put at the end. 0:
 * unknown.
 */
static psc_addr find_own_end(const struct target *target, pid_t tid, psc_addr thread_pointer)
{
    if (tid != target->process.pid)
        return thread_pointer ? thread_pointer + LIVE_PAGE : 0;
    const struct target_mapping *mapping = target_find_mapping(target, target->auxv.execfn);
    return may_be_stack(mapping) ? mapping->end : 0;
}

/* True when memory that may be stack reaches from one address to the other without a hole. */
static bool reaches(const struct target *target, psc_addr from, psc_addr to)
{
    for (size_t i = 0; from < to && i < PART_LIMIT; i++) {
        const struct target_mapping *mapping = target_find_mapping(target, from);
        if (!may_be_stack(mapping))
            return false;
        from = mapping->end;
    }
    return from >= to;
}

bool ranges_find_stack(const struct target *target, const struct live_thread *thread,
                       struct live_range *ret, bool *ret_elsewhere)
{
    struct target_registers registers;
    psc_addr pointer;
    parse_user_registers(target->machine, thread->registers, &registers, &pointer);
    psc_addr sp = target_sp(target, &registers), from = sp - target->machine->red_zone;
    psc_addr own_end = find_own_end(target, thread->tid, pointer);
    const struct target_mapping *mapping = target_find_mapping(target, from);
    *ret_elsewhere = false;
    if (!mapping || !may_be_stack(mapping))
        mapping = target_find_mapping(target, sp);
    if (!mapping) {
        // Mapped since the list was read: a thread that was born since. Its own block is at the
        // end of its stack.
        ret->start = sp;
        ret->end = sp + UNKNOWN_STACK;
        if (pointer > sp && pointer - sp < LARGEST_UNKNOWN_STACK)
            ret->end = pointer + LIVE_PAGE;
        return true;
    }
    if (mapping->file)
        return false;
    ret->start = from < mapping->start ? mapping->start : from;
    ret->end = mapping->end;
    if (own_end > sp && reaches(target, sp, own_end - LIVE_PAGE)) {
        // The block may be in the last page; what lies behind it would end the call that copies.
        const struct target_mapping *last = target_find_mapping(target, own_end - LIVE_PAGE);
        ret->end = last && last->end < own_end ? last->end : own_end;
        return true;
    }
    // A signal's own stack, a coroutine's.
    *ret_elsewhere = own_end != 0;
    if (own_end && ret->end - ret->start > OTHER_STACK)
        ret->end = ret->start + OTHER_STACK;
    return true;
}

/* The lowest address of the stack that ends there. */
static psc_addr find_own_start(const struct target *target, psc_addr end)
{
    psc_addr start = end;
    for (size_t i = 0; start && i < PART_LIMIT; i++) {
        const struct target_mapping *mapping = target_find_mapping(target, start - 1);
        if (!may_be_stack(mapping))
            break;
        start = mapping->start;
    }
    return start;
}

/*
 * What was interrupted left its stack pointer on the other stack: in the signal's frame, or where a
 * coroutine keeps it. All words that point into the stack that the thread was started on are taken
 * for such.
 */
static psc_addr find_lowest_pointer(struct live_pages *pages, const struct live_range *other,
                                    psc_addr start, psc_addr end)
{
    psc_addr lowest = end;
    for (psc_addr at = (other->start + 7) & ~(psc_addr)7; at + 8 <= other->end; at += 8) {
        const uint8_t *page = pages_find(pages, at & ~(LIVE_PAGE - 1));
        if (!page) {
            at = (at | (LIVE_PAGE - 1)) - 7;
            continue;
        }
        psc_addr word = load_u64(page + (at & (LIVE_PAGE - 1)));
        if (word >= start && word < lowest)
            lowest = word;
    }
    return lowest;
}

bool ranges_find_own_stack(struct target *target, const struct live_thread *thread,
                           const struct live_range *other, struct live_range *ret)
{
    struct live *live = live_of(target);
    struct target_registers registers;
    psc_addr pointer;
    parse_user_registers(target->machine, thread->registers, &registers, &pointer);
    psc_addr end = find_own_end(target, thread->tid, pointer);
    // The thread's block may end its mapping, too.
    psc_addr top = target_find_mapping(target, end - 1) ? end : end - LIVE_PAGE;
    psc_addr start = find_own_start(target, top);
    psc_addr lowest = find_lowest_pointer(&live->pages, other, start, top);
    psc_addr red_zone = target->machine->red_zone;
    *ret = (struct live_range){lowest - start > red_zone ? lowest - red_zone : start, end};
    return lowest < top;
}

bool ranges_find_block(const struct target *target, const struct live_thread *thread,
                       struct live_range *ret)
{
    struct target_registers registers;
    psc_addr pointer;
    parse_user_registers(target->machine, thread->registers, &registers, &pointer);
    const struct target_mapping *mapping = target_find_mapping(target, pointer);
    if (!mapping)
        return false;
    *ret = (struct live_range){mapping->start, mapping->end};
    if (pointer - ret->start > LIVE_PAGE)
        ret->start = pointer - LIVE_PAGE;
    if (ret->end - pointer > LIVE_PAGE)
        ret->end = pointer + LIVE_PAGE;
    return true;
}

/* ---- before the stop, so that it is short ---- */

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
