/*
 * Tasks as a tree: below each one of asyncio those that it waits for, below each one of trio or
 * curio those in its nurseries, or that it spawned.
 */
#include "task_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Levels that are drawn; deeper ones begin a tree of their own. */
#define DEPTH_LIMIT 24u
#define CYCLE_NAMES 16u
#define NO_TASK     SIZE_MAX

enum mark { MARK_NONE, MARK_ON_WAY, MARK_SHOWN };

/* A task in a list of siblings; group NO_TASK: it is shown alone. */
struct entry {
    size_t task;
    size_t at;
    size_t first; /* Of the first of its group. */
    size_t group;
};

/* The roots, or the tasks that one task waits for. */
struct level {
    struct entry *entries;
    size_t count;
    size_t next;
    size_t task; /* NO_TASK: the roots. */
};

/* Where the first task of a group is in the list at hand. */
struct first_of_group {
    size_t serial;
    size_t at;
};

struct task_printer {
    const struct trace_tasks *tasks;
    enum trace_task_library library; /* Only its tasks are shown. */
    struct task_writer writer;
    int32_t process; /* 0: there is but one. */
    uint8_t *marks;  /* enum mark of each task. */
    size_t *groups;  /* Equal tasks that wait for no other have the same number. */
    struct first_of_group *firsts;
    size_t serial; /* Of the list at hand. */
    struct level levels[DEPTH_LIMIT];
    size_t depth;
};

/* The tasks that stand below one. */
static const size_t *list_below(const struct trace_task *task, size_t *ret_count)
{
    bool waits = task->library == TRACE_TASK_ASYNCIO;
    *ret_count = waits ? task->waits_for_count : task->children_count;
    return waits ? task->waits_for : task->children;
}

static size_t count_below(const struct trace_task *task)
{
    size_t count;
    list_below(task, &count);
    return count;
}

/* ---- equal tasks ---- */

struct group_key {
    uint64_t hash;
    size_t task;
};

static uint64_t hash_task(const struct trace_task *task)
{
    uint64_t hash = hash_u64((uint64_t)task->work << 32 | (uint32_t)task->tid);
    for (size_t i = 0; i < task->frame_count; i++)
        hash = hash_u64(hash ^ (uintptr_t)task->frames[i]);
    for (const char *c = task->awaits; c && *c; c++)
        hash = hash_u64(hash ^ (uint8_t)*c);
    return hash;
}

static bool tasks_equal(const struct trace_task *a, const struct trace_task *b)
{
    if (a->work != b->work || a->tid != b->tid || a->interpreter_id != b->interpreter_id ||
        a->frame_count != b->frame_count || a->frames_cut != b->frames_cut ||
        !a->awaits != !b->awaits || (a->awaits && strcmp(a->awaits, b->awaits) != 0))
        return false;
    for (size_t i = 0; i < a->frame_count; i++)
        if (a->frames[i] != b->frames[i])
            return false;
    return print_leaves_equal(a->leaf, b->leaf);
}

