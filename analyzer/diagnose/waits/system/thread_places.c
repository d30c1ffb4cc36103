/* Where threads sleep: proc(5), /proc/PID/task/TID/syscall and wchan. */
#include "system_private.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* restart_syscall of every machine is told as the number; see target_find_waiting_call(). */
enum place { PLACE_THERE, PLACE_ELSEWHERE, PLACE_RUNNING };

static enum place find_place(const struct system *system, int32_t tid, uint64_t argument)
{
    char path[64];
    char call[256];
    uint64_t first;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", system->pid, tid);
    if (!system_read_file(path, call, sizeof(call)))
        return PLACE_ELSEWHERE;
    if (!strncmp(call, "running", 7))
        return PLACE_RUNNING;
    return sscanf(call, "%*u 0x%" SCNx64, &first) == 1 && first == argument ? PLACE_THERE
                                                                            : PLACE_ELSEWHERE;
}

bool system_find_function(const struct system *system, int32_t tid, char ret[64])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", system->pid, tid);
    bool found = system_read_file(path, ret, 64) && strcmp(ret, "0") != 0;
    if (!found)
        ret[0] = '\0';
    return found;
}

bool system_find_place(struct system *system, int32_t tid, uint64_t argument, char ret[64])
{
    enum place place = find_place(system, tid, argument);
    ret[0] = '\0';
    // One that was stopped has to get the processor once before it sleeps again.
    for (; place == PLACE_RUNNING && system->patience; system->patience--) {
        (void)poll(NULL, 0, 1);
        place = find_place(system, tid, argument);
    }
    if (place != PLACE_THERE)
        return false;
    (void)system_find_function(system, tid, ret);
    return true;
}
