/* asyncio's tasks as a tree: below each task those that it waits for. */
#include "as_text_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Levels that are drawn; deeper ones begin a tree of their own. */
#define DEPTH_LIMIT 24u
#define NAME_COUNT  8u /* Names of equal tasks. */
#define CYCLE_NAMES 16u
#define NO_TASK     SIZE_MAX

enum mark { MARK_NONE, MARK_ON_WAY, MARK_SHOWN };

/* A task in a list of siblings; group NO_TASK: it is shown alone. */
struct entry {
    size_t task;
    size_t at;
    size_t place; /* Of the first of its group. */
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
struct place {
    size_t serial;
    size_t at;
};

/* What is shown. */
struct noun {
    const char *module;
    const char *name;
    const char *title;
};

struct task_printer {
    const struct trace_tasks *tasks;
    const struct noun *noun;
    int32_t process; /* 0: there is but one. */
    const struct psc_print_options *options;
    struct print_sink *sink;
    uint8_t *marks; /* enum mark of each task. */
    size_t *groups; /* Equal tasks that wait for no other have the same number. */
    struct place *places;
    size_t serial; /* Of the list at hand. */
    struct level levels[DEPTH_LIMIT];
    size_t depth;
    bool many_threads;
    struct text prefix;
};

static void add_name(struct text *text, const struct trace_task *task)
{
    if (!task->name) {
        text_printf(text, "0x%" PRIx64, task->id);
        return;
    }
    text_add_char(text, '"');
    text_add_escaped(text, task->name);
    text_add_char(text, '"');
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
    return true;
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
        if (!items[i].waits_for_count && !printer->options->no_group)
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

/* ---- one task ---- */

static void add_work(struct text *text, const struct task_printer *printer,
                     const struct trace_task *task)
{
    text_add_string(text, " \u00b7 ");
    switch (task->work) {
    case TRACE_WORK_CREATED:
        text_add_string(text, "not started");
        break;
    case TRACE_WORK_READY:
        text_add_string(text, "ready to go on");
        break;
    case TRACE_WORK_RUNNING:
        text_add_string(text, "running");
        break;
    case TRACE_WORK_UNKNOWN:
        text_add_string(text, "state not known");
        break;
    case TRACE_WORK_SUSPENDED:
        text_add_string(text, "suspended");
        break;
    case TRACE_WORK_WAITING:
        if (task->waits_for_count)
            text_printf(text, "waits for %zu task%s", task->waits_for_count,
                        task->waits_for_count == 1 ? "" : "s");
        else
            text_add_string(text, "waits for a future");
        break;
    }
    bool usual = !task->awaits || !strcmp(task->awaits, "greenlet.greenlet") ||
                 !strcmp(task->awaits, "_asyncio.Future") ||
                 !strcmp(task->awaits, "_asyncio.Task") ||
                 !strcmp(task->awaits, "asyncio.tasks._GatheringFuture");
    if (!usual) {
        text_add_string(text, ": ");
        text_add_escaped(text, task->awaits);
    }
    if (task->tid && (printer->many_threads || task->work == TRACE_WORK_RUNNING))
        text_printf(text, " \u00b7 thread %d", task->tid);
    if (task->interpreter_id > 0)
        text_printf(text, " \u00b7 interpreter %" PRId64, task->interpreter_id);
}

static size_t function_width(const struct trace_task *task)
{
    size_t widest = 0;
    struct text scratch = {0};
    for (size_t i = 0; i < task->frame_count; i++) {
        text_clear(&scratch);
        text_add_escaped(&scratch, task->frames[i]->function ? task->frames[i]->function : "??");
        size_t width =
            scratch.failed ? 0 : print_measure_text(scratch.data ? scratch.data : "", scratch.size);
        if (width <= PRINT_FUNCTION_WIDTH && width > widest)
            widest = width;
    }
    text_deinit(&scratch);
    return widest;
}

static void add_frame(struct task_printer *printer, const struct trace_location *location,
                      size_t number, int number_width, size_t widest)
{
    struct text *text = &printer->sink->buffer;
    const struct psc_print_options *options = printer->options;
    char label[24];
    snprintf(label, sizeof(label), "#%zu", number);
    text_printf(text, "%s  %-*s  ", printer->prefix.data ? printer->prefix.data : "", number_width,
                label);
    print_add_style(text, options, location->kind == TRACE_GAP ? PRINT_NOTICE : PRINT_PYTHON);
    size_t start = text->size;
    text_add_escaped(text, location->function ? location->function : "??");
    size_t width = text->failed ? 0 : print_measure_text(text->data + start, text->size - start);
    print_add_style(text, options, PRINT_PLAIN);
    if (location->file) {
        text_printf(text, "%*s  ", (int)(width < widest ? widest - width : 0), "");
        text_add_escaped(text, location->file);
        if (location->line)
            text_printf(text, ":%" PRIu32, location->line);
    }
    text_add_char(text, '\n');
    if (!location->source || !*location->source)
        return;
    text_printf(text, "%s  %*s", printer->prefix.data ? printer->prefix.data : "", number_width + 6,
                "");
    print_add_style(text, options, PRINT_DIM);
    text_add_escaped(text, location->source);
    print_add_style(text, options, PRINT_PLAIN);
    text_add_char(text, '\n');
}

static void add_frames(struct task_printer *printer, const struct trace_task *task)
{
    size_t count = task->frame_count;
    int width = snprintf(NULL, 0, "#%zu", count ? count - 1 : 0);
    size_t widest = function_width(task);
    for (size_t i = 0; i < count && !printer->sink->stopped; i++) {
        size_t at = printer->options->outermost_first ? count - 1 - i : i;
        add_frame(printer, task->frames[at], at, width, widest);
        print_sink_flush(printer->sink, false);
    }
    if (task->frames_cut)
        text_printf(&printer->sink->buffer, "%s  --  gap: further frames could not be read\n",
                    printer->prefix.data ? printer->prefix.data : "");
}

static void add_heading(struct task_printer *printer, const struct entry *entries, size_t count,
                        const char *remark)
{
    struct text *text = &printer->sink->buffer;
    const struct trace_task *items = printer->tasks->items;
    print_add_style(text, printer->options, PRINT_BOLD);
    text_add_string(text, printer->noun->title);
    text_add_string(text, count > 1 ? "s " : " ");
    for (size_t i = 0; i < count && i < NAME_COUNT; i++) {
        text_add_string(text, i ? ", " : "");
        add_name(text, &items[entries[i].task]);
    }
    if (count > NAME_COUNT)
        text_add_string(text, " \u2026");
    print_add_style(text, printer->options, PRINT_PLAIN);
    if (count > 1)
        text_printf(text, " \u00b7 %zu %ss", count, printer->noun->name);
    add_work(text, printer, &items[entries[0].task]);
    if (remark) {
        text_add_string(text, " \u00b7 ");
        print_add_style(text, printer->options, PRINT_NOTICE);
        text_add_string(text, remark);
        print_add_style(text, printer->options, PRINT_PLAIN);
    }
    text_add_char(text, '\n');
}

/* ---- the tree ---- */

/* Below the branches of the levels further out; `branch`: with that of this one. */
static void make_prefix(struct task_printer *printer, bool branch)
{
    text_clear(&printer->prefix);
    for (size_t i = 1; i < printer->depth; i++) {
        bool more = printer->levels[i].next < printer->levels[i].count;
        text_add_string(&printer->prefix, branch && i + 1 == printer->depth
                                              ? (more ? "  \u251c\u2500 " : "  \u2514\u2500 ")
                                          : more ? "  \u2502  "
                                                 : "     ");
    }
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
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
        if (fresh && printer->places[group].serial != serial)
            printer->places[group] = (struct place){serial, i};
        entries[i] = (struct entry){items[i], i, fresh ? printer->places[group].at : i,
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
    bool deeper = task->waits_for_count && printer->depth < DEPTH_LIMIT;
    const char *remark = printer->marks[at] == MARK_ON_WAY  ? "above: they wait for each other"
                         : !fresh                           ? "shown above"
                         : task->waits_for_count && !deeper ? "shown below"
                                                            : NULL;
    level->next += count;
    make_prefix(printer, true);
    if (printer->depth == 1)
        text_add_char(&printer->sink->buffer, '\n');
    text_add_string(&printer->sink->buffer, printer->prefix.data ? printer->prefix.data : "");
    add_heading(printer, entries, count, remark);
    if (remark)
        return true;
    make_prefix(printer, false);
    add_frames(printer, task);
    for (size_t i = 0; i < count; i++)
        printer->marks[entries[i].task] = MARK_SHOWN;
    if (!deeper)
        return true;
    printer->marks[at] = MARK_ON_WAY;
    return push_level(printer, task->waits_for, task->waits_for_count, at);
}

static bool show_tree(struct task_printer *printer, const size_t *roots, size_t count)
{
    bool good = push_level(printer, roots, count, NO_TASK);
    while (printer->depth) {
        const struct level *level = &printer->levels[printer->depth - 1];
        if (!good || printer->sink->stopped || level->next == level->count)
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
    for (size_t i = 0; i < tasks->count; i++)
        for (size_t k = 0; k < tasks->items[i].waits_for_count; k++)
            awaited[tasks->items[i].waits_for[k]] = true;
    for (size_t i = 0; i < tasks->count; i++)
        if (!awaited[i])
            roots[count++] = i;
    bool good = show_tree(printer, roots, count);
    for (size_t i = 0; good && i < tasks->count && !printer->sink->stopped; i++)
        if (printer->marks[i] == MARK_NONE)
            good = show_tree(printer, &i, 1);
    return good;
}

static void add_cycles(struct task_printer *printer)
{
    struct text *text = &printer->sink->buffer;
    const struct trace_tasks *tasks = printer->tasks;
    for (size_t i = 0; i < tasks->cycle_count; i++) {
        const struct trace_cycle *cycle = &tasks->cycles[i];
        text_add_string(text, "  ");
        print_add_style(text, printer->options, PRINT_ALARM);
        text_add_string(text, "tasks wait for each other: ");
        for (size_t k = 0; k < cycle->count && k < CYCLE_NAMES; k++) {
            add_name(text, &tasks->items[cycle->tasks[k]]);
            text_add_string(text, " \u2192 ");
        }
        if (cycle->count > CYCLE_NAMES)
            text_printf(text, "\u2026 %zu more \u2192 ", cycle->count - CYCLE_NAMES);
        add_name(text, &tasks->items[cycle->tasks[0]]);
        print_add_style(text, printer->options, PRINT_PLAIN);
        text_add_char(text, '\n');
    }
}

static bool print_all(struct task_printer *printer)
{
    const struct trace_tasks *tasks = printer->tasks;
    for (size_t i = 1; i < tasks->count; i++)
        printer->many_threads |= tasks->items[i].tid != tasks->items[0].tid;
    print_add_style(&printer->sink->buffer, printer->options, PRINT_BOLD);
    text_printf(&printer->sink->buffer, "\n%s \u00b7 ", printer->noun->module);
    if (printer->process)
        text_printf(&printer->sink->buffer, "process %d \u00b7 ", printer->process);
    if (tasks->count)
        text_printf(&printer->sink->buffer, "%zu %s%s\n", tasks->count, printer->noun->name,
                    tasks->count == 1 ? "" : "s");
    else
        text_printf(&printer->sink->buffer, "no %ss\n", printer->noun->name);
    print_add_style(&printer->sink->buffer, printer->options, PRINT_PLAIN);
    add_cycles(printer);
    return !tasks->count || (find_groups(printer) && show_trees(printer));
}

static enum psc_status print_list(const struct trace_tasks *tasks, const struct noun *noun,
                                  int32_t process, const struct psc_print_options *options,
                                  struct print_sink *sink)
{
    size_t count = tasks->count ? tasks->count : 1;
    PSC_CLEANUP(cleanup_free) uint8_t *marks = calloc(count, sizeof(*marks));
    PSC_CLEANUP(cleanup_free) size_t *groups = calloc(count, sizeof(*groups));
    PSC_CLEANUP(cleanup_free) struct place *places = calloc(count, sizeof(*places));
    struct task_printer printer = {.tasks = tasks,
                                   .noun = noun,
                                   .process = process,
                                   .options = options,
                                   .sink = sink,
                                   .marks = marks,
                                   .groups = groups,
                                   .places = places};
    bool good = marks && groups && places && print_all(&printer);
    text_deinit(&printer.prefix);
    return good ? PSC_OK : PSC_ERR_MEMORY;
}

enum psc_status print_text_tasks(const struct psc_trace *trace, bool one_of_many,
                                 const struct psc_print_options *options, struct print_sink *sink)
{
    static const struct noun tasks = {"asyncio", "task", "Task"};
    static const struct noun greenlets = {"greenlet", "greenlet", "Greenlet"};
    int32_t process = one_of_many ? trace->pid : 0;
    enum psc_status status = PSC_OK;
    if (trace->tasks)
        status = print_list(trace->tasks, &tasks, process, options, sink);
    return status == PSC_OK && trace->greenlets
               ? print_list(trace->greenlets, &greenlets, process, options, sink)
               : status;
}
