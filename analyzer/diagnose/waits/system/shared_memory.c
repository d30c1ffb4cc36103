/* Memory that processes share: proc(5), /proc/PID/maps. */
#include "system_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A line without its path, which is not read. */
#define LINE_SIZE 256

bool system_find_shared(const struct system *system, psc_addr address, char ret[SYSTEM_SHARED_TEXT])
{
    char path[64];
    char line[LINE_SIZE];
    bool found = false;
    bool begins = true; /* A line that is longer comes in parts. */
    snprintf(path, sizeof(path), "/proc/%d/maps", system->pid);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        uint64_t start;
        uint64_t end;
        uint64_t offset;
        uint64_t inode;
        unsigned device[2];
        char shared;
        bool whole = begins;
        begins = strchr(line, '\n') != NULL;
        // "7f40-7f41 rw-s 00000000 00:1b 1453 /dev/shm/sem.wiatHe (deleted)"
        if (!whole ||
            sscanf(line, "%" SCNx64 "-%" SCNx64 " %*3c%c %" SCNx64 " %x:%x %" SCNu64, &start, &end,
                   &shared, &offset, &device[0], &device[1], &inode) != 7 ||
            address < start || address >= end)
            continue;
        if (shared != 's' || !inode)
            break;
        snprintf(ret, SYSTEM_SHARED_TEXT, "%x:%x:%" PRIu64 "+%" PRIu64, device[0], device[1], inode,
                 offset + (address - start));
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}
