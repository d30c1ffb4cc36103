/* A process and all that descend from it. */
#include "children.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process {
    int32_t pid;
    int32_t parent;
};

/* proc(5): the name, in parentheses, may hold anything; state and parent follow. */
static int32_t read_parent(const char *pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *end = strrchr(text, ')');
    const char *parent = end ? strpbrk(end, "0123456789") : NULL;
    return parent ? (int32_t)strtol(parent, NULL, 10) : -1;
}

static struct process *list_processes(size_t *ret_count)
{
    struct process *list = NULL;
    size_t count = 0, capacity = 0;
    const struct dirent *entry;
    DIR *folder = opendir("/proc");
    while (folder && (entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 256;
            struct process *grown = realloc(list, capacity * sizeof(*list));
            if (!grown)
                break;
            list = grown;
        }
        list[count++] =
            (struct process){(int32_t)strtol(entry->d_name, NULL, 10), read_parent(entry->d_name)};
    }
    if (folder)
        closedir(folder);
    *ret_count = count;
    return list;
}

int32_t *list_descendants(int32_t pid, size_t *ret_count)
{
    size_t process_count, found = 0;
    struct process *processes = list_processes(&process_count);
    int32_t *pids = calloc(process_count + 1, sizeof(*pids));
    if (pids)
        pids[found++] = pid;
    // Each process has one parent, so that each is found once at most.
    for (size_t i = 0; i < found; i++)
        for (size_t j = 0; j < process_count && found <= process_count; j++)
            if (processes[j].parent == pids[i] && processes[j].pid != pid)
                pids[found++] = processes[j].pid;
    free(processes);
    *ret_count = found;
    return pids;
}
