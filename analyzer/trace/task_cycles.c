/* Tasks that wait for each other: of each group of them one cycle is told. */
#include "graph.h"
#include "trace.h"

#include <stdlib.h>

#define CYCLE_LIMIT 1000u
#define NOT_MET     SIZE_MAX

struct search {
    const struct trace_tasks *tasks;
    size_t *groups; /* Of each task. */
    size_t group_count;
    size_t *met_at; /* Of each task its place in `way`; NOT_MET: none. */
    size_t *way;    /* From task to task within a group. */
};

/* graph.next */
static size_t next_task(const void *context, size_t task, size_t *edge)
{
    const struct trace_tasks *tasks = context;
    const struct trace_task *item = &tasks->items[task];
    return *edge < item->waits_for_count ? item->waits_for[(*edge)++] : GRAPH_NO_NODE;
}

/* The first task of the same group that a task waits for; NOT_MET when there is none. */
static size_t step(const struct search *search, size_t task)
{
    const struct trace_task *item = &search->tasks->items[task];
    for (size_t i = 0; i < item->waits_for_count; i++)
        if (search->groups[item->waits_for[i]] == search->groups[task])
            return item->waits_for[i];
    return NOT_MET;
}

/* Steps within the group come to where they were. */
static enum psc_status take_cycle(struct search *search, struct arena *arena, size_t task,
                                  struct trace_cycle *ret)
{
    size_t count = 0;
    while (search->met_at[task] == NOT_MET) {
        search->met_at[task] = count;
        search->way[count++] = task;
        task = step(search, task);
    }
    size_t first = search->met_at[task];
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
    PSC_CLEANUP(cleanup_free) bool *told = calloc(search->group_count + 1, sizeof(*told));
    struct trace_cycle *cycles = arena_array(arena, CYCLE_LIMIT, sizeof(*cycles));
    enum psc_status status = told && cycles ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < tasks->count; i++)
        search->met_at[i] = NOT_MET;
    for (size_t i = 0; status == PSC_OK && i < tasks->count && tasks->cycle_count < CYCLE_LIMIT;
         i++) {
        if (told[search->groups[i]] || step(search, i) == NOT_MET)
            continue;
        told[search->groups[i]] = true;
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
    PSC_CLEANUP(cleanup_free) size_t *groups = calloc(count, sizeof(*groups));
    PSC_CLEANUP(cleanup_free) size_t *met_at = calloc(count, sizeof(*met_at));
    PSC_CLEANUP(cleanup_free) size_t *way = calloc(count, sizeof(*way));
    if (!groups || !met_at || !way)
        return PSC_ERR_MEMORY;
    struct search search = {.tasks = tasks, .groups = groups, .met_at = met_at, .way = way};
    const struct graph graph = {.node_count = count, .context = tasks, .next = next_task};
    enum psc_status status = graph_find_groups(&graph, groups, &search.group_count);
    return status == PSC_OK ? take_cycles(&search, arena, tasks) : status;
}
