/* Threads that wait in the kernel where nothing can stop them. */
#include "live_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blanks, then a number, decimal or hexadecimal behind 0x; negative ones wrap around. */
static bool take_number(const char **at, uint64_t *ret)
{
    char *end;
    *ret = strtoull(*at, &end, 0);
    bool taken = end != *at;
    *at = end;
    return taken;
}

bool parse_waiting(const char *text, size_t size, uint8_t ret[TARGET_USER_REGISTERS_LIMIT])
{
    /*
     * fs/proc/base.c, proc_pid_syscall(): "running", "-1 sp pc" where it is in no system call, or
     * "number a1 a2 a3 a4 a5 a6 sp pc".
     */
    const uint8_t *places = target_machine_here()->user_syscall_words;
    uint64_t numbers[TARGET_SYSCALL_WORDS];
    char line[256];
    size_t count = 0;
    if (size >= sizeof(line))
        return false;
    memcpy(line, text, size);
    line[size] = '\0';
    for (const char *at = line; count < TARGET_SYSCALL_WORDS && take_number(&at, &numbers[count]);)
        count++;
    memset(ret, 0, TARGET_USER_REGISTERS_LIMIT);
    if (count != TARGET_SYSCALL_WORDS && (count != 3 || numbers[0] != UINT64_MAX))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t place = places[count == 3 && i ? TARGET_SYSCALL_WORDS - 3 + i : i];
        memcpy(ret + 8 * place, &numbers[i], sizeof(numbers[i]));
    }
    return true;
}

static bool read_waiting(const struct live_stop *stop, pid_t tid,
                         uint8_t ret[TARGET_USER_REGISTERS_LIMIT])
{
    char path[64];
    struct live_text text = {0};
    snprintf(path, sizeof(path), "%d/syscall", tid);
    bool waits = !live_read_path(dirfd(stop->tasks), path, &text) && text.size &&
                 parse_waiting(text.bytes, text.size, ret);
    free(text.bytes);
    return waits;
}

void stop_read_waiting(struct live_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        if (!thread->stopped && !thread->gone)
            thread->waits = read_waiting(stop, thread->tid, thread->registers);
    }
}

void stop_check_waiting(struct live_stop *stop)
{
    uint8_t now[TARGET_USER_REGISTERS_LIMIT];
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        if (thread->waits)
            thread->waits = read_waiting(stop, thread->tid, now) &&
                            !memcmp(now, thread->registers, sizeof(now));
    }
}
