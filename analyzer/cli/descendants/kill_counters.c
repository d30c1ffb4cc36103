/*
 * Kills for lack of memory, as cgroups count them (Documentation/admin-guide/cgroup-v2.rst,
 * memory.events; cgroup-v1/memory.rst, memory.oom_control): in the group of the process that was
 * killed, before it is killed.
 */
#include "descendants_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS_LIMIT 1024u

static bool read_count(const struct kill_counter *counter, uint64_t *ret)
{
    char text[1024];
    int fd = open(counter->path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    const char *found = strstr(text, "oom_kill ");
    if (found)
        *ret = strtoull(found + 9, NULL, 10);
    return found;
}

static struct kill_counter *find(const struct kill_counters *counters, const char *path)
{
    for (size_t i = 0; i < counters->count; i++)
        if (!strcmp(counters->items[i]->path, path))
            return counters->items[i];
    return NULL;
}

/* Takes the path over. NULL: it cannot be read. */
static struct kill_counter *add(struct kill_counters *counters, char *path)
{
    struct kill_counter *counter = path ? find(counters, path) : NULL;
    if (counter || !path || counters->count >= GROUPS_LIMIT) {
        free(path);
        return counter;
    }
    if (counters->count == counters->capacity) {
        size_t capacity = counters->capacity ? 2 * counters->capacity : 8;
        struct kill_counter **grown =
            reallocarray(counters->items, capacity, sizeof(struct kill_counter *));
        if (!grown) {
            free(path);
            return NULL;
        }
        counters->items = grown;
        counters->capacity = capacity;
    }
    counter = calloc(1, sizeof(*counter));
    if (counter)
        counter->path = path;
    if (!counter || !read_count(counter, &counter->told)) {
        free(counter);
        free(path);
        return NULL;
    }
    counters->items[counters->count++] = counter;
    return counter;
}

/* Where no path of the host's is seen, the group itself is mounted: in a container. */
static struct kill_counter *find_below(struct kill_counters *counters, const char *top,
                                       const char *group, const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s/%s", top, strcmp(group, "/") ? group : "", name) < 0)
        return NULL;
    struct kill_counter *counter = add(counters, path);
    if (counter)
        return counter;
    return asprintf(&path, "%s/%s", top, name) < 0 ? NULL : add(counters, path);
}

/* A line of /proc/PID/cgroup: "4:memory:/group", "0::/group" (cgroups(7)). */
static struct kill_counter *find_line(struct kill_counters *counters, char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return NULL;
    *group++ = '\0';
    controllers++;
    if (!*controllers)
        return find_below(counters, "/sys/fs/cgroup", group, "memory.events");
    return strcmp(controllers, "memory")
               ? NULL
               : find_below(counters, "/sys/fs/cgroup/memory", group, "memory.oom_control");
}

struct kill_counter *kill_counters_find(struct kill_counters *counters, pid_t pid)
{
    struct kill_counter *found = NULL;
    char *text = process_file_read(pid, "cgroup", 16384, NULL), *rest = NULL;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line && !found;
         line = strtok_r(NULL, "\n", &rest))
        found = find_line(counters, line);
    free(text);
    return found;
}

bool kill_counter_take(struct kill_counters *counters, const char *path)
{
    struct kill_counter *counter = find(counters, path);
    uint64_t count = 0;
    if (!counter || !read_count(counter, &count) || count <= counter->told)
        return false;
    counter->told++;
    return true;
}

void kill_counters_deinit(struct kill_counters *counters)
{
    for (size_t i = 0; i < counters->count; i++) {
        free(counters->items[i]->path);
        free(counters->items[i]);
    }
    free(counters->items);
}
