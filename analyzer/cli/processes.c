/* The processes that options name, and all that descend from them. */
#include "processes.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a command line that are looked at: more than one that a person writes. */
#define COMMAND_LIMIT ((size_t)256 * 1024)

struct process {
    int32_t pid;
    int32_t parent;
};

struct process_list {
    struct process *items;
    size_t count;
    size_t capacity;
};

/* A list in the making. */
struct choice {
    int32_t *pids;
    size_t count;
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

static bool add_process(struct process_list *list, const char *pid)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 256;
        struct process *grown = realloc(list->items, capacity * sizeof(*grown));
        if (!grown)
            return false;
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = (struct process){(int32_t)strtol(pid, NULL, 10), read_parent(pid)};
    return true;
}

static struct process_list list_processes(void)
{
    struct process_list list = {0};
    const struct dirent *entry;
    DIR *folder = opendir("/proc");
    while (folder && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]) && !add_process(&list, entry->d_name))
            break;
    if (folder)
        closedir(folder);
    return list;
}

/* ---- by command line ---- */

/* proc(5): the arguments, each ended by a zero, here by a blank; "" of what cannot be looked at. */
static void read_command(int32_t pid, char *ret)
{
    char path[64];
    size_t size = 0;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && size < COMMAND_LIMIT - 1) {
        ssize_t got = read(fd, ret + size, COMMAND_LIMIT - 1 - size);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    while (size && !ret[size - 1])
        size--;
    for (size_t i = 0; i < size; i++)
        if (!ret[i])
            ret[i] = ' ';
    ret[size] = '\0';
}

static int32_t parent_of(const struct process_list *list, int32_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].pid == pid)
            return list->items[i].parent;
    return -1;
}

static bool is_ancestor(const struct process_list *list, int32_t pid)
{
    int32_t at = getpid();
    for (size_t i = 0; i < list->count && at > 0; i++) {
        at = parent_of(list, at);
        if (at == pid)
            return true;
    }
    return false;
}

/*
 * Not this program, nor what started it with these very words: `sh -c`, `sudo`, `timeout`. Their
 * command lines hold the expression.
 */
static bool is_match(const struct options *options, const struct process_list *list, int32_t pid,
                     char *command)
{
    if (pid == getpid())
        return false;
    read_command(pid, command);
    return command[0] && !regexec(&options->match, command, 0, NULL, 0) &&
           !(strstr(command, "--match") && is_ancestor(list, pid));
}

/* ---- the list ---- */

static void choose(struct choice *choice, int32_t pid)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->pids[i] == pid)
            return;
    choice->pids[choice->count++] = pid;
}

/* Levels of its descendants behind a process that was chosen alone. */
static void choose_descendants(struct choice *tree, const struct process_list *list, int32_t depth)
{
    size_t first = 0;
    for (int32_t level = 0; first < tree->count && (!depth || level < depth); level++) {
        size_t end = tree->count;
        for (; first < end; first++)
            for (size_t i = 0; i < list->count; i++)
                if (list->items[i].parent == tree->pids[first])
                    choose(tree, list->items[i].pid);
    }
}

static void choose_roots(struct choice *roots, const struct options *options,
                         const struct process_list *list, char *command)
{
    for (size_t i = 0; i < options->pid_count; i++)
        choose(roots, options->pids[i]);
    for (size_t i = 0; options->matches && i < list->count; i++)
        if (is_match(options, list, list->items[i].pid, command))
            choose(roots, list->items[i].pid);
}

int32_t *list_chosen_processes(const struct options *options, size_t *ret_count)
{
    struct process_list list = list_processes();
    size_t most = options->pid_count + list.count + 1;
    char *command = malloc(COMMAND_LIMIT);
    struct choice roots = {calloc(most, sizeof(int32_t)), 0};
    struct choice tree = {calloc(most, sizeof(int32_t)), 0};
    struct choice chosen = {calloc(most, sizeof(int32_t)), 0};
    bool good = command && roots.pids && tree.pids && chosen.pids;
    if (good)
        choose_roots(&roots, options, &list, command);
    for (size_t i = 0; good && i < roots.count; i++) {
        tree.pids[0] = roots.pids[i];
        tree.count = 1;
        if (options->children)
            choose_descendants(&tree, &list, options->depth);
        for (size_t j = 0; j < tree.count; j++)
            choose(&chosen, tree.pids[j]);
    }
    free(command);
    free(list.items);
    free(roots.pids);
    free(tree.pids);
    if (!good) {
        free(chosen.pids);
        chosen.pids = NULL;
    }
    *ret_count = chosen.count;
    return chosen.pids;
}
