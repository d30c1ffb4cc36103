/* What a system call's arguments point to, read while the process stands still. */
#include "waits_private.h"

#include <string.h>

/* uapi/asm-generic/poll.h: struct pollfd {int fd; short events, revents}. */
#define POLLFD_SIZE 8u
#define POLL_IN     1
#define POLL_OUT    4
/* Sets of select(2) that are looked at: FD_SETSIZE. */
#define SET_BYTES 128u
/* include/uapi/linux/futex.h: FUTEX_WAIT_BITSET with an absolute time, and its clock. */
#define FUTEX_COMMAND  0x7fu
#define FUTEX_BITSET   9u
#define FUTEX_REALTIME 0x100u
#define FUTEX_LOCK_PI  6u
/* include/uapi/linux/time.h */
#define CLOCK_OF_DAY      0
#define CLOCK_SINCE_START 1
#define TIMER_IS_ABSOLUTE 1

/* Bytes of a path that are kept. */
#define PATH_LIMIT 512u

const struct wait_open_call *waits_find_open_call(const char *name)
{
    static const struct wait_open_call calls[] = {
        {"open", -1, 0, 1},
        {"creat", -1, 0, -1},
        {"openat", 0, 1, 2},
        {"openat2", 0, 1, -1},
    };
    for (size_t i = 0; name && i < PSC_ARRAY_SIZE(calls); i++)
        if (!strcmp(calls[i].name, name))
            return &calls[i];
    return NULL;
}

static void read_path(struct waits *waits, struct wait_facts *facts)
{
    const struct wait_open_call *call = waits_find_open_call(facts->call);
    char path[PATH_LIMIT];
    if (call && target_read_string(waits->input.target, facts->arguments[call->path], path,
                                   sizeof(path)) == PSC_OK)
        facts->path = arena_strdup(waits->arena, path);
}

static void add_descriptor(struct wait_facts *facts, int32_t fd, bool writes)
{
    if (fd < 0)
        return;
    facts->descriptor_total++;
    if (facts->descriptor_count < WAIT_DESCRIPTOR_LIMIT)
        facts->descriptors[facts->descriptor_count++] =
            (struct wait_descriptor){.fd = fd, .writes = writes};
}

static void read_poll(struct target *target, struct wait_facts *facts)
{
    uint8_t bytes[64 * POLLFD_SIZE];
    size_t count = facts->arguments[1] < 64 ? (size_t)facts->arguments[1] : 64;
    count = target_read_some(target, facts->arguments[0], bytes, count * POLLFD_SIZE) / POLLFD_SIZE;
    for (size_t i = 0; i < count; i++) {
        uint16_t events = load_u16(bytes + i * POLLFD_SIZE + 4);
        add_descriptor(facts, (int32_t)load_u32(bytes + i * POLLFD_SIZE),
                       (events & POLL_OUT) && !(events & POLL_IN));
    }
    if (facts->arguments[1] > 64)
        facts->descriptor_total += (size_t)(facts->arguments[1] - 64);
}

/* The kernel changes the sets when it returns only. */
static void read_set(struct target *target, psc_addr set, size_t highest, bool writes,
                     struct wait_facts *facts)
{
    uint8_t bits[SET_BYTES];
    size_t size = (highest + 63) / 64 * 8;
    if (!set || size > sizeof(bits) || target_read(target, set, bits, size) != PSC_OK)
        return;
    for (size_t fd = 0; fd < highest; fd++)
        if (bits[fd / 8] & 1u << fd % 8)
            add_descriptor(facts, (int32_t)fd, writes);
}

static void read_select(struct target *target, struct wait_facts *facts)
{
    if (facts->arguments[0] > (uint64_t)8 * SET_BYTES)
        return;
    size_t highest = (size_t)facts->arguments[0];
    read_set(target, facts->arguments[1], highest, false, facts);
    read_set(target, facts->arguments[2], highest, true, facts);
}

/* The time at which it ends, where that is absolute. */
static void read_deadline(struct target *target, psc_addr address, int clock,
                          struct wait_facts *facts)
{
    uint8_t bytes[16];
    if (!address || target_read(target, address, bytes, sizeof(bytes)) != PSC_OK)
        return;
    facts->deadline = (double)(int64_t)load_u64(bytes) + (double)load_u64(bytes + 8) / 1e9;
    facts->clock = clock;
    facts->has_deadline = true;
}

static bool is_call(const struct wait_facts *facts, const char *name)
{
    return !strcmp(facts->call, name);
}

static void read_times(struct target *target, struct wait_facts *facts)
{
    uint64_t operation = facts->arguments[1];
    uint64_t command = operation & FUTEX_COMMAND;
    if (is_call(facts, "futex")) {
        facts->timed = facts->arguments[3] != 0;
        if (command == FUTEX_BITSET || command == FUTEX_LOCK_PI)
            read_deadline(target, facts->arguments[3],
                          command == FUTEX_LOCK_PI || operation & FUTEX_REALTIME
                              ? CLOCK_OF_DAY
                              : CLOCK_SINCE_START,
                          facts);
    } else if (is_call(facts, "clock_nanosleep")) {
        int32_t clock = (int32_t)facts->arguments[0];
        facts->timed = true;
        if ((facts->arguments[1] & TIMER_IS_ABSOLUTE) &&
            (clock == CLOCK_OF_DAY || clock == CLOCK_SINCE_START))
            read_deadline(target, facts->arguments[2], clock, facts);
    } else if (is_call(facts, "nanosleep")) {
        facts->timed = true;
    } else if (is_call(facts, "poll")) {
        facts->timed = (int32_t)facts->arguments[2] >= 0;
    } else if (is_call(facts, "epoll_wait") || is_call(facts, "epoll_pwait")) {
        facts->timed = (int32_t)facts->arguments[3] >= 0;
    } else if (is_call(facts, "epoll_pwait2") || is_call(facts, "semtimedop")) {
        facts->timed = facts->arguments[3] != 0;
    } else if (is_call(facts, "ppoll") || is_call(facts, "rt_sigtimedwait")) {
        facts->timed = facts->arguments[2] != 0;
    } else if (is_call(facts, "select") || is_call(facts, "pselect6")) {
        facts->timed = facts->arguments[4] != 0;
    }
}

void waits_read_details(struct waits *waits, struct wait_facts *facts)
{
    struct target *target = waits->input.target;
    if (!facts->call)
        return;
    read_times(target, facts);
    read_path(waits, facts);
    if (is_call(facts, "poll") || is_call(facts, "ppoll"))
        read_poll(target, facts);
    else if (is_call(facts, "select") || is_call(facts, "pselect6"))
        read_select(target, facts);
}
