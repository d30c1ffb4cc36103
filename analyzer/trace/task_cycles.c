/*
 * Tasks that wait for each other. The groups of tasks each of which is reached from each are
 * found by Tarjan's algorithm, without recursion; of each group one cycle is told.
 */
#include "trace.h"

#include <stdlib.h>

#define CYCLE_LIMIT 1000u
#define NOT_MET     SIZE_MAX

struct node {
    size_t number; /* In the order of meeting. */
    size_t low;
    size_t edge;  /* The next one to follow. */
    size_t group; /* NOT_MET: not yet known. */
};

struct search {
    const struct trace_tasks *tasks;
    struct node *nodes;
    size_t *way; /* The tasks from the root to the one at hand. */
    size_t way_count;
    size_t *open; /* Tasks whose group is not known yet. */
    size_t open_count;
    size_t met;
    size_t groups;
};

static void enter(struct search *search, size_t task)
{
    struct node *node = &search->nodes[task];
    node->number = node->low = search->met++;
    search->way[search->way_count++] = task;
    search->open[search->open_count++] = task;
}

static void leave(struct search *search, size_t task)
{
    const struct node *node = &search->nodes[task];
    search->way_count--;
    if (search->way_count) {
        struct node *before = &search->nodes[search->way[search->way_count - 1]];
        before->low = node->low < before->low ? node->low : before->low;
    }
    if (node->low != node->number)
        return;
    size_t member;
    do {
        member = search->open[--search->open_count];
        search->nodes[member].group = search->groups;
    } while (member != task);
    search->groups++;
}

static void walk(struct search *search, size_t root)
{
    enter(search, root);
    while (search->way_count) {
        size_t at = search->way[search->way_count - 1];
        const struct trace_task *task = &search->tasks->items[at];
        struct node *node = &search->nodes[at];
        if (node->edge == task->waits_for_count) {
            leave(search, at);
            continue;
        }
        size_t to = task->waits_for[node->edge++];
        const struct node *next = &search->nodes[to];
        if (next->number == NOT_MET)
            enter(search, to);
        else if (next->group == NOT_MET)
            node->low = next->number < node->low ? next->number : node->low;
    }
}

/* The first task of the same group that a task waits for; NOT_MET when there is none. */
static size_t step(const struct search *search, size_t task)
{
    const struct trace_task *item = &search->tasks->items[task];
    for (size_t i = 0; i < item->waits_for_count; i++)
        if (search->nodes[item->waits_for[i]].group == search->nodes[task].group)
            return item->waits_for[i];
    return NOT_MET;
}

/* Steps within the group come to where they were; `edge` keeps when each task was met. */
static enum psc_status take_cycle(struct search *search, struct arena *arena, size_t task,
                                  struct trace_cycle *ret)
{
    size_t count = 0;
    while (search->nodes[task].edge == NOT_MET) {
        search->nodes[task].edge = count;
        search->way[count++] = task;
        task = step(search, task);
    }
    size_t first = search->nodes[task].edge;
    size_t *tasks = arena_array(arena, count - first, sizeof(*tasks));
    if (!tasks)
        return PSC_ERR_MEMORY;
    for (size_t i = first; i < count; i++)
        tasks[i - first] = search->way[i];
    *ret = (struct trace_cycle){tasks, count - first};
    return PSC_OK;
}

static enum psc_status take_cycles(struct search *search, struct arena *arena,
                                   struct trace_tasks *tasks)
{
    PSC_CLEANUP(cleanup_free) bool *told = calloc(search->groups + 1, sizeof(*told));
    struct trace_cycle *cycles = arena_array(arena, CYCLE_LIMIT, sizeof(*cycles));
    enum psc_status status = told && cycles ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < tasks->count; i++)
        search->nodes[i].edge = NOT_MET;
    for (size_t i = 0; status == PSC_OK && i < tasks->count && tasks->cycle_count < CYCLE_LIMIT;
         i++) {
        if (told[search->nodes[i].group] || step(search, i) == NOT_MET)
            continue;
        told[search->nodes[i].group] = true;
        status = take_cycle(search, arena, i, &cycles[tasks->cycle_count]);
        tasks->cycle_count += status == PSC_OK;
    }
    tasks->cycles = cycles;
    return status;
}

enum psc_status trace_find_task_cycles(struct arena *arena, struct trace_tasks *tasks)
{
    size_t count = tasks->count;
    if (!count)
        return PSC_OK;
    PSC_CLEANUP(cleanup_free) struct node *nodes = calloc(count, sizeof(*nodes));
    PSC_CLEANUP(cleanup_free) size_t *way = calloc(count, sizeof(*way));
    PSC_CLEANUP(cleanup_free) size_t *open = calloc(count, sizeof(*open));
    if (!nodes || !way || !open)
        return PSC_ERR_MEMORY;
    struct search search = {.tasks = tasks, .nodes = nodes, .way = way, .open = open};
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct node){.number = NOT_MET, .group = NOT_MET};
    for (size_t i = 0; i < count; i++)
        if (nodes[i].number == NOT_MET)
            walk(&search, i);
    return take_cycles(&search, arena, tasks);
}