static int compare_keys(const void *left, const void *right)
{
    const struct group_key *a = left;
    const struct group_key *b = right;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

static bool find_groups(struct task_printer *printer)
{
    size_t count = printer->tasks->count;
    const struct trace_task *items = printer->tasks->items;
    PSC_CLEANUP(cleanup_free) struct group_key *keys = calloc(count, sizeof(*keys));
    if (!keys)
        return false;
    size_t leaves = 0;
    for (size_t i = 0; i < count; i++) {
        printer->groups[i] = i;
        if (items[i].library == printer->library && !count_below(&items[i]) &&
            !printer->writer.options->no_group)
            keys[leaves++] = (struct group_key){hash_task(&items[i]), i};
    }
    qsort(keys, leaves, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < leaves; i++) {
        size_t first = printer->groups[keys[i - 1].task];
        if (keys[i].hash == keys[i - 1].hash && tasks_equal(&items[first], &items[keys[i].task]))
            printer->groups[keys[i].task] = first;
    }
    return true;
}

/* ---- the tree ---- */

/* Below the branches of the levels further out; `branch`: with that of this one. */
static void make_prefix(struct task_printer *printer, bool branch)
{
    text_clear(&printer->writer.prefix);
    for (size_t i = 1; i < printer->depth; i++) {
        bool more = printer->levels[i].next < printer->levels[i].count;
        text_add_string(&printer->writer.prefix,
                        branch && i + 1 == printer->depth
                            ? (more ? "  \u251c\u2500 " : "  \u2514\u2500 ")
                        : more ? "  \u2502  "
                               : "     ");
    }
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Equal tasks that were not shown yet stand side by side, where the first of them is. */
static bool push_level(struct task_printer *printer, const size_t *items, size_t count, size_t task)
{
    struct entry *entries = calloc(count ? count : 1, sizeof(*entries));
    if (!entries)
        return false;
    size_t serial = ++printer->serial;
    for (size_t i = 0; i < count; i++) {
        size_t group = printer->groups[items[i]];
        bool fresh = printer->marks[items[i]] == MARK_NONE;
        if (fresh && printer->firsts[group].serial != serial)
            printer->firsts[group] = (struct first_of_group){serial, i};
        entries[i] = (struct entry){items[i], i, fresh ? printer->firsts[group].at : i,
                                    fresh ? group : NO_TASK};
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    printer->levels[printer->depth++] =
        (struct level){.entries = entries, .count = count, .task = task};
    return true;
}

static void pop_level(struct task_printer *printer)
{
    struct level *level = &printer->levels[--printer->depth];
    if (level->task != NO_TASK)
        printer->marks[level->task] = MARK_SHOWN;
    free(level->entries);
}

/* How many entries from `next` on are shown as one. */
static size_t count_equal(const struct level *level)
{
    const struct entry *first = &level->entries[level->next];
    size_t count = 1;
    while (first->group != NO_TASK && level->next + count < level->count &&
           first[count].group == first->group)
        count++;
    return count;
}

static bool show_next(struct task_printer *printer)
{
    struct level *level = &printer->levels[printer->depth - 1];
    const struct entry *entries = &level->entries[level->next];
    size_t count = count_equal(level);
    size_t at = entries->task;
    const struct trace_task *task = &printer->tasks->items[at];
    bool fresh = printer->marks[at] == MARK_NONE;
    size_t below;
    const size_t *tasks = list_below(task, &below);
    bool deeper = below && printer->depth < DEPTH_LIMIT;
    const char *remark = printer->marks[at] == MARK_ON_WAY ? "above: they wait for each other"
                         : !fresh                          ? "shown above"
                         : below && !deeper                ? "shown below"
                                                           : NULL;
    level->next += count;
    if (!print_sink_takes(printer->writer.sink))
        return true;
    make_prefix(printer, true);
    if (printer->depth == 1)
        text_add_char(&printer->writer.sink->buffer, '\n');
    text_add_string(&printer->writer.sink->buffer,
                    printer->writer.prefix.data ? printer->writer.prefix.data : "");
    const struct trace_task *named[TASK_NAME_COUNT];
    for (size_t i = 0; i < count && i < TASK_NAME_COUNT; i++)
        named[i] = &printer->tasks->items[entries[i].task];
    task_add_heading(&printer->writer, named, count, remark);
    if (remark)
        return true;
    make_prefix(printer, false);
    task_add_frames(&printer->writer, task);
    for (size_t i = 0; i < count; i++)
        printer->marks[entries[i].task] = MARK_SHOWN;
    if (!deeper)
        return true;
    printer->marks[at] = MARK_ON_WAY;
    return push_level(printer, tasks, below, at);
}

static bool show_tree(struct task_printer *printer, const size_t *roots, size_t count)
{
    bool good = push_level(printer, roots, count, NO_TASK);
    while (printer->depth) {
        const struct level *level = &printer->levels[printer->depth - 1];
        if (!good || printer->writer.sink->stopped || level->next == level->count)
            pop_level(printer);
        else
            good = show_next(printer);
    }
    return good;
}

/* Those for which no other waits; then what none of these led to. */
static bool show_trees(struct task_printer *printer)
{
    const struct trace_tasks *tasks = printer->tasks;
    PSC_CLEANUP(cleanup_free) bool *awaited = calloc(tasks->count, sizeof(*awaited));
    PSC_CLEANUP(cleanup_free) size_t *roots = calloc(tasks->count, sizeof(*roots));
    size_t count = 0;
    if (!awaited || !roots)
        return false;
    for (size_t i = 0; i < tasks->count; i++) {
        size_t below;
        const size_t *list = list_below(&tasks->items[i], &below);
        for (size_t k = 0; k < below; k++)
            awaited[list[k]] = true;
    }
    for (size_t i = 0; i < tasks->count; i++)
        if (!awaited[i] && tasks->items[i].library == printer->library)
            roots[count++] = i;
    bool good = show_tree(printer, roots, count);
    for (size_t i = 0; good && i < tasks->count && !printer->writer.sink->stopped; i++)
        if (printer->marks[i] == MARK_NONE && tasks->items[i].library == printer->library)
            good = show_tree(printer, &i, 1);
    return good;
}

static void add_cycles(struct task_printer *printer)
{
    struct text *text = &printer->writer.sink->buffer;
    const struct trace_tasks *tasks = printer->tasks;
    for (size_t i = 0; i < tasks->cycle_count && print_sink_takes(printer->writer.sink); i++) {
        const struct trace_cycle *cycle = &tasks->cycles[i];
        text_add_string(text, "  ");
        print_add_style(text, printer->writer.options, PRINT_ALARM);
        text_add_string(text, "tasks wait for each other: ");
        for (size_t k = 0; k < cycle->count && k < CYCLE_NAMES; k++) {
            task_add_name(text, &tasks->items[cycle->tasks[k]]);
            text_add_string(text, " \u2192 ");
        }
        if (cycle->count > CYCLE_NAMES)
            text_printf(text, "\u2026 %zu more \u2192 ", cycle->count - CYCLE_NAMES);
        task_add_name(text, &tasks->items[cycle->tasks[0]]);
        print_add_style(text, printer->writer.options, PRINT_PLAIN);
        text_add_char(text, '\n');
    }
}

static size_t count_tasks(const struct trace_tasks *tasks, enum trace_task_library library)
{
    size_t count = 0;
    for (size_t i = 0; i < tasks->count; i++)
        count += tasks->items[i].library == library;
    return count;
}

static bool print_all(struct task_printer *printer)
{
    const struct trace_tasks *tasks = printer->tasks;
    size_t count = count_tasks(tasks, printer->library);
    for (size_t i = 1; i < tasks->count; i++)
        printer->writer.many_threads |= tasks->items[i].tid != tasks->items[0].tid;
    print_add_style(&printer->writer.sink->buffer, printer->writer.options, PRINT_BOLD);
    text_printf(&printer->writer.sink->buffer, "\n%s \u00b7 ", printer->writer.noun->module);
    if (printer->process)
        text_printf(&printer->writer.sink->buffer, "process %d \u00b7 ", printer->process);
    if (count)
        text_printf(&printer->writer.sink->buffer, "%zu %s%s\n", count, printer->writer.noun->name,
                    count == 1 ? "" : "s");
    else
        text_printf(&printer->writer.sink->buffer, "no %ss\n", printer->writer.noun->name);
    print_add_style(&printer->writer.sink->buffer, printer->writer.options, PRINT_PLAIN);
    if (printer->library == TRACE_TASK_ASYNCIO)
        add_cycles(printer);
    return !count || (find_groups(printer) && show_trees(printer));
}

struct task_list {
    const struct trace_tasks *tasks;
    enum trace_task_library library;
    struct task_noun noun;
};

static enum psc_status print_list(const struct task_list *list, int32_t process,
                                  const struct psc_print_options *options, struct print_sink *sink)
{
    const struct trace_tasks *tasks = list->tasks;
    size_t count = tasks->count ? tasks->count : 1;
    PSC_CLEANUP(cleanup_free) uint8_t *marks = calloc(count, sizeof(*marks));
    PSC_CLEANUP(cleanup_free) size_t *groups = calloc(count, sizeof(*groups));
    PSC_CLEANUP(cleanup_free) struct first_of_group *firsts = calloc(count, sizeof(*firsts));
    struct task_printer printer = {
        .tasks = tasks,
        .library = list->library,
        .writer = {.tasks = tasks, .noun = &list->noun, .options = options, .sink = sink},
        .process = process,
        .marks = marks,
        .groups = groups,
        .firsts = firsts};
    bool good = marks && groups && firsts && print_all(&printer);
    text_deinit(&printer.writer.prefix);
    return good ? PSC_OK : PSC_ERR_MEMORY;
}

/* Of asyncio alone it is said that there are none. */
static enum psc_status print_task_lists(const struct trace_tasks *tasks, int32_t process,
                                        const struct psc_print_options *options,
                                        struct print_sink *sink)
{
    static const struct task_noun nouns[TRACE_TASK_LIBRARIES] = {
        [TRACE_TASK_ASYNCIO] = {"asyncio", "task", "Task"},
        [TRACE_TASK_TRIO] = {"trio", "task", "Task"},
        [TRACE_TASK_CURIO] = {"curio", "task", "Task"},
    };
    enum psc_status status = PSC_OK;
    for (enum trace_task_library i = 0; status == PSC_OK && i < TRACE_TASK_LIBRARIES; i++)
        if (count_tasks(tasks, i) || (i == TRACE_TASK_ASYNCIO && !tasks->count))
            status = print_list(&(struct task_list){tasks, i, nouns[i]}, process, options, sink);
    return status;
}

enum psc_status print_text_tasks(const struct psc_trace *trace, bool one_of_many,
                                 const struct psc_print_options *options, struct print_sink *sink)
{
    const struct task_list greenlets = {
        trace->greenlets, TRACE_TASK_ASYNCIO, {"greenlet", "greenlet", "Greenlet"}};
    int32_t process = one_of_many ? trace->pid : 0;
    enum psc_status status = PSC_OK;
    if (trace->runs_greenlets && !trace->tasks)
        text_add_string(&sink->buffer,
                        "\ngreenlet \u00b7 those that wait to be switched to: --tasks\n");
    if (trace->tasks)
        status = print_task_lists(trace->tasks, process, options, sink);
    return status == PSC_OK && trace->greenlets ? print_list(&greenlets, process, options, sink)
                                                : status;
}
